// Counts the parameters of a published model from its config.json, as its code builds it: embeddings, biases, norms,
// experts, encoders.
#pragma once

#include <optional>

#include "cli/config_fields.h"

namespace oomdoctor::cli {

/// The number of weights, with the head of the model's task and without buffers. Absent for an unknown family
/// (`model_type`), or if a size is missing. Throws Error for an impossible size, as ConfigFields::size() does.
std::optional<i64> parameters_in(const ConfigFields& config);

/// The same for the image encoder of a model of text and images. `config` is the nested object of the encoder.
std::optional<i64> vision_parameters_in(const ConfigFields& config);

}  // namespace oomdoctor::cli
