// The time of a sample.
#pragma once

#include <string>

namespace oomdoctor {

/// The local time as nvidia-smi prints it: "2024/05/12 03:14:16.582".
std::string local_time();

}  // namespace oomdoctor
