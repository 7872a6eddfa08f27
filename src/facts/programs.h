// The programs in rules/programs/, as a program of the build wrote them.
#pragma once

#include <vector>

#include "model/program.h"

namespace oomdoctor {

/// In the order in which a log is searched for them: by their work, then by their names.
const std::vector<Program>& all_programs();

}  // namespace oomdoctor
