// Each term is one function: its inputs, the formula, and the formula in words. Counts are doubles, because products of
// absurd sizes exceed 63 bits. They are clamped when they become bytes.
//
// With pipeline parallelism two stages can need most. The first stage has the activations of as many passes as the
// pipeline has stages. The last stage has the logits. Both are computed, and the larger one is the budget.
#include "estimate/model_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "estimate/budget_maker.h"

namespace oomdoctor {

using namespace model_memory;

Bytes BudgetMaker::to_bytes(double count, double slack) {
  constexpr double max = static_cast<double>(max_budget_bytes);
  return {whole_number(std::round(std::min(count, max))), whole_number(std::round(std::min(slack, max)))};
}

std::string BudgetMaker::division_words(double by, std::string_view what) {
  return by > 1 ? fmt::format(" ÷ {:.0f} {}", by, what) : std::string();
}

Budget BudgetMaker::make() {
  add_weights();
  add_image_networks();
  if (training_) {
    add_gradients();
    add_states();
    add_gathered();
    add_buckets();
    add_casts();
    add_step_copies();
  }
  add_activations();
  add_scores();
  add_logits();
  add_cache();
  add_image_coding();
  add_context();
  add_host();
  find_peak();
  return std::move(budget_);
}

BudgetMaker::Parameters BudgetMaker::parameters(Inputs& in) const {
  Parameters here;
  const auto total = count_parameters(model_);
  if (!total) in.miss("params");
  const double all = to_double(total.value_or(0)), tables = std::min(embedding_parameters(model_), all);
  // Each end of a pipeline has one table. Tensor parallelism splits all parameters.
  const double one_table = model_.tied_embeddings ? tables : tables / 2;
  here.embeddings = (pipeline_ > 1 ? one_table : tables) / tensor_;
  here.all = (all - tables) / (tensor_ * pipeline_) + here.embeddings;
  if (run_.adapter_rank) {
    const auto added = adapter_parameters(model_, *run_.adapter_rank, run_.adapter_targets);
    if (!added) miss_sizes(in);
    here.adapters = to_double(added.value_or(0)) / (tensor_ * pipeline_);
  }
  const double share = model_.trainable && all > 0 ? std::min(to_double(*model_.trainable) / all, 1.0) : 1;
  here.trained = run_.adapter_rank ? here.adapters : here.all * share;
  return here;
}

void BudgetMaker::miss_sizes(Inputs& in) const {
  in.size(model_.layers, "layers");
  in.size(model_.hidden, "hidden");
  if (model_.gated) in.size(model_.intermediate, "intermediate");
  if (model_.latent || (model_.kv_heads && !model_.head_size)) in.size(model_.heads, "heads");
}

std::string BudgetMaker::parameter_words(double count, std::string_view kind, double shards) const {
  return fmt::format("{} {}{}{}", count_words(count), kind, tensor_ * pipeline_ > 1 ? " of this device" : "",
                     division_words(shards, "ranks"));
}

void BudgetMaker::add_weights() {
  if (zero_ >= 3 && run_.offload_parameters) return;
  Inputs in;
  const Parameters here = parameters(in);
  const double each = base_recipe(in).weights, shards = sharded_from(3);
  double base = each * here.all;
  std::string words = fmt::format("{:.0f} bytes × {}", each, parameter_words(here.all, "parameters", shards));
  if (const double packed = packed_bytes(); packed > 0) {
    // Tables and head stay in 16 bits: bitsandbytes replaces only the linear layers of the blocks.
    base = packed * (here.all - here.embeddings) + sixteen_bit * here.embeddings;
    words =
        fmt::format("{:.4g} bits × {}", 8 * packed, parameter_words(here.all - here.embeddings, "parameters", shards));
    if (here.embeddings > 0)
      words += fmt::format(" + {:.0f} bytes × {} of embeddings", sixteen_bit, count_words(here.embeddings));
  }
  if (here.adapters > 0)
    words += fmt::format(" + {:.0f} bytes × {} of adapters", adapter_recipe.weights, count_words(here.adapters));
  const bool leaves = run_.offload_models && !training_;  // while other networks of the pipeline compute
  add(in, {"weights", "weights", to_bytes((base + adapter_recipe.weights * here.adapters) / shards), words,
           leaves ? Moment::pass : Moment::always});
}

bool BudgetMaker::gradients_replace_activations() const {
  return run_.accumulation == 1 && ranks_ == 1 && pipeline_ == 1 && zero_ == 0;
}

void BudgetMaker::add_gradients() {
  if (run_.offload_optimizer) return;  // the host has them, with the optimizer
  Inputs in;
  const Parameters here = parameters(in);
  const double each = trained_recipe(in).gradients, shards = sharded_from(2);
  add(in, {"gradients", "gradients", to_bytes(each * here.trained / shards),
           fmt::format("{:.0f} bytes × {}", each, parameter_words(here.trained, "trained parameters", shards)),
           gradients_replace_activations() ? Moment::step : Moment::always});
}

double BudgetMaker::factored_elements(Inputs& in, const Parameters& here) const {
  if (run_.adapter_rank) return here.adapters / group_size(run_.adapter_rank);
  const auto matrices = list_matrices(model_);
  if (!matrices) return miss_sizes(in), 0;
  double sum = 0;
  for (const LinearLayer& matrix : *matrices) sum += matrix.count * (matrix.in + matrix.out);
  return sum / (tensor_ * pipeline_);
}

void BudgetMaker::add_states() {
  if (run_.offload_optimizer) return;
  Inputs in;
  const Parameters here = parameters(in);
  const Recipe recipe = trained_recipe(in);
  const States states = states_of(in.choice(run_.optimizer, "optimizer"));
  const double moment = states.own_bytes > 0 ? states.own_bytes : recipe.moment, shards = sharded_from(1);
  const double each = recipe.main_gradients + recipe.master + states.moments * moment;
  double bytes = each * here.trained;
  std::vector<std::string> parts;
  if (recipe.main_gradients > 0) parts.push_back(fmt::format("{:.0f} for main gradients", recipe.main_gradients));
  if (recipe.master > 0) parts.push_back(fmt::format("{:.0f} for fp32 master weights", recipe.master));
  if (states.moments > 0) parts.push_back(fmt::format("{} × {:.0f} for moments", states.moments, moment));
  std::string words = fmt::format("{:.0f} bytes ({}) × {}", each, fmt::join(parts, ", "),
                                  parameter_words(here.trained, "trained parameters", shards));
  if (states.factored) {
    const double elements = factored_elements(in, here);
    bytes += fp32 * elements;
    const std::string rows = fmt::format("{:.0f} bytes × {} rows and columns", fp32, count_words(elements));
    words = each > 0 ? words + " + " + rows : rows;
  }
  add(in, {"optimizer", "optimizer states", to_bytes(bytes / shards), words});
}

void BudgetMaker::add_gathered() {
  if (zero_ < 3) return;
  Inputs in;
  const Parameters here = parameters(in);
  const double encoder = model_.encoder ? to_double(model_.encoder->layers) : 0, table = number_bytes(in);
  const double layers =
      std::max((is_unet() ? unet_memory(in).blocks : in.size(model_.layers, "layers")) + encoder, 1.0);
  const double each = packed_bytes() > 0 ? packed_bytes() : table;
  const double unit = (here.all - here.embeddings) / std::max(layers / pipeline_, 1.0);
  const double units = gathered_units + (run_.adapter_rank ? 0 : 1);  // one more for the gradients of a whole unit
  std::string words = fmt::format("{:.0f} × {:.3g} bytes × {} parameters of a layer", units, each, count_words(unit));
  if (here.embeddings > 0)
    words += fmt::format(" + {:.0f} bytes × {} of embeddings", table, count_words(here.embeddings));
  add(in,
      {"gathered", "gathered layers", to_bytes(each * units * unit + table * here.embeddings), words, Moment::pass});
}

void BudgetMaker::add_buckets() {
  if (ranks_ <= 1 || zero_ >= 3 || (zero_ == 0 && run_.bucket_view)) return;
  Inputs in;
  const Parameters here = parameters(in);
  if (zero_ == 0) {
    const double each = trained_recipe(in).gradients;
    add(in, {"buckets", "DDP's gradient buckets", to_bytes(each * here.trained),
             fmt::format("a second copy of all gradients: {:.0f} bytes × {}", each,
                         parameter_words(here.trained, "trained parameters", 1))});
    return;
  }
  const double elements = std::min(zero_bucket_elements, here.trained);
  add(in, {"buckets", "ZeRO's buckets", to_bytes(zero_buckets * sixteen_bit * elements),
           fmt::format("{:.0f} × {:.0f} bytes × {} elements", zero_buckets, sixteen_bit, count_words(elements))});
}

void BudgetMaker::add_casts() {
  if (run_.precision != Precision::autocast || run_.adapter_rank || zero_ >= 3) return;
  Inputs in;
  const Parameters here = parameters(in);
  add(in, {"casts", "autocast's copies", to_bytes(sixteen_bit * here.trained),
           fmt::format("{:.0f} bytes × {}", sixteen_bit, parameter_words(here.trained, "trained parameters", 1)),
           Moment::pass});
}

void BudgetMaker::add_step_copies() {
  if (run_.fused_optimizer || run_.offload_optimizer || run_.optimizer == Optimizer::adam_8bit) return;
  Inputs in;
  const Parameters here = parameters(in);
  const Recipe recipe = trained_recipe(in);
  const double each = std::max(recipe.weights, recipe.master), shards = sharded_from(1);
  add(in, {"step_copies", "copies in the optimizer's step", to_bytes(each * here.trained / shards),
           fmt::format("{:.0f} bytes × {}", each, parameter_words(here.trained, "trained parameters", shards)),
           Moment::step});
}

void BudgetMaker::add_context() {
  const bool several = ranks_ * tensor_ * pipeline_ > 1;
  add({}, {"context", "CUDA context + libraries", several ? context_several : context_one,
           several ? "0.5 to 3 GiB with communication between devices" : "0.1 to 1.2 GiB on one device"});
}

void BudgetMaker::add_host() {
  if (!training_ || !run_.offload_optimizer) return;
  const auto all = count_parameters(model_);
  const auto trained = run_.adapter_rank ? adapter_parameters(model_, *run_.adapter_rank, run_.adapter_targets) : all;
  if (!all || !trained) return;
  double each = std::max(host_per_rank * ranks_, host_least);
  if (zero_ >= 3) each = run_.offload_parameters ? host_all_sharded : host_optimizer_sharded;
  double bytes = each * host_factor * to_double(*trained);
  std::string words = fmt::format("{:.0f} bytes × {:.1f} × {} {}parameters", each, host_factor,
                                  count_words(to_double(*trained)), run_.adapter_rank ? "trained " : "");
  if (run_.adapter_rank && run_.offload_parameters) {
    bytes += sixteen_bit * host_factor * to_double(*all);
    words += fmt::format(" + {:.0f} bytes × {:.1f} × {} frozen parameters", sixteen_bit, host_factor,
                         count_words(to_double(*all)));
  }
  budget_.host = Term{"host", "host memory", to_bytes(bytes), words};
}

void BudgetMaker::find_peak() {
  double largest = -1;
  for (const Moment moment : {Moment::pass, Moment::step, Moment::encode, Moment::decode}) {
    double sum = 0;
    for (const Term& term : budget_.terms)
      if (term.moment == Moment::always || term.moment == moment) sum += to_double(term.bytes.count);
    if (sum > largest) budget_.peak = moment;
    largest = std::max(largest, sum);
  }
  for (const Term& term : budget_.terms)
    if (budget_.at_peak(term)) budget_.total = budget_.total + term.bytes;
}

Budget compute_budget(const ModelShape& model, const RunShape& run) {
  if (run.pipeline_parallel.value_or(1) <= 1) return BudgetMaker(model, run, PipelineStage::only).make();
  Budget first = BudgetMaker(model, run, PipelineStage::first).make(),
         last = BudgetMaker(model, run, PipelineStage::last).make();
  first.pipeline_stage = "first";
  last.pipeline_stage = "last";
  Budget &larger = first.total.count >= last.total.count ? first : last, &smaller = &larger == &first ? last : first;
  if (larger.missing.empty())
    larger.missing = std::move(smaller.missing);  // with its missing terms, it might be the larger one
  return std::move(larger);
}

}  // namespace oomdoctor
