// JUnit XML for Jenkins and GitLab: one test case per rank, or per log if no ranks are known. A root cause fails its
// case, a consequence skips it, and warnings are the output of the suite.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The XML document; at most 1,000 cases, failed ones first.
std::string junit_text(const Report& report);

}  // namespace oomdoctor
