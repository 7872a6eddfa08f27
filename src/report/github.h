// GitHub workflow commands: one annotation for each root cause, on the user's own line where the log names it. GitHub
// drops all beyond ten of a kind without a word, so at most nine are written, and a last one says how many there are
// more.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string github_text(const Report& report);

}  // namespace oomdoctor
