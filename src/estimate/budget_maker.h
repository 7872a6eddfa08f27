// Computes a budget, term by term: model_memory.cc has what lasts from step to step, pass_memory.cc what a pass adds.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimate/layer_memory.h"
#include "estimate/model_memory.h"
#include "estimate/model_memory_constants.h"
#include "estimate/unet_memory.h"

namespace oomdoctor {

enum class PipelineStage { only, first, last };

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

  Budget make();

 private:
  /// The parameters on this GPU before sharding over data-parallel ranks.
  struct Parameters {
    double all = 0;         ///< in the model, without adapters
    double embeddings = 0;  ///< part of `all`
    double trained = 0;     ///< the adapters, if there are any
    double adapters = 0;
  };

  Parameters parameters(Inputs& in) const;

  void miss_sizes(Inputs& in) const;

  model_memory::Recipe base_recipe(Inputs& in) const {
    return model_memory::recipe_of(in.choice(run_.precision, "precision"));
  }
  model_memory::Recipe trained_recipe(Inputs& in) const {
    return run_.adapter_rank ? model_memory::adapter_recipe : base_recipe(in);
  }
  double number_bytes(Inputs& in) const {
    return in.choice(run_.precision, "precision") == Precision::fp32 ? model_memory::fp32 : model_memory::sixteen_bit;
  }

  /// Bytes of a quantised weight; 0 without quantisation.
  double packed_bytes() const {
    if (run_.quantisation == Quantisation::none) return 0;
    return run_.quantisation == Quantisation::four_bit ? model_memory::four_bit : model_memory::eight_bit;
  }

  static double group_size(const std::optional<i64>& size) { return to_double(std::max<i64>(size.value_or(1), 1)); }
  static Bytes to_bytes(double count, double slack = 0);
  /// " ÷ 8 ranks"; "" if nothing is divided.
  static std::string division_words(double by, std::string_view what);

  double sharded_from(int stage) const { return zero_ >= stage ? ranks_ : 1; }

  /// "6.738 billion parameters", with its divisors.
  std::string parameter_words(double count, std::string_view kind, double shards) const;

  void add(const Inputs& in, Term term) {
    if (!in.needs.empty())
      budget_.missing.push_back({term.label, in.needs});
    else if (term.bytes.count > 0)
      budget_.terms.push_back(std::move(term));
  }

  void add_weights();

  bool is_unet() const { return model_.images && model_.images->unet; }
  /// Of one image.
  UnetMemory unet_memory(Inputs& in) const;
  /// Samples that one pass computes. Guidance doubles those of an image generator.
  double samples_of_pass(Inputs& in) const;
  std::string image_words(double images) const;

  /// The networks of an image generator that only compute the inputs, or the image from the latents.
  void add_image_networks();

  /// The pass of the VAE: it encodes before a training pass and decodes after a generation.
  void add_image_coding();

  void add_unet_activations();

  /// True on one GPU with one pass per step: gradients appear while activations are freed. Otherwise gradients stay
  /// between passes, or in buffers for the whole run.
  bool gradients_replace_activations() const;

  void add_gradients();

  /// Rows plus columns of every trained matrix.
  double factored_elements(Inputs& in, const Parameters& here) const;

  void add_states();

  /// ZeRO-3 and FSDP: the units that are gathered at a time, plus the root unit with the tables.
  void add_gathered();

  void add_buckets();

  void add_casts();

  /// Multi-tensor optimizers (foreach, the default in torch) update all parameters in one operation, which needs
  /// temporary copies.
  void add_step_copies();

  double tokens(Inputs& in) const;

  std::string token_words() const;

  /// The layers with activations in memory: those of this stage, for each of its concurrent passes.
  double layers_held(Inputs& in) const;

  double source_length(Inputs& in) const;
  /// In the encoder; 0 without one.
  double source_tokens(Inputs& in) const;
  std::string source_words() const;
  bool source_follows_sequence() const;

  LayerMemory layer_memory(Inputs& in) const;

  /// Adds the activations of one stack of layers. `layer` is their average and `whole` the largest of them.
  void add_stack(Inputs in, std::string_view id, std::string_view label, double layers, double layer, double whole,
                 double of_token, const std::string& words, bool with_sequence);

  void add_activations();

  /// Keys and values that the decoder computes from the encoder's output.
  void add_attended(const Inputs& in, double layers, double of_layer, double each, const std::string& words);

  void add_scores();

  void add_logits();

  double cache_bytes(Inputs& in) const;

  void add_cache();

  void add_context();

  /// DeepSpeed's estimators, for all ranks on one host.
  void add_host();

  void find_peak();

  const ModelShape& model_;
  const RunShape& run_;
  PipelineStage stage_;
  bool training_;
  double tensor_, pipeline_, context_, ranks_;
  int zero_;
  Budget budget_;
};

}  // namespace oomdoctor
