// The memory of a run before there is a log. Each of weights, gradients, optimizer states, activations,
// logits and caches has a formula, per GPU. Nothing is assumed: a term with an unknown input is in Budget::missing with
// the inputs that it needs. So a budget is complete, or it lists what it omits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/enum_names.h"
#include "estimate/model_shape.h"

namespace oomdoctor {

/// The kind of run. Only training has gradients, optimizer states and stored activations.
enum class RunKind { training, evaluation, generation };

/// The number formats of weights, gradients and optimizer states; model_memory_constants.h has their bytes.
enum class Precision {
  fp32,
  autocast,              ///< torch.autocast: weights stay fp32
  mixed,                 ///< 16-bit weights and gradients, fp32 master weights and states (ZeRO)
  mixed_fp32_gradients,  ///< the same as mixed, with fp32 gradients (Megatron's default)
  mixed_two_gradients,   ///< the same as mixed, with 16-bit gradients and fp32 main gradients
  pure_16bit,            ///< everything in 16 bits
};
/// The optimizer, by the states that it keeps.
enum class Optimizer { sgd, sgd_momentum, lion, adam, adam_8bit, adafactor, adafactor_momentum };
/// Gradient checkpointing: activations that the backward pass recomputes.
enum class Checkpointing { none, selective, full };
/// The attention kernel.
enum class Attention {
  stored,  ///< "eager": keeps scores and their softmax for the backward pass
  flash,   ///< FlashAttention, SDPA: keeps neither
};
/// The loss implementation, by the copies of the logits that it keeps.
enum class Loss {
  plain,    ///< logits, their fp32 copy, log-softmax and gradient at the same time
  fused,    ///< compiled, or in place
  chunked,  ///< computes the head and the loss together, chunk by chunk (Liger, Cut Cross-Entropy)
};
enum class Quantisation { none, eight_bit, four_bit };  ///< of frozen base weights, or of the KV cache

/// The settings of a run that change its memory. An absent group size is 1: no parallelism of that kind.
struct RunShape {
  RunKind work = RunKind::training;
  std::optional<i64> batch;               ///< samples per pass and GPU
  std::optional<i64> sequence;            ///< tokens per sample
  i64 image_width = 0, image_height = 0;  ///< pixels of an image, of an image generator
  bool sliced = false, tiled = false;     ///< the VAE decodes one image at a time; in tiles
  bool latents = false;                   ///< the VAE does not decode
  bool offload_models = false;            ///< networks that wait are on the host: text encoders, VAE; while it decodes,
                                          ///< the denoising network. In training: latents and embeddings are cached.
  i64 image_tokens = 0;                   ///< image tokens per sample, in addition to `sequence`
  std::optional<i64> source;              ///< tokens per sample in an encoder; absent: as many as `sequence`
  std::optional<i64> accumulation;        ///< passes per optimizer step
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::optional<Checkpointing> checkpointing;
  std::optional<Attention> attention;
  std::optional<Loss> loss;
  int zero_stage = 0;  ///< 0 to 3; 3 also means FSDP's full shard
  std::optional<i64> data_parallel, tensor_parallel, pipeline_parallel, context_parallel;
  bool sequence_parallel = false;  ///< Megatron's sequence parallelism, over the tensor-parallel group
  bool fused_optimizer = false;    ///< the step makes no temporary copies
  bool bucket_view = false;        ///< gradients are views into DDP's buckets, without a second copy
  bool offload_optimizer = false, offload_parameters = false;
  std::optional<i64> adapter_rank;  ///< LoRA rank; absent: no adapters
  AdapterTargets adapter_targets = AdapterTargets::all_linear;
  Quantisation quantisation = Quantisation::none;
  Quantisation cache = Quantisation::none;  ///< of keys and values in the cache
};

/// When a term takes memory. The peak of a budget is the largest moment; `always` counts in each.
enum class Moment {
  always,
  pass,    ///< at the end of the forward pass, when activations and logits coexist
  step,    ///< during the optimizer step
  encode,  ///< before the pass: the text encoders, in training the VAE
  decode,  ///< after all steps of a generation: the VAE
};
template <>
inline constexpr auto enum_names<Moment> = names_up_to<Moment::decode>("always", "pass", "optimizer_step", "encode",
                                                                       "decode");

/// One part of the budget.
struct Term {
  std::string_view id, label;
  Bytes bytes;          ///< the slack is the error of the formula
  std::string formula;  ///< in words, with this run's numbers
  Moment moment = Moment::always;
  bool with_batch = false, with_sequence = false;  ///< grows with the batch or the sequence
};

/// A term that cannot be computed.
struct Missing {
  std::string_view label;
  std::vector<std::string_view>
      needs;  ///< names of the missing inputs, such as "layers"; empty if there is no formula for this model
};

/// The memory need of one GPU.
struct Budget {
  std::vector<Term> terms;
  std::vector<Missing> missing;
  Moment peak = Moment::pass;
  Bytes total;                      ///< at the peak
  std::string_view pipeline_stage;  ///< the stage with the largest need; "" without a pipeline
  std::optional<Term> host;         ///< host RAM for offloading, for all ranks together

  bool at_peak(const Term& term) const { return term.moment == Moment::always || term.moment == peak; }
};

/// No term exceeds this size, which is above the memory of any machine. So the sum of all terms stays within 63 bits.
inline constexpr i64 max_budget_bytes = i64{1} << 58;

/// Computes all terms, for any input.
Budget compute_budget(const ModelShape& model, const RunShape& run);

}  // namespace oomdoctor
