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

}  // namespace oomdoctor
