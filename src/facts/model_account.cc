// A lower bound for the memory that does not depend on the batch: weights, gradients and optimizer states by the
// settings. A log gives only a lower bound: it assumes 16 bits if the log does not show more, and ignores copies that
// some trainers make. It stays silent if the states are spread over GPUs or offloaded (sharding, offloading, pipelines,
// adapters), because the share of one GPU is then unknown.
#include "base/ascii.h"
#include "estimate/model_memory.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

bool is_spread(const Facts& facts) {
  for (const std::string_view name : {"framework.deepspeed", "framework.megatron", "framework.serving", "settings.fsdp",
                                      "settings.lora", "framework.tensorflow", "framework.jax"})
    if (facts.is_true(name)) return true;
  return facts.number("settings.zero_stage").value_or(0) > 0 ||
         facts.number("settings.tensor_parallel").value_or(1) > 1 ||
         facts.number("settings.pipeline_parallel").value_or(1) > 1;
}

const std::string* find_text(const Facts& facts, std::string_view name) {
  const Fact* fact = facts.find(name);
  return fact != nullptr ? std::get_if<std::string>(&fact->value) : nullptr;
}

/// The smallest optimizer of the family that the log names; without a name, one without states.
Optimizer find_optimizer(const Facts& facts) {
  const std::string* name = find_text(facts, "settings.optimizer");
  if (name == nullptr) return Optimizer::sgd;
  const std::string lowered = lower(*name);
  const auto mentions = [&](std::string_view word) { return lowered.find(word) != lowered.npos; };
  if (mentions("8bit") || mentions("paged")) return mentions("paged") ? Optimizer::sgd : Optimizer::adam_8bit;
  if (mentions("factor")) return Optimizer::adafactor;
  if (mentions("adam")) return Optimizer::adam;
  return mentions("lion") ? Optimizer::lion : Optimizer::sgd;
}

}  // namespace

void model_facts(Facts& facts) {
  const auto parameters = facts.number("settings.parameters"), trained = facts.number("settings.trainable_parameters");
  if (!parameters || is_spread(facts)) return;
  ModelShape model;
  model.parameters = whole_number(*parameters);
  if (trained) model.trainable = whole_number(*trained);
  RunShape run;
  const std::string* precision = find_text(facts, "settings.precision");
  run.precision = precision != nullptr && *precision == "fp32" ? Precision::fp32 : Precision::pure_16bit;
  run.optimizer = find_optimizer(facts);
  const Fact* from = facts.find("settings.parameters");
  double states = 0;
  for (const Term& term : compute_budget(model, run).terms) {
    if (term.id == "weights")
      facts.set("model.weights_least", Value{Number{static_cast<double>(term.bytes.count), 0}}, from->evidence);
    if (term.id == "optimizer" && term.bytes.count > 0)
      facts.set("model.moments_least", Value{Number{static_cast<double>(term.bytes.count), 0}}, from->evidence);
    if (term.id == "weights" || term.id == "gradients" || term.id == "optimizer")
      states += static_cast<double>(term.bytes.count);
  }
  // Without settings of a training, there may be no gradients.
  if (states > 0 && (trained || facts.find("settings.optimizer") != nullptr))
    facts.set("model.states_least", Value{Number{states, 0}}, from->evidence);
}

}  // namespace oomdoctor
