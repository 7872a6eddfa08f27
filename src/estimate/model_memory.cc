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

#include "estimate/model_memory_constants.h"

namespace oomdoctor {
namespace {

using namespace model_memory;

enum class PipelineStage { only, first, last };

double group_size(const std::optional<i64>& size) { return to_double(std::max<i64>(size.value_or(1), 1)); }

Bytes to_bytes(double count, double slack = 0) {
  constexpr double max = static_cast<double>(max_budget_bytes);
  return {whole_number(std::round(std::min(count, max))), whole_number(std::round(std::min(slack, max)))};
}

/// "6.738 billion", "39.98 million", "4096".
std::string count_words(double count) {
  if (count >= 1e9) return fmt::format("{:.4g} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.4g} million", count / 1e6);
  return fmt::format("{:.0f}", count);
}

/// " ÷ 8 ranks"; "" if nothing is divided.
std::string division_words(double by, std::string_view what) {
  return by > 1 ? fmt::format(" ÷ {:.0f} {}", by, what) : std::string();
}

/// The inputs of one term. An unknown input counts as 0, and its name is recorded.
class Inputs {
 public:
  double size(const std::optional<i64>& value, std::string_view name) {
    if (!value) miss(name);
    return to_double(value.value_or(0));
  }
  template <class T>
  T choice(const std::optional<T>& value, std::string_view name) {
    if (!value) miss(name);
    return value.value_or(T{});
  }
  void miss(std::string_view name) {
    if (std::find(needs.begin(), needs.end(), name) == needs.end()) needs.push_back(name);
  }

  std::vector<std::string_view> needs;
};

/// Computes the budget of one pipeline stage, term by term.
class BudgetMaker {
 public:
  BudgetMaker(const ModelShape& model, const RunShape& run, PipelineStage stage)
      : model_(model),
        run_(run),
        stage_(stage),
        training_(run.work == RunKind::training),
        tensor_(group_size(run.tensor_parallel)),
        pipeline_(group_size(run.pipeline_parallel)),
        context_(group_size(run.context_parallel)),
        ranks_(group_size(run.data_parallel) * context_),
        zero_(training_ ? run.zero_stage : 0) {}

  Budget make() {
    add_weights();
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
    add_context();
    add_host();
    find_peak();
    return std::move(budget_);
  }

 private:
  /// The parameters on this GPU before sharding over data-parallel ranks.
  struct Parameters {
    double all = 0;         ///< in the model, without adapters
    double embeddings = 0;  ///< part of `all`
    double trained = 0;     ///< the adapters, if there are any
    double adapters = 0;
  };

  Parameters parameters(Inputs& in) const {
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

  void miss_sizes(Inputs& in) const {
    in.size(model_.layers, "layers");
    in.size(model_.hidden, "hidden");
    if (model_.gated) in.size(model_.intermediate, "intermediate");
    if (model_.kv_heads && !model_.head_size) in.size(model_.heads, "heads");
  }

  Recipe base_recipe(Inputs& in) const { return recipe_of(in.choice(run_.precision, "precision")); }
  Recipe trained_recipe(Inputs& in) const { return run_.adapter_rank ? adapter_recipe : base_recipe(in); }
  double number_bytes(Inputs& in) const {
    return in.choice(run_.precision, "precision") == Precision::fp32 ? fp32 : sixteen_bit;
  }

  /// Bytes of a quantised weight; 0 without quantisation.
  double packed_bytes() const {
    if (run_.quantisation == Quantisation::none) return 0;
    return run_.quantisation == Quantisation::four_bit ? four_bit : eight_bit;
  }

  double sharded_from(int stage) const { return zero_ >= stage ? ranks_ : 1; }

  /// "6.738 billion parameters", with its divisors.
  std::string parameter_words(double count, std::string_view kind, double shards) const {
    return fmt::format("{} {}{}{}", count_words(count), kind, tensor_ * pipeline_ > 1 ? " of this device" : "",
                       division_words(shards, "ranks"));
  }

  void add(const Inputs& in, Term term) {
    if (!in.needs.empty())
      budget_.missing.push_back({term.label, in.needs});
    else if (term.bytes.count > 0)
      budget_.terms.push_back(std::move(term));
  }

  void add_weights() {
    if (zero_ >= 3 && run_.offload_parameters) return;
    Inputs in;
    const Parameters here = parameters(in);
    const double each = base_recipe(in).weights, shards = sharded_from(3);
    double base = each * here.all;
    std::string words = fmt::format("{:.0f} bytes × {}", each, parameter_words(here.all, "parameters", shards));
    if (const double packed = packed_bytes(); packed > 0) {
      // Tables and head stay in 16 bits: bitsandbytes replaces only the linear layers of the blocks.
      base = packed * (here.all - here.embeddings) + sixteen_bit * here.embeddings;
      words = fmt::format("{:.4g} bits × {}", 8 * packed,
                          parameter_words(here.all - here.embeddings, "parameters", shards));
      if (here.embeddings > 0)
        words += fmt::format(" + {:.0f} bytes × {} of embeddings", sixteen_bit, count_words(here.embeddings));
    }
    if (here.adapters > 0)
      words += fmt::format(" + {:.0f} bytes × {} of adapters", adapter_recipe.weights, count_words(here.adapters));
    add(in, {"weights", "weights", to_bytes((base + adapter_recipe.weights * here.adapters) / shards), words});
  }

  /// True on one GPU with one pass per step: gradients appear while activations are freed. Otherwise gradients stay
  /// between passes, or in buffers for the whole run.
  bool gradients_replace_activations() const {
    return run_.accumulation == 1 && ranks_ == 1 && pipeline_ == 1 && zero_ == 0;
  }

  void add_gradients() {
    if (run_.offload_optimizer) return;  // the host has them, with the optimizer
    Inputs in;
    const Parameters here = parameters(in);
    const double each = trained_recipe(in).gradients, shards = sharded_from(2);
    add(in, {"gradients", "gradients", to_bytes(each * here.trained / shards),
             fmt::format("{:.0f} bytes × {}", each, parameter_words(here.trained, "trained parameters", shards)),
             gradients_replace_activations() ? Moment::step : Moment::always});
  }

  /// Rows plus columns of every trained matrix.
  double factored_elements(Inputs& in, const Parameters& here) const {
    if (run_.adapter_rank) return here.adapters / group_size(run_.adapter_rank);
    const auto matrices = list_matrices(model_);
    if (!matrices || !model_.layers) return miss_sizes(in), 0;
    double sum = 0;
    for (const LinearLayer& matrix : *matrices) sum += matrix.in + matrix.out;
    return sum * to_double(*model_.layers) / (tensor_ * pipeline_);
  }

  void add_states() {
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

  /// ZeRO-3 and FSDP: the units that are gathered at a time, plus the root unit with the tables.
  void add_gathered() {
    if (zero_ < 3) return;
    Inputs in;
    const Parameters here = parameters(in);
    const double layers = std::max(in.size(model_.layers, "layers"), 1.0), table = number_bytes(in);
    const double each = packed_bytes() > 0 ? packed_bytes() : table;
    const double unit = (here.all - here.embeddings) / std::max(layers / pipeline_, 1.0);
    const double units = gathered_units + (run_.adapter_rank ? 0 : 1);  // one more for the gradients of a whole unit
    std::string words = fmt::format("{:.0f} × {:.3g} bytes × {} parameters of a layer", units, each, count_words(unit));
    if (here.embeddings > 0)
      words += fmt::format(" + {:.0f} bytes × {} of embeddings", table, count_words(here.embeddings));
    add(in, {"gathered", "gathered layers", to_bytes(each * units * unit + table * here.embeddings), words});
  }

  void add_buckets() {
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

  void add_casts() {
    if (run_.precision != Precision::autocast || run_.adapter_rank || zero_ >= 3) return;
    Inputs in;
    const Parameters here = parameters(in);
    add(in, {"casts", "autocast's copies", to_bytes(sixteen_bit * here.trained),
             fmt::format("{:.0f} bytes × {}", sixteen_bit, parameter_words(here.trained, "trained parameters", 1)),
             Moment::pass});
  }

  /// Multi-tensor optimizers (foreach, the default in torch) update all parameters in one operation, which needs
  /// temporary copies.
  void add_step_copies() {
    if (run_.fused_optimizer || run_.offload_optimizer || run_.optimizer == Optimizer::adam_8bit) return;
    Inputs in;
    const Parameters here = parameters(in);
    const Recipe recipe = trained_recipe(in);
    const double each = std::max(recipe.weights, recipe.master), shards = sharded_from(1);
    add(in, {"step_copies", "copies in the optimizer's step", to_bytes(each * here.trained / shards),
             fmt::format("{:.0f} bytes × {}", each, parameter_words(here.trained, "trained parameters", shards)),
             Moment::step});
  }

  double tokens(Inputs& in) const {
    return in.size(run_.batch, "batch") * (in.size(run_.sequence, "seq") + to_double(run_.image_tokens)) / context_;
  }

  std::string token_words() const {
    return fmt::format("{} × {} tokens{}", run_.batch.value_or(0), run_.sequence.value_or(0) + run_.image_tokens,
                       division_words(context_, "ranks"));
  }

  /// The layers with activations in memory: those of this stage, for each of its concurrent passes.
  double layers_held(Inputs& in) const {
    const double layers = in.size(model_.layers, "layers") / pipeline_;
    if (stage_ != PipelineStage::first) return layers;
    return layers * std::min(pipeline_, run_.accumulation ? to_double(*run_.accumulation) : pipeline_);
  }

  /// The bytes that a layer keeps per token and hidden unit.
  double layer_bytes(Inputs& in) const {
    const LayerBytes layer = model_.gated ? gated_layer : classic_layer;
    const double hidden = std::max(in.size(model_.hidden, "hidden"), 1.0), precision = number_bytes(in) / sixteen_bit;
    double width = classic_width;
    if (model_.intermediate || model_.gated) width = in.size(model_.intermediate, "intermediate") / hidden;
    const double shared = (layer.shared - layer.fixed) * precision + layer.fixed;
    const double split = (layer.split + layer.split_per_width * width) * precision;
    return shared / (run_.sequence_parallel ? tensor_ : 1) + split / tensor_;
  }

  void add_activations() {
    Inputs in;
    if (model_.irregular) return budget_.missing.push_back({"activations", {}});
    const double of_token = tokens(in) * in.size(model_.hidden, "hidden"), layer = layer_bytes(in);
    const std::string words = fmt::format("{} × {} hidden", token_words(), model_.hidden.value_or(0));
    const auto term = [&](double bytes, std::string formula) {
      add(in, {"activations", "activations", to_bytes(bytes, activation_error * bytes), std::move(formula),
               Moment::pass, true, true});
    };
    if (!training_) return term(of_token * layer, fmt::format("one layer: {:.4g} bytes × {}", layer, words));
    const Checkpointing kept = in.choice(run_.checkpointing, "checkpointing");
    const double layers = layers_held(in);
    if (kept != Checkpointing::full)
      return term(of_token * layer * layers, fmt::format("{:.4g} bytes × {} × {:.0f} layers", layer, words, layers));
    const double input = checkpoint * number_bytes(in) / sixteen_bit / (run_.sequence_parallel ? tensor_ : 1);
    term(of_token * (input * layers + layer),
         fmt::format("({:.4g} bytes × {:.0f} layers + {:.4g} for one whole layer) × {}", input, layers, layer, words));
  }

  void add_scores() {
    if (run_.attention == Attention::flash) return;
    Inputs in;
    in.choice(run_.attention, "attention");
    const double square = tokens(in) * (in.size(run_.sequence, "seq") + to_double(run_.image_tokens));
    const double heads = in.size(model_.heads, "heads") / tensor_;
    const double each = scores * number_bytes(in) / sixteen_bit + scores_mask;
    double layers = 1;
    if (training_ && in.choice(run_.checkpointing, "checkpointing") == Checkpointing::none) layers = layers_held(in);
    const double bytes = each * square * heads * layers;
    add(in, {"scores", "attention scores", to_bytes(bytes, activation_error * bytes),
             fmt::format("{:.0f} bytes × {} × {} tokens × {:.0f} heads × {:.0f} {}", each, token_words(),
                         run_.sequence.value_or(0) + run_.image_tokens, heads, layers, layers > 1 ? "layers" : "layer"),
             Moment::pass, true, true});
  }

  void add_logits() {
    if (stage_ == PipelineStage::first || model_.patch > 0) return;
    Inputs in;
    const double positions = run_.work == RunKind::generation ? in.size(run_.batch, "batch") : tokens(in);
    const auto term = [&](double bytes, double slack, std::string formula) {
      add(in, {"logits", "logits and loss", to_bytes(bytes, slack), std::move(formula), Moment::pass, true,
               run_.work != RunKind::generation});
    };
    const Loss loss = training_ ? in.choice(run_.loss, "loss") : Loss::fused;
    if (loss == Loss::chunked) {
      const double hidden = in.size(model_.hidden, "hidden");
      return term(
          chunked_loss_per_hidden * positions * hidden, 0,
          fmt::format("one part: {:.0f} bytes × {} × {:.0f} hidden", chunked_loss_per_hidden, token_words(), hidden));
    }
    const double logits = positions * in.size(model_.vocabulary, "vocab") / tensor_;
    const double each = loss == Loss::plain ? plain_loss : number_bytes(in) + fused_loss_extra;
    const std::string count =
        run_.work == RunKind::generation ? fmt::format("{} tokens", run_.batch.value_or(0)) : token_words();
    term(each * logits, loss == Loss::plain ? plain_loss_error * logits : 0,
         fmt::format("{:.0f} bytes × {} × {} of the vocabulary{}", each, count, model_.vocabulary.value_or(0),
                     division_words(tensor_, "tensor-parallel ranks")));
  }

  void add_cache() {
    if (run_.work != RunKind::generation) return;
    Inputs in;
    const double heads = model_.kv_heads ? to_double(*model_.kv_heads) : in.size(model_.heads, "heads");
    const double size = model_.head_size
                            ? to_double(*model_.head_size)
                            : in.size(model_.hidden, "hidden") / std::max(in.size(model_.heads, "heads"), 1.0);
    const double layers = in.size(model_.layers, "layers") / pipeline_, each = number_bytes(in);
    const double here = std::max(heads / tensor_, std::min(heads, 1.0));  // a head is on at least one GPU
    add(in, {"key_value_cache", "KV cache", to_bytes(2 * each * layers * here * size * tokens(in)),
             fmt::format("keys and values: 2 × {:.0f} bytes × {:.0f} layers × {:.0f} heads of {:.0f} × {}", each,
                         layers, here, size, token_words()),
             Moment::pass, true, true});
  }

  void add_context() {
    const bool several = ranks_ * tensor_ * pipeline_ > 1;
    add({}, {"context", "CUDA context + libraries", several ? context_several : context_one,
             several ? "0.5 to 3 GiB with communication between devices" : "0.1 to 1.2 GiB on one device"});
  }

  /// DeepSpeed's estimators, for all ranks on one host.
  void add_host() {
    if (!training_ || !run_.offload_optimizer) return;
    const auto all = count_parameters(model_);
    if (!all) return;
    double each = std::max(host_per_rank * ranks_, host_least);
    if (zero_ >= 3) each = run_.offload_parameters ? host_all_sharded : host_optimizer_sharded;
    budget_.host =
        Term{"host", "host memory", to_bytes(each * host_factor * to_double(*all)),
             fmt::format("{:.0f} bytes × {:.1f} × {} parameters", each, host_factor, count_words(to_double(*all)))};
  }

  void find_peak() {
    double pass = 0, step = 0;
    for (const Term& term : budget_.terms) {
      if (term.moment != Moment::step) pass += to_double(term.bytes.count);
      if (term.moment != Moment::pass) step += to_double(term.bytes.count);
    }
    budget_.peak = step > pass ? Moment::step : Moment::pass;
    for (const Term& term : budget_.terms)
      if (budget_.at_peak(term)) budget_.total = budget_.total + term.bytes;
  }

  const ModelShape& model_;
  const RunShape& run_;
  PipelineStage stage_;
  bool training_;
  double tensor_, pipeline_, context_, ranks_;
  int zero_;
  Budget budget_;
};

}  // namespace

Budget compute_budget(const ModelShape& model, const RunShape& run) {
  if (group_size(run.pipeline_parallel) <= 1) return BudgetMaker(model, run, PipelineStage::only).make();
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
