// SARIF 2.1.0 for GitHub code scanning and Jenkins' warnings plug-in: one result per root cause, on the line in the
// user's code if the log names it. The lines of the log are related locations.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Paths below `folder`, the working directory, are relative to it. Others become their file name.
std::string sarif_text(const Report& report, const std::string& folder);

}  // namespace oomdoctor
