// An exhaustive search: there are few changes, and a budget takes microseconds. The price of a change is one plus its
// cost class and its risk class. So a small set beats a gentle one, and a free change beats an expensive one. Of sets
// with the same price, the one with fewer changes wins, then the one that is first in the table.
#include "estimate/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

constexpr i64 max_batch = i64{1} << 30;     // with a larger batch, other limits apply first
constexpr i64 max_ranks = 1024;             // nobody plans for more GPUs
constexpr i64 sequence_step = 128;          // kernels prefer multiples of this length
constexpr i64 suggested_adapter_rank = 16;  // as in peft's examples; it hardly affects memory

/// The largest value that fits, by bisection between `low` (which fits) and `high` (which need not).
template <class Fits>
i64 find_largest(i64 low, i64 high, Fits fitting) {
  while (low < high) {
    const i64 middle = low + (high - low + 1) / 2;
    if (fitting(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// The model and the GPU of one plan. Where the changes are already chosen, `chosen` has the values that were found.
struct Situation {
  const ModelShape& model;
  i64 capacity;
  const RunShape* chosen = nullptr;

  bool fits(const RunShape& run) const { return oomdoctor::fits(compute_budget(model, run), capacity); }
};

/// The models that a change is for.
enum class ModelKind { all, text, images };

/// A possible change: when it applies, its effect, and the setting to write. `apply` may search for the largest value
/// that fits.
struct PlanChange {
  std::string_view id, title;
  int cost, risk;
  bool (*applies)(const Situation&, const RunShape&);
  void (*apply)(const Situation&, RunShape&);
  std::string (*setting)(const RunShape& before, const RunShape& after);
  ModelKind of = ModelKind::all;
};

// --- the changes: condition, effect, setting ------------------------------------------------------------------------

bool is_training(const RunShape& run) { return run.work == RunKind::training; }

bool keeps_scores(const Situation& situation, const RunShape& run) {
  return run.attention == Attention::stored && !situation.model.biased_scores;
}
void use_flash(const Situation&, RunShape& run) { run.attention = Attention::flash; }
std::string flash_setting(const RunShape&, const RunShape&) { return R"(attn_implementation="sdpa")"; }

bool keeps_logits(const Situation&, const RunShape& run) { return run.loss && run.loss != Loss::chunked; }
void use_chunks(const Situation&, RunShape& run) { run.loss = Loss::chunked; }
std::string chunks_setting(const RunShape&, const RunShape&) { return "use_liger_kernel=True"; }

bool has_fused_step(const Situation&, const RunShape& run) {
  const bool in_torch =
      run.optimizer == Optimizer::adam || run.optimizer == Optimizer::sgd || run.optimizer == Optimizer::sgd_momentum;
  return in_torch && !run.fused_optimizer && !run.offload_optimizer;
}
void use_fused_step(const Situation&, RunShape& run) { run.fused_optimizer = true; }
std::string fused_setting(const RunShape& run, const RunShape&) {
  return run.optimizer == Optimizer::adam ? R"(optim="adamw_torch_fused")" : "SGD(..., fused=True)";
}

bool copies_into_buckets(const Situation&, const RunShape& run) {
  return is_training(run) && run.data_parallel.value_or(1) > 1 && run.zero_stage == 0 && !run.bucket_view;
}
void use_bucket_view(const Situation&, RunShape& run) { run.bucket_view = true; }
std::string bucket_setting(const RunShape&, const RunShape&) { return "DDP(..., gradient_as_bucket_view=True)"; }

bool repeats_norms(const Situation&, const RunShape& run) {
  return run.tensor_parallel.value_or(1) > 1 && !run.sequence_parallel;
}
void split_sequence(const Situation&, RunShape& run) { run.sequence_parallel = true; }
std::string split_setting(const RunShape&, const RunShape&) { return "--sequence-parallel"; }

bool is_fp32(const Situation&, const RunShape& run) { return run.precision == Precision::fp32; }
void use_16_bits(const Situation&, RunShape& run) {
  run.precision = is_training(run) ? Precision::autocast : Precision::pure_16bit;
}
std::string sixteen_bits_setting(const RunShape& run, const RunShape&) {
  return is_training(run) ? "bf16=True" : "torch_dtype=torch.bfloat16";
}

bool keeps_activations(const Situation&, const RunShape& run) {
  return run.checkpointing && run.checkpointing != Checkpointing::full;
}
void use_checkpoints(const Situation&, RunShape& run) { run.checkpointing = Checkpointing::full; }
std::string checkpoints_setting(const RunShape&, const RunShape&) { return "gradient_checkpointing=True"; }

bool is_adam(const Situation&, const RunShape& run) {
  return run.optimizer == Optimizer::adam && !run.offload_optimizer;
}
void use_eight_bits(const Situation&, RunShape& run) { run.optimizer = Optimizer::adam_8bit; }
std::string eight_bits_setting(const RunShape&, const RunShape&) { return R"(optim="adamw_bnb_8bit")"; }

bool is_replicated(const Situation&, const RunShape& run) {
  return is_training(run) && run.data_parallel.value_or(1) > 1 && run.zero_stage < 3;
}
/// Uses the lowest ZeRO stage that fits, because each stage needs more communication than the one before.
void shard(const Situation& situation, RunShape& run) {
  if (situation.chosen != nullptr) {
    run.zero_stage = situation.chosen->zero_stage;
    return;
  }
  do ++run.zero_stage;
  while (run.zero_stage < 3 && !situation.fits(run));
}
std::string shard_setting(const RunShape&, const RunShape& run) {
  const std::string zero = fmt::format(R"("zero_optimization": {{"stage": {}}})", run.zero_stage);
  return run.zero_stage < 3 ? zero : zero + R"(, or fsdp="full_shard auto_wrap")";
}

bool holds_states(const Situation&, const RunShape& run) {
  return !run.offload_optimizer && run.optimizer && run.optimizer != Optimizer::adam_8bit;
}
void offload(const Situation&, RunShape& run) { run.offload_optimizer = true; }
std::string offload_setting(const RunShape&, const RunShape&) {
  return R"("offload_optimizer": {"device": "cpu", "pin_memory": true})";
}

bool has_batch(const Situation&, const RunShape& run) { return run.batch.value_or(1) > 1; }
/// Keeps the number of samples per step. It adds passes, so gradients are kept between them.
RunShape with_batch(RunShape run, i64 batch) {
  const i64 samples = *run.batch * run.accumulation.value_or(1);
  if (run.accumulation) run.accumulation = (samples + batch - 1) / batch;
  run.batch = batch;
  return run;
}
void shrink_batch(const Situation& situation, RunShape& run) {
  const auto fitting = [&](i64 batch) { return situation.fits(with_batch(run, batch)); };
  run = with_batch(run,
                   situation.chosen != nullptr ? *situation.chosen->batch : find_largest(1, *run.batch - 1, fitting));
}
std::string batch_setting(const RunShape& before, const RunShape& after) {
  if (after.work == RunKind::generation && after.image_width > 0)
    return fmt::format("num_images_per_prompt={}", *after.batch);
  if (!is_training(after)) return fmt::format("per_device_eval_batch_size={}", *after.batch);
  const i64 samples = *before.batch * before.accumulation.value_or(1);
  return fmt::format("per_device_train_batch_size={}, gradient_accumulation_steps={}", *after.batch,
                     (samples + *after.batch - 1) / *after.batch);
}

bool trains_all(const Situation& situation, const RunShape& run) {
  return is_training(run) && !run.adapter_rank && !situation.model.trainable &&
         adapter_parameters(situation.model, suggested_adapter_rank, AdapterTargets::all_linear);
}
void use_adapters(const Situation&, RunShape& run) { run.adapter_rank = suggested_adapter_rank; }
std::string adapters_setting(const RunShape&, const RunShape& run) {
  return fmt::format(R"(LoraConfig(r={}, target_modules="all-linear"))", *run.adapter_rank);
}

bool has_wide_base(const Situation&, const RunShape& run) {
  return (run.adapter_rank || !is_training(run)) && run.quantisation != Quantisation::four_bit;
}
void use_four_bits(const Situation&, RunShape& run) { run.quantisation = Quantisation::four_bit; }
std::string four_bits_setting(const RunShape&, const RunShape&) {
  return R"(BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True))";
}

bool has_whole_weights(const Situation& situation, const RunShape& run) {
  return has_wide_base(situation, run) && run.quantisation == Quantisation::none;
}
void use_eight_bit_base(const Situation&, RunShape& run) { run.quantisation = Quantisation::eight_bit; }
std::string eight_bit_base_setting(const RunShape&, const RunShape&) { return "BitsAndBytesConfig(load_in_8bit=True)"; }

bool has_whole_cache(const Situation&, const RunShape& run) {
  return run.work == RunKind::generation && run.cache == Quantisation::none;
}
void use_eight_bit_cache(const Situation&, RunShape& run) { run.cache = Quantisation::eight_bit; }
std::string eight_bit_cache_setting(const RunShape&, const RunShape&) { return "--kv-cache-dtype fp8"; }

bool makes_images(const Situation& situation, const RunShape& run) {
  return situation.model.images && run.work == RunKind::generation;
}
bool decodes_several(const Situation& situation, const RunShape& run) {
  return makes_images(situation, run) && has_batch(situation, run) && !run.sliced && !run.latents;
}
void decode_in_slices(const Situation&, RunShape& run) { run.sliced = true; }
std::string slices_setting(const RunShape&, const RunShape&) { return "pipe.vae.enable_slicing()"; }

bool decodes_large(const Situation& situation, const RunShape& run) {
  const i64 tile = situation.model.images ? situation.model.images->tile : 0;
  return makes_images(situation, run) && run.image_width * run.image_height > tile * tile && !run.tiled && !run.latents;
}
void decode_in_tiles(const Situation&, RunShape& run) { run.tiled = true; }
std::string tiles_setting(const RunShape&, const RunShape&) { return "pipe.vae.enable_tiling()"; }

bool holds_idle_models(const Situation& situation, const RunShape& run) {
  return makes_images(situation, run) && situation.model.images->denoises && !run.offload_models;
}
void offload_idle_models(const Situation&, RunShape& run) { run.offload_models = true; }
std::string idle_models_setting(const RunShape&, const RunShape&) { return "pipe.enable_model_cpu_offload()"; }

bool encodes_inputs(const Situation& situation, const RunShape& run) {
  return is_training(run) && situation.model.images && situation.model.images->denoises && !run.offload_models;
}
std::string cache_setting(const RunShape&, const RunShape&) {
  return "--cache_latents, and text embeddings that are computed before the training";
}

bool has_sequence(const Situation& situation, const RunShape& run) {
  return situation.model.patch == 0 && run.sequence.value_or(0) > sequence_step;
}
void shorten(const Situation& situation, RunShape& run) {
  if (situation.chosen != nullptr) {
    run.sequence = situation.chosen->sequence;
    return;
  }
  const i64 steps = (*run.sequence - 1) / sequence_step;
  run.sequence = sequence_step * find_largest(1, steps, [&](i64 step) {
                   RunShape shorter = run;
                   shorter.sequence = step * sequence_step;
                   return situation.fits(shorter);
                 });
}
std::string sequence_setting(const RunShape&, const RunShape& run) {
  return fmt::format("max_length={}, truncation=True", *run.sequence);
}

/// In the order in which to make them. Changes that search for the largest value come after those without one.
constexpr std::array<PlanChange, 20> candidates = {{
    {"flash_attention", "Use SDPA or FlashAttention", 0, 1, keeps_scores, use_flash, flash_setting},
    {"chunked_loss", "Compute head and loss part by part", 0, 1, keeps_logits, use_chunks, chunks_setting,
     ModelKind::text},
    {"fused_step", "Use the fused optimizer", 0, 0, has_fused_step, use_fused_step, fused_setting},
    {"gradients_in_buckets", "Keep gradients in DDP's buckets", 0, 0, copies_into_buckets, use_bucket_view,
     bucket_setting},
    {"sequence_parallel", "Split the norms over the tensor-parallel ranks", 0, 0, repeats_norms, split_sequence,
     split_setting, ModelKind::text},
    {"sixteen_bits", "Compute in bf16", 0, 1, is_fp32, use_16_bits, sixteen_bits_setting},
    {"sliced_decode", "Decode one image at a time", 1, 0, decodes_several, decode_in_slices, slices_setting,
     ModelKind::images},
    {"tiled_decode", "Decode in tiles", 1, 1, decodes_large, decode_in_tiles, tiles_setting, ModelKind::images},
    {"models_on_host", "Keep the networks that wait on the host", 2, 0, holds_idle_models, offload_idle_models,
     idle_models_setting, ModelKind::images},
    {"cached_inputs", "Cache latents and text embeddings", 0, 1, encodes_inputs, offload_idle_models, cache_setting,
     ModelKind::images},
    {"checkpointing", "Checkpoint the activations of every layer", 2, 0, keeps_activations, use_checkpoints,
     checkpoints_setting},
    {"shard", "Shard over the data-parallel ranks", 2, 0, is_replicated, shard, shard_setting},
    {"states_on_host", "Keep optimizer and gradients on the host", 3, 0, holds_states, offload, offload_setting},
    {"eight_bit_states", "Keep the optimizer's states in 8 bits", 0, 1, is_adam, use_eight_bits, eight_bits_setting},
    {"adapters", "Train LoRA adapters only", 0, 2, trains_all, use_adapters, adapters_setting},
    {"four_bit_base", "Keep the frozen weights in 4 bits", 2, 2, has_wide_base, use_four_bits, four_bits_setting},
    {"eight_bit_base", "Keep the frozen weights in 8 bits", 2, 1, has_whole_weights, use_eight_bit_base,
     eight_bit_base_setting},
    {"eight_bit_cache", "Keep the KV cache in 8 bits", 0, 1, has_whole_cache, use_eight_bit_cache,
     eight_bit_cache_setting, ModelKind::text},
    {"batch", "Smaller micro-batches", 1, 1, has_batch, shrink_batch, batch_setting},
    {"sequence", "Shorter sequences", 0, 3, has_sequence, shorten, sequence_setting, ModelKind::text},
}};
constexpr std::array max_risks = {1, 2, 3};  // risk classes: rounding only; another model or schedule; other data

// --- the search ------------------------------------------------------------------------------------------------------

/// Applies the changes of a set in order; nullopt if one of them does not apply.
std::optional<RunShape> apply_changes(const Situation& situation, RunShape run, unsigned set) {
  for (unsigned i = 0; i < candidates.size(); ++i) {
    if ((set >> i & 1U) == 0) continue;
    if (!candidates.at(i).applies(situation, run)) return std::nullopt;
    candidates.at(i).apply(situation, run);
  }
  return run;
}

/// All changes up to a risk class that apply, one after the other.
unsigned find_applicable(const Situation& situation, RunShape run, int max_risk) {
  unsigned set = 0;
  for (unsigned i = 0; i < candidates.size(); ++i) {
    if (candidates.at(i).risk > max_risk || !candidates.at(i).applies(situation, run)) continue;
    candidates.at(i).apply(situation, run);
    set |= 1U << i;
  }
  return set;
}

/// Price, number of changes, position in the table. Smaller is better.
using Price = std::tuple<int, int, unsigned>;
Price price_of(unsigned set) {
  int sum = 0;
  for (unsigned i = 0; i < candidates.size(); ++i)
    if (set >> i & 1U) sum += 1 + candidates.at(i).cost + candidates.at(i).risk;
  return {sum, std::popcount(set), set};
}

/// Every set of changes up to a risk class that this kind of model knows, the cheapest first.
std::vector<Price> sets_by_price(const Situation& situation, int max_risk) {
  unsigned possible = 0;
  for (unsigned i = 0; i < candidates.size(); ++i)
    if (candidates.at(i).risk <= max_risk &&
        candidates.at(i).of != (situation.model.images ? ModelKind::text : ModelKind::images))
      possible |= 1U << i;
  std::vector<Price> sets;
  for (unsigned set = possible; set != 0; set = (set - 1) & possible) sets.push_back(price_of(set));
  std::sort(sets.begin(), sets.end());
  return sets;
}

/// The changes of a set in an order in which each saves something. A change of what only the forward pass needs saves
/// nothing while the optimizer's step needs more, so it comes after the change that makes the step smaller. A change
/// that never saves anything is left out.
Plan make_plan(const Situation& situation, RunShape run, unsigned set) {
  RunShape chosen = run;
  for (unsigned i = 0; i < candidates.size(); ++i)
    if (set >> i & 1U) candidates.at(i).apply(situation, chosen);
  const Situation known{situation.model, situation.capacity, &chosen};
  Plan plan;
  plan.budget = compute_budget(situation.model, run);
  for (unsigned i = 0; i < candidates.size();) {
    const PlanChange& candidate = candidates.at(i);
    RunShape after = run;
    if ((set >> i & 1U) != 0 && candidate.applies(known, run)) candidate.apply(known, after);
    Budget budget = compute_budget(situation.model, after);
    const i64 saves = plan.budget.total.count - budget.total.count;
    if (saves <= 0) {
      ++i;
      continue;
    }
    plan.budget = std::move(budget);
    plan.changes.push_back({candidate.id, candidate.title, candidate.setting(run, after), candidate.cost,
                            candidate.risk, saves, plan.budget.total.count});
    run = after;
    set &= ~(1U << i);
    i = 0;  // what came before may save something now
  }
  plan.fits = fits(plan.budget, situation.capacity);
  return plan;
}

}  // namespace

i64 compute_margin(i64 capacity) { return whole_number(model_memory::margin_share * static_cast<double>(capacity)); }

bool fits(const Budget& budget, i64 capacity) { return budget.total.count <= capacity - compute_margin(capacity); }

namespace {

/// The largest value of one size of the run that fits.
std::optional<i64> find_largest_size(const ModelShape& model, RunShape run, std::optional<i64> RunShape::*size,
                                     bool Term::*grows, i64 max, i64 capacity) {
  run.*size = 1;
  const Budget one = compute_budget(model, run);
  const bool any = std::any_of(one.terms.begin(), one.terms.end(), [&](const Term& term) { return term.*grows; });
  if (!one.missing.empty() || !any) return std::nullopt;
  return find_largest(0, max, [&](i64 value) {
    run.*size = value;
    return fits(compute_budget(model, run), capacity);
  });
}

}  // namespace

std::optional<i64> largest_batch(const ModelShape& model, const RunShape& run, i64 capacity) {
  return find_largest_size(model, run, &RunShape::batch, &Term::with_batch, max_batch, capacity);
}

std::optional<i64> longest_sequence(const ModelShape& model, const RunShape& run, i64 capacity) {
  if (model.patch > 0) return std::nullopt;  // the images determine the number
  constexpr i64 max_tokens = i64{1} << 27;
  return find_largest_size(model, run, &RunShape::sequence, &Term::with_sequence, model.positions.value_or(max_tokens),
                           capacity);
}

std::optional<i64> ranks_that_fit(const ModelShape& model, const RunShape& run, i64 capacity) {
  RunShape sharded = run;
  sharded.zero_stage = 3;
  for (i64 ranks = 2; ranks <= max_ranks; ranks *= 2) {
    sharded.data_parallel = ranks;
    const Budget budget = compute_budget(model, sharded);
    if (!budget.missing.empty()) return std::nullopt;
    if (ranks > run.data_parallel.value_or(1) && fits(budget, capacity)) return ranks;
  }
  return std::nullopt;
}

Plan compute_plan(const ModelShape& model, const RunShape& run, i64 capacity) {
  const Situation situation{model, capacity};
  const auto suffices = [&](unsigned set) {
    const auto after = apply_changes(situation, run, set);
    return after && situation.fits(*after);
  };
  for (const int max_risk : max_risks) {
    if (!suffices(find_applicable(situation, run, max_risk))) continue;
    const std::vector<Price> sets = sets_by_price(situation, max_risk);
    const auto found =
        std::find_if(sets.begin(), sets.end(), [&](const Price& price) { return suffices(std::get<unsigned>(price)); });
    if (found != sets.end()) return make_plan(situation, run, std::get<unsigned>(*found));
  }
  return make_plan(situation, run, find_applicable(situation, run, max_risks.back()));
}

}  // namespace oomdoctor
