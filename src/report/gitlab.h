// GitLab's code quality report: a JSON array with one entry per root cause.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Paths below `folder`, the working directory, are relative to it. Others become their file name.
std::string gitlab_text(const Report& report, const std::string& folder);

}  // namespace oomdoctor
