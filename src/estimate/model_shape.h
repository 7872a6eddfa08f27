// The sizes of a transformer, and the numbers that follow from them alone: parameters, embeddings, adapters.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor {

/// The linear layers that get a LoRA adapter.
enum class AdapterTargets { all_linear, query_and_value };

/// The sizes of a model; an absent one is unknown.
struct ModelShape {
  std::optional<i64> parameters;  ///< if absent, computed from the sizes below
  std::optional<i64> trainable;   ///< without adapters; absent means all
  std::optional<i64> layers, hidden, heads, kv_heads, head_size, vocabulary;
  std::optional<i64> intermediate;  ///< width of the MLP; if absent and without a gate, four hidden sizes
  bool gated = false;               ///< the MLP has a gate projection (SwiGLU, GeGLU)
  bool tied_embeddings = false;     ///< the input and the head share one table
  i64 patch = 0;           ///< side of a patch in pixels, for a pure image model, which has no vocabulary; else 0
  bool irregular = false;  ///< experts or latent attention: the sizes alone determine nothing
};

/// The input and output size of a linear layer.
struct LinearLayer {
  double in, out;
};

/// The linear layers of one transformer layer; nullopt if sizes are missing.
std::optional<std::vector<LinearLayer>> list_matrices(
    const ModelShape& model);  ///< Parameters of the token tables: the input table, plus the head's if it has its own.
                               ///< 0 if the sizes are unknown.
double embedding_parameters(const ModelShape& model);
/// The given number of parameters, or the number computed from the sizes of a dense decoder or image encoder. The
/// computation omits biases and the position table (below 0.1 %).
std::optional<i64> count_parameters(const ModelShape& model);
/// Parameters that LoRA adds to a model; nullopt if its sizes are unknown.
std::optional<i64> adapter_parameters(const ModelShape& model, i64 rank, AdapterTargets targets);
/// Parameters of the layer that turns an RGB image into tokens; 0 for a text model.
double patch_parameters(const ModelShape& model);
/// Tokens of an image in patches of patch × patch pixels, without a class token.
i64 image_tokens(i64 width, i64 height, i64 patch);

}  // namespace oomdoctor
