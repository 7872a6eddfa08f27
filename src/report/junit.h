// JUnit XML, as Jenkins and GitLab read it: a test case for each rank, or for each log where no ranks are known. A root
// cause fails its case; what follows from one is skipped; warnings are the suite's output.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string junit_text(const Report& report);

}  // namespace oomdoctor
