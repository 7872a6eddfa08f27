// The rules' texts say "GPU". On other accelerators they name the actual device: an NPU, a TPU.
#pragma once

#include <string>

#include "judge/diagnosis.h"

namespace oomdoctor {

/// Renames the device in every sentence of the diagnosis. Settings stay unchanged, because they are commands and code.
void name_device(Diagnosis& diagnosis, const Facts& facts);

/// Replaces each "GPU" that is a whole word with `noun`. "GPUs" becomes the plural.
std::string with_device_noun(const std::string& text, const std::string& noun);

}  // namespace oomdoctor
