// The config.json of a Hugging Face model, as far as it tells sizes.
#pragma once

#include <string>
#include <vector>

#include "analysis/model_shape.h"

namespace oomdoctor::cli {

struct ModelConfig {
  ModelShape shape;
  i64 image_tokens = 0;            ///< of the one image that a model of images takes
  std::vector<std::string> notes;  ///< what the shape leaves out
};

/// A size that the file does not name stays unknown. Throws Error for a file that cannot be read, is no JSON object,
/// has a size that cannot be one, or describes a model that is no decoder.
ModelConfig read_model_config(const std::string& path);

}  // namespace oomdoctor::cli
