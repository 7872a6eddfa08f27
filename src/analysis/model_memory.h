// The memory of a transformer's run before there is a log: what weights, gradients, optimizer states, activations,
// logits and caches take on one device, each from a formula. Nothing is assumed here: a term whose inputs are not all
// known is absent and stands in Budget::missing with what it needs, so that a budget is either complete or says what it
// leaves out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model_shape.h"
#include "base/bytes.h"

namespace oomdoctor {

enum class Work { training, evaluation, generation };

/// What weights, gradients and optimizer states are held in; the bytes stand in model_memory.cc.
enum class Precision {
  fp32,
  autocast,              ///< torch.autocast: weights stay fp32
  mixed,                 ///< 16-bit weights and gradients, fp32 master weights and states (ZeRO)
  mixed_fp32_gradients,  ///< the same with fp32 gradients (Megatron's default)
  mixed_two_gradients,   ///< the same with 16-bit gradients and fp32 main gradients beside them
  pure_16bit,            ///< all of it in 16 bits
};
enum class Optimizer { sgd, sgd_momentum, lion, adam, adam_8bit, adafactor, adafactor_momentum };
enum class Checkpointing { none, selective, full };
enum class Attention {
  stored,  ///< "eager": scores and their softmax are kept for the backward pass
  flash,   ///< FlashAttention, SDPA: they are not
};
enum class Loss {
  plain,    ///< logits, their fp32 copy, log-softmax and gradient at once
  fused,    ///< compiled or in place
  chunked,  ///< the head and the loss together, part by part (Liger, Cut Cross-Entropy)
};
enum class Quantisation { none, eight_bit, four_bit };  ///< of frozen base weights

/// An absent size of a group is 1: not parallel in that way.
struct RunShape {
  Work work = Work::training;
  std::optional<i64> batch;         ///< samples in one pass on one device
  std::optional<i64> sequence;      ///< tokens of a sample
  i64 image_tokens = 0;             ///< of the images of a sample, beside `sequence`
  std::optional<i64> accumulation;  ///< passes before an optimizer step
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::optional<Checkpointing> checkpointing;
  std::optional<Attention> attention;
  std::optional<Loss> loss;
  int zero_stage = 0;  ///< 0 to 3; 3 is also FSDP's full shard
  std::optional<i64> data_parallel, tensor_parallel, pipeline_parallel, context_parallel;
  bool sequence_parallel = false;  ///< Megatron's, over the tensor-parallel group
  bool fused_optimizer = false;    ///< the step makes no temporary copies
  bool bucket_view = false;        ///< gradients live in DDP's buckets, not beside them
  bool offload_optimizer = false, offload_parameters = false;
  std::optional<i64> adapter_rank;  ///< of LoRA; absent: no adapters
  AdapterTargets adapter_targets = AdapterTargets::all_linear;
  Quantisation quantisation = Quantisation::none;
};

/// When a term is there. A budget's peak is the worse of the two moments; `always` counts in both.
enum class Moment {
  always,
  pass,  ///< at the end of the forward pass, where activations and logits meet
  step,  ///< in the optimizer's step
};

struct Term {
  std::string_view id, label;
  Bytes bytes;          ///< the slack is the error band of the formula
  std::string formula;  ///< in words, with the numbers filled in
  Moment moment = Moment::always;
  bool with_batch = false, with_sequence = false;  ///< grows with them
};

struct Missing {
  std::string_view label;
  std::vector<std::string_view> needs;  ///< names of inputs: "layers"; none: there is no formula for this model
};

struct Budget {
  std::vector<Term> terms;
  std::vector<Missing> missing;
  Moment peak = Moment::pass;
  Bytes total;                      ///< at the peak
  std::string_view pipeline_stage;  ///< the one that needs most; "" without a pipeline
  std::optional<Term> host;         ///< what offloading takes of host memory, for all ranks together

  bool at_peak(const Term& term) const { return term.moment == Moment::always || term.moment == peak; }
};

Budget budget_of(const ModelShape& model, const RunShape& run);

}  // namespace oomdoctor
