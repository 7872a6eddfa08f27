// The result of oomdoctor estimate: the memory budget of a run that has not started. Everything is computed from the
// model, the run and the GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/model_plan.h"
#include "estimate/sweep.h"

namespace oomdoctor {

/// Everything that both outputs print.
struct MemoryEstimate {
  std::string model, run;  ///< in words
  std::optional<i64> parameters,
      active_parameters;             ///< the latter: those that compute one token, of a mixture of experts
  std::vector<std::string> assumed;  ///< defaults for missing options, in words
  std::vector<std::string> notes;
  std::string card;                       ///< for example "A100-80GB", or "a GPU" if the user gave a size
  std::optional<i64> capacity;            ///< bytes; absent if the user named no GPU
  std::vector<std::string> fitting_gpus;  ///< names of common GPUs that the budget fits; filled if there is no capacity
  Budget budget;
  std::optional<i64> largest_batch;     ///< the largest one that fits; 0: none
  std::optional<i64> longest_sequence;  ///< in tokens, with the given batch; 0: none
  std::optional<i64> ranks;             ///< the number of ranks over which sharding alone makes it fit
  std::optional<Plan> plan;             ///< only if it does not fit
  std::optional<Sweep> sweep;           ///< only on request
};

/// "fits", "probably_fits", "probably_not" (within the error of the formulas), "does_not_fit", or "unknown": no
/// capacity, or an incomplete budget that fits so far.
std::string_view judge_outcome(const MemoryEstimate& estimate);

}  // namespace oomdoctor
