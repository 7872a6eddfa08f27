// The model and the run of an estimate in words, as its first lines print them.
#pragma once

#include <string>

#include "estimate/model_memory.h"

namespace oomdoctor::cli {

/// For example "8.03 billion parameters, 32 layers, 4096 hidden, 32 heads".
std::string model_words(const ModelShape& model);
/// For example "training, 4 × 8192 tokens in a pass". The batch must be known.
std::string run_words(const ModelShape& model, const RunShape& run);

}  // namespace oomdoctor::cli
