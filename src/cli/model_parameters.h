// Counts the parameters of a published model from its config.json, as its code builds it: embeddings, biases, norms,
// experts, encoders.
#pragma once

#include <optional>
#include <string_view>

#include "cli/config_fields.h"

namespace oomdoctor::cli {

/// The number of weights, with the head of the model's task and without buffers. Absent for an unknown family
/// (`model_type`), or if a size is missing. Throws Error for an impossible size, as ConfigFields::size() does.
std::optional<i64> parameters_in(const ConfigFields& config);

/// True for a published network of a diffusion model. Its row states the number of its parameters.
bool is_diffusion(std::string_view model_type);
/// Whether the MLP of a family of decoders has a gate; nullopt for an unknown family.
std::optional<bool> has_gated_mlp(std::string_view model_type);
/// Whether the sizes of a family's experts are the fields that ModelShape::experts needs.
bool has_known_experts(std::string_view model_type);

/// As parameters_in(), for the image encoder of a model of text and images. `config` is the nested object of the
/// encoder.
std::optional<i64> vision_parameters_in(const ConfigFields& config);

}  // namespace oomdoctor::cli
