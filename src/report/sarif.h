// SARIF 2.1.0, as GitHub's code scanning and Jenkins' warnings plug-in read it: one result for each root cause, on the
// user's own line where the log names it, with the lines of the log as related locations.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Paths below `folder`, the working directory, are written relative to it; others as their file name.
std::string sarif_text(const Report& report, const std::string& folder);

}  // namespace oomdoctor
