// The GPU that an option names.
#pragma once

#include <string>

#include "base/bytes.h"

namespace oomdoctor::cli {

/// A GPU with the memory that a program sees on it.
struct GpuOption {
  std::string name;  ///< "a GPU" if only its size was given
  i64 capacity = 0;
};

/// Reads a name as people type it ("4090", "a100-80g"), a name as drivers print it, or a size ("24GB"). Throws Error
/// for anything else, with the GPUs that it may mean.
GpuOption read_gpu_option(const std::string& typed);

}  // namespace oomdoctor::cli
