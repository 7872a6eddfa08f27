// The programs in rules/programs/, as a program of the build wrote them.
#pragma once

#include <string_view>
#include <vector>

#include "model/program.h"

namespace oomdoctor {

/// In the order in which a log is searched for them: by their work, then by their names.
const std::vector<Program>& all_programs();

/// True for libraries and programs without a model that could be loaded or moved, by the framework of a message.
bool works_without_model(std::string_view framework);

}  // namespace oomdoctor
