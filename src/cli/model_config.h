// Reads the sizes in the config.json of a Hugging Face model.
#pragma once

#include <string>
#include <vector>

#include "estimate/model_shape.h"

namespace oomdoctor::cli {

/// The sizes of a model, as far as its config.json determines them.
struct ModelConfig {
  ModelShape shape;
  i64 image_tokens = 0;            ///< tokens of one image, for a vision-only model; 0 for others
  std::vector<std::string> notes;  ///< parts of the model that the shape leaves out
};

/// A size that the file does not contain stays absent. Throws Error if the file cannot be read, is not a JSON object,
/// has an impossible size or no hidden_size, or describes an unknown encoder-decoder model.
ModelConfig read_model_config(const std::string& path);

}  // namespace oomdoctor::cli
