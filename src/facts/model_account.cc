// A lower bound for the memory that does not depend on the batch: weights, gradients and optimizer states by the
// settings. A log gives only a lower bound: it assumes 16 bits if the log does not show more, and ignores copies that
// some trainers make. It stays silent if the states are spread over GPUs or offloaded (sharding, offloading, pipelines,
// adapters), because the share of one GPU is then unknown.
#include <algorithm>

#include "base/ascii.h"
#include "base/parse_whole.h"
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

/// The smallest optimizer of the family that the log names; without a name, one without states.
Optimizer find_optimizer(const Facts& facts) {
  const auto name = facts.text("settings.optimizer");
  if (!name) return Optimizer::sgd;
  const std::string lowered = lower(*name);
  const auto mentions = [&](std::string_view word) { return lowered.find(word) != lowered.npos; };
  if (mentions("8bit") || mentions("paged")) return mentions("paged") ? Optimizer::sgd : Optimizer::adam_8bit;
  if (mentions("factor")) return Optimizer::adafactor;
  if (mentions("adam")) return Optimizer::adam;
  return mentions("lion") ? Optimizer::lion : Optimizer::sgd;
}

/// The parameters in the name of a model: "org/Some-70B-Instruct"; of "110B-A12B" all, not the active ones. 0 if the
/// name has none, or counts experts: "8x7B".
double parameters_in_name(std::string_view name) {
  constexpr double billion = 1e9;
  constexpr std::string_view separators = "-_";
  double billions = 0;
  for (std::size_t at = name.find_first_of(separators); at != name.npos; at = name.find_first_of(separators, at + 1)) {
    const std::string_view part = name.substr(at + 1, name.find_first_of(separators, at + 1) - at - 1);
    if (part.empty() || !is_digit(part.front()) || lower(part.back()) != 'b') continue;
    billions = std::max(billions, parse_whole<double>(part.substr(0, part.size() - 1)).value_or(0));
  }
  return billions * billion;
}

/// The weights that an engine loads on each GPU, if nothing quantises them.
void named_weights(Facts& facts) {
  constexpr double bytes_each = 2;
  const Fact* model = facts.find("settings.engine_model");
  const auto gpus = facts.number("settings.tensor_parallel");
  const auto precision = facts.text("settings.precision");
  if (model == nullptr || facts.text("settings.quantization") != "None" || !gpus || *gpus <= 0 ||
      (precision != "bf16" && precision != "fp16"))
    return;
  const double parameters = parameters_in_name(std::get<std::string>(model->value)),
               stages = std::max(facts.number("settings.pipeline_parallel").value_or(1), 1.0);
  if (parameters > 0)
    facts.set("model.named_weights", Value{Number{bytes_each * parameters / (*gpus * stages), 0}}, model->evidence);
}

}  // namespace

void model_facts(Facts& facts) {
  named_weights(facts);
  const auto parameters = facts.number("settings.parameters"), trained = facts.number("settings.trainable_parameters");
  if (!parameters || is_spread(facts)) return;
  // Quantised weights: the count of the packed parameters is not known.
  const std::string type = facts.text("settings.load_type").value_or("");
  if (type.ends_with(" bits") && !type.starts_with("16")) return;
  if (facts.is_true("settings.unsloth") && type.empty()) return;  // it loads 4 bits by default
  ModelShape model;
  model.parameters = whole_number(*parameters);
  if (trained) model.trainable = whole_number(*trained);
  RunShape run;
  run.precision = facts.text("settings.precision") == "fp32" ? Precision::fp32 : Precision::pure_16bit;
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
