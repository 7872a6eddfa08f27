#include "catch.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

Facts facts_of(double parameters, std::optional<double> trained, const std::string& precision,
               const std::string& optimizer) {
  Facts facts;
  facts.set("settings.parameters", Value{Number{parameters, 0}});
  if (trained) facts.set("settings.trainable_parameters", Value{Number{*trained, 0}});
  if (!precision.empty()) facts.set("settings.precision", Value{precision});
  if (!optimizer.empty()) facts.set("settings.optimizer", Value{optimizer});
  return facts;
}

std::optional<double> states(Facts facts) {
  model_facts(facts);
  return facts.number("model.states_least");
}

}  // namespace

TEST_CASE("states take at least the bytes that the parameter count implies") {
  // fp32 Adam: 4 + 4 + 8 bytes; all in 16 bits: 2 + 2 + 4; 8-bit Adam: 2 + 2 + 2.
  CHECK(*states(facts_of(7e9, 7e9, "fp32", "AdamW")) == Approx(16 * 7e9).epsilon(0.01));
  CHECK(*states(facts_of(7e9, 7e9, "bf16", "adamw_torch")) == Approx(8 * 7e9).epsilon(0.01));
  CHECK(*states(facts_of(7e9, 7e9, "", "adamw_8bit")) == Approx(6 * 7e9).epsilon(0.02));
  CHECK(*states(facts_of(7e9, 7e9, "bf16", "SGD")) == Approx(4 * 7e9).epsilon(0.01));
  // Paged states may be in host memory. Frozen weights have no gradients.
  CHECK(*states(facts_of(7e9, 7e9, "bf16", "paged_adamw_8bit")) == Approx(4 * 7e9).epsilon(0.01));
  CHECK(*states(facts_of(7e9, 1e9, "bf16", "adamw_torch")) == Approx(2 * 7e9 + 6 * 1e9).epsilon(0.01));
}

TEST_CASE("sharded or partly trained parameters give no number of bytes") {
  CHECK_FALSE(states(facts_of(7e9, {}, "bf16", "")));
  for (const std::string_view name : {"framework.deepspeed", "settings.fsdp", "settings.lora", "framework.megatron"}) {
    Facts facts = facts_of(7e9, 7e9, "bf16", "adamw_torch");
    facts.set(name, Value{true});
    CHECK_FALSE(states(facts));
  }
  Facts sharded = facts_of(7e9, 7e9, "bf16", "adamw_torch");
  sharded.set("settings.zero_stage", Value{Number{2, 0}});
  CHECK_FALSE(states(sharded));
}

TEST_CASE("the name of a served model gives the weights of each GPU") {
  const auto weights = [](const std::string& name, const std::string& quantization) {
    Facts facts = facts_of(0, {}, "bf16", "");
    facts.set("settings.engine_model", Value{name});
    facts.set("settings.quantization", Value{quantization});
    facts.set("settings.tensor_parallel", Value{Number{4, 0}});
    facts.set("settings.pipeline_parallel", Value{Number{2, 0}});
    model_facts(facts);
    return facts.number("model.named_weights").value_or(0);
  };
  CHECK(weights("acme/Some-70B-Instruct", "None") == 2 * 70e9 / 8);
  CHECK(weights("acme/mixed-110b-A12b", "None") == 2 * 110e9 / 8);
  CHECK(weights("acme/tiny_1.5B", "None") == 2 * 1.5e9 / 8);
  for (const std::string name : {"acme/Mix-8x7B", "acme/7B", "acme/Some-70Billion", "acme/Some-B", "acme/Some-7"})
    CHECK(weights(name, "None") == 0);
  CHECK(weights("acme/Some-70B-Instruct", "awq") == 0);
}

}  // namespace oomdoctor
