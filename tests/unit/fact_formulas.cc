#include "catch.h"
#include "facts/facts.h"

namespace oomdoctor {

TEST_CASE("every formula belongs to a fact and names only facts") {
  CHECK(facts_with_formula().size() > 40);
  for (const std::string_view name : facts_with_formula()) {
    CAPTURE(name);
    CHECK(find_fact_spec(name) != nullptr);
    CHECK_FALSE(find_formula(name).empty());
  }
  CHECK(find_formula("account.frag_ratio") == "unallocated ÷ reserved");
  CHECK(find_formula("oom.request").empty());
}

TEST_CASE("every fact that is computed from settings has its formula") {
  // No log prints these groups: each fact that is a number is derived.
  for (const FactSpec& spec : fact_specs()) {
    const bool derived =
        spec.unit != FactUnit::text && (spec.name.starts_with("advice.") || spec.name.starts_with("model."));
    CAPTURE(spec.name);
    if (derived && spec.name != "advice.shm_to") CHECK_FALSE(find_formula(spec.name).empty());
  }
}

}  // namespace oomdoctor
