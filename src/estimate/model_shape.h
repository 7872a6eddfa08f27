// The sizes of a model, and the numbers that follow from them alone: parameters, embeddings, adapters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor {

/// The linear layers that get a LoRA adapter.
enum class AdapterTargets { all_linear, query_and_value };

/// A mixture of experts instead of the MLP. A token passes through some of the experts, and through the shared MLP.
struct Experts {
  i64 count = 0, active = 0;  ///< of a layer; of them for one token
  i64 width = 0;              ///< of the MLP of one expert
  i64 shared_width = 0;       ///< of the MLP that all tokens pass through; 0: none
  i64 dense_layers = 0;       ///< the layers that have an ordinary MLP
};

/// Latent attention: keys and values of all heads come from one short vector (DeepSeek).
struct LatentAttention {
  i64 latent = 0, rotary = 0;        ///< numbers of the vector, and those that all heads share besides
  i64 query_rank = 0;                ///< of the short vector for the queries; 0: they come from the hidden state
  i64 key_size = 0, value_size = 0;  ///< of one head; keys and queries are longer by `rotary`
};

/// The encoder in front of a decoder. It has the decoder's hidden size and heads, and each layer of the decoder attends
/// to its output.
struct EncoderShape {
  i64 layers = 0;
  std::optional<i64> intermediate;
  i64 tokens = 0;  ///< of every sample, if the model fixes their number (Whisper); else 0
};

/// One resolution of a UNet. The next level has half the side.
struct UnetLevel {
  i64 channels = 0;
  i64 transformer_layers = 0;  ///< of each of its transformers; 0: it has no transformers
  i64 heads = 0;
};

/// A network of convolutions and transformers: down through the levels, and up again with what each block on the way
/// down put out.
struct UnetShape {
  std::vector<UnetLevel> levels;  ///< the finest first
  i64 blocks = 2;                 ///< residual blocks of a level on the way down; it has one more on the way up
  i64 middle_layers = 0;          ///< of the transformer in the middle
  i64 text_width = 0;             ///< of the text embeddings
};

/// What an image generator has besides the network that denoises latents, which is the one that is trained.
struct ImagePipeline {
  i64 text_parameters = 0, vae_parameters = 0;
  bool vae_fp32 = false;  ///< the VAE computes in fp32, whatever the precision of the rest
  i64 tile = 512;         ///< side in pixels of the tiles of a tiled decode
  bool guided = true;     ///< classifier-free guidance: a step computes each image with and without the prompt
  bool denoises = true;   ///< false: a VAE alone
  std::optional<UnetShape> unet = {};  ///< absent: a transformer, with the sizes of ModelShape
};

/// The sizes of a model; an absent one is unknown.
struct ModelShape {
  std::optional<i64> parameters;  ///< if absent, computed from the sizes below
  std::optional<i64> trainable;   ///< without adapters; absent means all
  std::optional<i64> layers, hidden, heads, kv_heads, head_size, vocabulary;
  std::optional<i64> intermediate;  ///< width of the MLP; if absent and without a gate, four hidden sizes
  bool gated = false;               ///< the MLP has a gate projection (SwiGLU, GeGLU)
  bool tied_embeddings = false;     ///< the input and the head share one table
  std::optional<i64> positions;     ///< the longest sequence, if the model has a learned vector for each position
  i64 patch = 0;  ///< side of a patch in pixels, for a pure image model, which has no vocabulary; else 0
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;
  std::optional<EncoderShape> encoder;  ///< the other sizes are then those of the decoder
  std::optional<ImagePipeline> images;  ///< of an image generator
  bool modulated = false;               ///< a diffusion transformer, whose norms get scale and shift from the time step
  bool query_norm = false;              ///< norms of queries and keys; known for diffusion transformers only
  bool attends_text = false;            ///< a second attention, to the text; false: text and image are one sequence
  i64 parallel_layers = 0;              ///< of `layers`, those with attention and MLP side by side (FLUX)
  i64 text_stream_layers = 0;           ///< of `layers`, those with a second set of weights for the text (MMDiT)
  bool biased_scores = false;           ///< positions are biases of the scores, which SDPA does not take (T5)
  bool irregular = false;               ///< of an unknown structure: the sizes alone determine nothing
  std::vector<std::string_view>
      uncounted;  ///< parts that no size describes, such as "activations of the image encoder"
};

/// What a linear layer computes.
enum class LinearRole { query, value, other };

/// The input and output size of a linear layer, and how many of it the model has.
struct LinearLayer {
  double in, out;
  LinearRole role;
  double count;
};

/// The linear layers of all layers; nullopt if sizes are missing.
std::optional<std::vector<LinearLayer>> list_matrices(const ModelShape& model);
/// Parameters of the token tables: the input table, plus the head's if it has its own. 0 if the sizes are unknown.
double embedding_parameters(const ModelShape& model);
/// The given number of parameters, or the number computed from the sizes. The
/// computation omits biases and the position table (below 0.1 %).
std::optional<i64> count_parameters(const ModelShape& model);
/// The parameters that compute one token; fewer than all in a mixture of experts.
std::optional<i64> count_active_parameters(const ModelShape& model);
/// Parameters that LoRA adds to a model; nullopt if its sizes are unknown.
std::optional<i64> adapter_parameters(const ModelShape& model, i64 rank, AdapterTargets targets);
/// Parameters of the layer that turns an RGB image into tokens; 0 for a text model.
double patch_parameters(const ModelShape& model);
/// Tokens of an image in patches of patch × patch pixels, without a class token.
i64 image_tokens(i64 width, i64 height, i64 patch);
/// "1.026 trillion", "6.738 billion", "39.98 million", "4096".
std::string count_words(double count);

}  // namespace oomdoctor
