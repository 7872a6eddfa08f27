#include "analysis/facts.h"
#include "catch.h"

namespace oomdoctor {

TEST_CASE("formulas are those of facts, and name what facts name") {
  CHECK(facts_with_formula().size() > 40);
  for (const std::string_view name : facts_with_formula()) {
    CAPTURE(name);
    CHECK(find_fact_spec(name) != nullptr);
    CHECK_FALSE(formula_of(name).empty());
  }
  CHECK(formula_of("account.frag_ratio") == "unallocated ÷ reserved");
  CHECK(formula_of("oom.request").empty());
}

TEST_CASE("what the settings compute has its formula") {
  // Groups of which nothing is printed: each fact that is a number is derived.
  for (const FactSpec& spec : fact_specs()) {
    const bool derived = spec.name.starts_with("advice.") || spec.name.starts_with("model.");
    CAPTURE(spec.name);
    if (derived && spec.name != "advice.shm_to") CHECK_FALSE(formula_of(spec.name).empty());
  }
}

}  // namespace oomdoctor
