// The sizes of a transformer, and what follows from them alone: how many parameters it has, where they lie, what
// adapters add.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor {

enum class AdapterTargets { all_linear, query_and_value };

struct ModelShape {
  std::optional<i64> parameters;  ///< unknown: derived from the sizes below
  std::optional<i64> trainable;   ///< unknown: all of them; not counting adapters
  std::optional<i64> layers, hidden, heads, kv_heads, head_size, vocabulary;
  std::optional<i64> intermediate;  ///< width of the MLP; unknown and without a gate: four hidden sizes
  bool gated = false;               ///< the MLP has a gate beside its way up (SwiGLU, GeGLU)
  bool tied_embeddings = false;     ///< one table for the input and the head
  i64 patch = 0;                    ///< of a model of images alone: pixels of a side of a patch; it has no vocabulary
  bool irregular = false;           ///< experts, latent attention: nothing follows from the sizes
};

struct Matrix {
  double in, out;
};

/// The linear layers of one layer; nullopt where sizes are missing.
std::optional<std::vector<Matrix>> matrices_of(const ModelShape& model);
/// Tables of tokens: of the input, and of the head where it has its own. 0 where the sizes are not known.
double embedding_parameters(const ModelShape& model);
/// Given, or counted from the sizes of a dense decoder or encoder of images (biases and the table of positions are left
/// out: below 0.1 %).
std::optional<i64> parameters_of(const ModelShape& model);
/// What LoRA adds to a model of known sizes.
std::optional<i64> adapter_parameters(const ModelShape& model, i64 rank, AdapterTargets targets);
/// Of what turns an image in red, green and blue into tokens; 0 for a model of text.
double patch_parameters(const ModelShape& model);
/// Tokens of an image in patches of patch × patch pixels, without a class token.
i64 image_tokens(i64 width, i64 height, i64 patch);

}  // namespace oomdoctor
