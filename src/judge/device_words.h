// The rules say "GPU". On another accelerator their texts name that one: an NPU, a TPU.
#pragma once

#include <string>

#include "judge/diagnosis.h"

namespace oomdoctor {

/// Renames the device in every sentence of the diagnosis. Settings stay: they are commands and code.
void name_device(Diagnosis& diagnosis, const Facts& facts);

/// `text` with `noun` in place of each "GPU" that is a word, "GPUs" included.
std::string with_device_noun(const std::string& text, const std::string& noun);

}  // namespace oomdoctor
