// How derived facts are computed, for people. The code is in the analysis that the first word of the name refers to.
#include <algorithm>
#include <utility>

#include "facts/facts.h"

namespace oomdoctor {
namespace {

using Formula = std::pair<std::string_view, std::string_view>;
constexpr Formula formulas[] = {
    {"account.own_other", "process − reserved, or − allocated where no more is printed"},
    {"account.external",
     "sum of the named processes, or capacity − free − process, the greater; where neither is printed, capacity − free "
     "− reserved − a usual context"},
    {"account.external_share", "external ÷ capacity"},
    {"account.own_other_share", "own_other ÷ capacity"},
    {"account.frag_ratio", "unallocated ÷ reserved"},
    {"account.shortfall", "request − free"},
    {"account.after_compaction", "free + unallocated − request"},
    {"account.allocated_share", "(allocated − private pools) ÷ capacity"},
    {"account.request_share", "request ÷ capacity"},
    {"account.demand_share", "(reserved + request) ÷ capacity"},
    {"account.unexplained", "capacity − all printed shares"},
    {"account.margin", "5% of the capacity, or of the cap that refused"},
    {"account.need",
     "request − free + margin; under a cap request − (limit − reserved) + margin; where more is allocated than there "
     "is "
     "request − (capacity − allocated) + margin; unknown where the request was free"},
    {"account.limit_reached", "reserved + request ≥ limit, within the printed digits"},
    {"account.capped",
     "limit_reached, or free_beyond_request under a printed limit where nothing says what was held, and the request "
     "was not more than free; the bound that "
     "TensorFlow, XLA and a Mac set by "
     "themselves counts only under 80% of the capacity"},
    {"account.oversubscribed", "allocated > capacity, beyond the printed digits"},
    {"oom.reserved", "printed, or allocated + unallocated"},
    {"oom.unallocated", "printed, or reserved − allocated"},
    {"trend.last_slope", "slope + acceleration × window ÷ 2"},
    {"trend.explained_share", "(value at the failure − first value) ÷ (capacity − first value)"},
    {"trend.headroom", "capacity − highest value"},
    {"trend.headroom_share", "headroom ÷ capacity"},
    {"trend.gap", "last reserved − last allocated"},
    {"trend.gap_grows", "the gap grew by 5% of the device, and reserved by three times as much as allocated moved"},
    {"trend.steps_to_full", "lower bound of the forecast − last step"},
    {"trend.forecast_agrees", "the failure's step is inside the forecast, give or take 10% of the window"},
    {"trend.increment", "a size that a step makes = slope × 1, 2, 5, 10, 50, 100 or 1000 steps, within 2%"},
    {"ranks.skew", "highest memory of a rank ÷ median of the ranks − 1"},
    {"join.external", "join.device_used − process; − reserved or allocated where no more is printed"},
    {"shape.outlier", "failing length ≥ 1.5 × the longest before; for sides of images √1.5 ×"},
    {"model.named_weights", "2 bytes × the parameters in the name ÷ (tensor_parallel × pipeline_parallel)"},
    {"model.weights_least", "2 bytes × parameters; 4 where the run computes in fp32"},
    {"model.moments_least", "4 bytes × trained parameters for Adam; 8 where the run computes in fp32"},
    {"model.states_least",
     "weights + gradients + moments of the optimizer, in 16 bits where the log does not say fp32"},
    {"advice.activations", "allocated + request − static"},
    {"advice.activations_most",
     "allocated + request − states_least after a step, weights_least before, half a byte × parameters where these are "
     "unknown, or the states and caches of a snapshot − arrays of data"},
    {"advice.live_logits", "the last dimension of the largest listed tensors is the vocabulary of published models"},
    {"advice.logits", "the largest buffer of XLA's plan, if it has the shape of logits; else the request"},
    {"advice.planned_vocabulary",
     "the last dimension of the largest buffer, if it is that of published models and the rows are tokens: "
     "their number is not the width of a layer"},
    {"advice.logits_width", "4 or 2: the width for which one vocabulary fits"},
    {"advice.logits_vocabulary", "request ÷ (batch × sequence × 4 or 2 bytes), if it is that of published models"},
    {"advice.states", "static, or states_least"},
    {"advice.states_excess", "states_least − capacity"},
    {"advice.static", "last value of tensors between steps; the first one of a run that leaks"},
    {"advice.request_alone", "request > capacity"},
    {"advice.scores",
     "the request, but not XLA's, which is a whole program; the scores in a list of tensors, if they are more"},
    {"advice.outside_pytorch",
     "own memory outside PyTorch ≥ half of the capacity, or of the limit where that alone is known"},
    {"advice.unseen_ranks", "two or more processes of 0 bytes next to a job of several ranks, or under DeepSpeed"},
    {"advice.blind", "a driver's refusal without sizes, in a log without a step, a traceback or the name of a program"},
    {"advice.independent_of_step",
     "the device nearly full before, or a quarter of it given at start; or request > capacity with nothing allocated; "
     "or a block limit; or unified memory. Also held + request below half of the capacity"},
    {"advice.batch_to",
     "largest batch ≤ batch × (activations − need) ÷ activations that divides batch × accumulation; half the batch "
     "where activations are not known"},
    {"advice.share_down",
     "share − 0.1, at least half of it, at most what others leave of the device; of vLLM 0.9 where none is printed"},
    {"advice.layers_to", "layers × 85% of the free memory ÷ weights"},
    {"advice.share_up",
     "the least share that the engine prints; else share, or the part that the weights take if it is larger, + 0.05, "
     "at most 0.95"},
    {"advice.context_to", "the length that the engine says fits, else half of what is set"},
    {"advice.step_tokens_to", "tokens of a step ÷ 2"},
    {"advice.accumulation_to", "accumulation × batch ÷ batch_to"},
    {"advice.accumulation_times", "batch ÷ batch_to"},
    {"advice.batch_key", "the name that its value is printed under"},
    {"advice.image_key", "the name that its value is printed under"},
    {"advice.accumulation_key", "the name that its value is printed under"},
    {"advice.batch_saves", "activations × (1 − batch_to ÷ batch)"},
    {"advice.batch_saves_most", "activations_most × (1 − batch_to ÷ batch); half of it where the batch is not known"},
    {"advice.sequence_to", "failing length × (activations − need) ÷ activations, down to a multiple of 16"},
    {"advice.limit_gain", "capacity, or held + free, − limit"},
    {"advice.limit_to", "limit + need, up to a quarter of a GiB"},
    {"advice.fraction_to", "limit_to ÷ capacity, up to a hundredth"},
    {"advice.host_to",
     "1.3 × the greatest of used, limit (or the machine) and, before the first step, checkpoint files, up to a GiB; "
     "evicted: 1.3 × used"},
    {"advice.workers_to", "half of the workers"},
    {"advice.restart_every", "0.7 × (step of the failure, else lower bound of the forecast − first step of the work)"},
    {"advice.optimizer_states", "8 bytes × trained parameters; moments_least where states_least exceeds the device"},
};

}  // namespace

std::string_view find_formula(std::string_view fact) {
  const auto found =
      std::find_if(std::begin(formulas), std::end(formulas), [&](const Formula& f) { return f.first == fact; });
  return found == std::end(formulas) ? std::string_view() : found->second;
}

std::vector<std::string_view> facts_with_formula() {
  std::vector<std::string_view> names;
  for (const auto& [name, formula] : formulas) names.push_back(name);
  return names;
}

}  // namespace oomdoctor
