// GitHub workflow commands: one annotation per root cause, on the line in the user's code if the log names it. GitHub
// silently drops all beyond ten of a kind, so there are at most nine, and a last one with the number of the others.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The commands, one per line.
std::string github_text(const Report& report);

}  // namespace oomdoctor
