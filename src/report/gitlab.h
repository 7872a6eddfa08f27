// GitLab's code quality report: an array with one entry for each root cause.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Paths below `folder`, the working directory, are written relative to it; others as their file name.
std::string gitlab_text(const Report& report, const std::string& folder);

}  // namespace oomdoctor
