// The parameters of a published model, counted from its config.json as its code builds it: embeddings, biases, norms,
// experts, encoders.
#pragma once

#include <optional>

#include "cli/config_fields.h"

namespace oomdoctor::cli {

/// All weights of the model, with the head that its task has and without buffers; absent for a family (`model_type`)
/// that is not known, or where a size is missing.
std::optional<i64> parameters_in(const ConfigFields& config);

/// The same for the encoder of images of a model of text and images: `config` is its own object.
std::optional<i64> vision_parameters_in(const ConfigFields& config);

}  // namespace oomdoctor::cli
