// Reads the sizes in the config.json of a Hugging Face model, or in the same fields of another source.
#pragma once

#include <string>
#include <vector>

#include "cli/config_fields.h"
#include "estimate/model_shape.h"

namespace oomdoctor::cli {

/// The sizes of a model, as far as its config.json determines them.
struct ModelConfig {
  std::string name;  ///< of a published model; "" for a file
  ModelShape shape;
  i64 image_tokens = 0;            ///< tokens of one image, for a vision-only model; 0 for others
  i64 image_side = 0;              ///< pixels of the images that a generator was trained on; 0 for others
  i64 text_tokens = 0;             ///< of a generator, those that are in one sequence with the image
  std::vector<std::string> notes;  ///< parts of the model that the shape leaves out
};

/// The sizes in the fields of one object, for a model without nested parts. Throws Error for an impossible size,
/// without a hidden_size, and for an unknown encoder-decoder model.
ModelConfig interpret_config(const ConfigFields& config);

/// A size that the file does not contain stays absent. Throws Error if the file cannot be read, is not a JSON object,
/// has an impossible size or no hidden_size, or describes an unknown encoder-decoder model.
ModelConfig read_model_config(const std::string& path);

}  // namespace oomdoctor::cli
