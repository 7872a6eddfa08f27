#include "catch.h"
#include "made_cases.h"

namespace oomdoctor {

using namespace testing;

namespace {

Series of_rank(Series series, int rank) {
  series.origin.rank = rank;
  return series;
}

}  // namespace

TEST_CASE("a cache that grows next to constant tensors", "[trends]") {
  ScanResult scan =
      failed_at(1000, {ramp(Metric::allocated, 8 * gib, 0, 60), ramp(Metric::reserved, 9 * gib, 0.2 * gib, 60)});
  const Facts facts = trends_of(scan).facts;
  CHECK(facts.is_true("trend.gap_grows"));
  CHECK(facts.number("trend.gap").value() == Approx((9 + 0.2 * 59 - 8) * gib));
  CHECK(is_false(facts, "trend.leak"));

  ScanResult both = failed_at(
      1000, {ramp(Metric::allocated, 8 * gib, 0.2 * gib, 60), ramp(Metric::reserved, 9 * gib, 0.2 * gib, 60)});
  CHECK_FALSE(trends_of(both).facts.is_true("trend.gap_grows"));
  ScanResult still = failed_at(1000, {ramp(Metric::allocated, 8 * gib, 0, 60), ramp(Metric::reserved, 9 * gib, 0, 60)});
  CHECK_FALSE(trends_of(still).facts.is_true("trend.gap_grows"));
}

TEST_CASE("a GPU that fills while the allocator's memory is constant", "[trends]") {
  ScanResult outside =
      failed_at(1000, {ramp(Metric::used, 8 * gib, 0.2 * gib, 60), ramp(Metric::reserved, 6 * gib, 0, 60)});
  CHECK(trends_of(outside).facts.is_true("trend.external_grows"));

  ScanResult inside =
      failed_at(1000, {ramp(Metric::used, 8 * gib, 0.2 * gib, 60), ramp(Metric::reserved, 6 * gib, 0.2 * gib, 60)});
  CHECK(trends_of(inside).facts.find("trend.external_grows") == nullptr);

  ScanResult steady = failed_at(1000, {ramp(Metric::used, 8 * gib, 0, 60), ramp(Metric::reserved, 6 * gib, 0, 60)});
  CHECK(is_false(trends_of(steady).facts, "trend.external_grows"));

  ScanResult elsewhere =
      failed_at(1000, {ramp(Metric::used, 8 * gib, 0.2 * gib, 60), ramp(Metric::reserved, 6 * gib, 0, 60)});
  elsewhere.series[0].origin.device = 1;
  elsewhere.series[1].origin.device = 0;
  CHECK(trends_of(elsewhere).facts.find("trend.external_grows") == nullptr);
}

TEST_CASE("the rank that grows alone is named", "[trends]") {
  ScanResult scan;
  for (int rank = 0; rank < 4; ++rank)
    scan.series.push_back(of_rank(ramp(Metric::allocated, 6 * gib, rank == 2 ? 0.1 * gib : 0, 60), rank));
  const Analysis analysis = trends_of(scan);
  CHECK(analysis.facts.number("ranks.compared") == 4);
  CHECK(analysis.facts.number("ranks.growing") == 1);
  CHECK(analysis.facts.number("ranks.fullest") == 2);
  CHECK(*analysis.facts.number("ranks.skew") == Approx(5.9 / 6));
  REQUIRE(analysis.notes.size() == 1);
  CHECK(analysis.notes[0].text == "only rank 2 of 4 grows: look for what it does and the others do not");

  ScanResult all;
  for (int rank = 0; rank < 4; ++rank)
    all.series.push_back(of_rank(ramp(Metric::allocated, 6 * gib, 0.1 * gib, 60), rank));
  CHECK(trends_of(all).notes.empty());
}

TEST_CASE("the tensor that a step keeps is named by its size", "[trends]") {
  const auto facts_of = [](double slope, double vocabulary) {
    Facts facts;
    const auto number = [](double v) { return Value{Number{v, 0}}; };
    facts.set("trend.leak", Value{true});
    facts.set("trend.accelerating", Value{false});
    facts.set("trend.slope", number(slope));
    facts.set("settings.batch_size", number(4));
    facts.set("settings.sequence_length", number(2048));
    facts.set("settings.vocabulary", number(vocabulary));
    increment_fact(facts);
    return facts;
  };
  const double logits = 4.0 * 2048 * 32000 * 4;
  const auto increment = [](const Facts& facts) { return std::get<std::string>(facts.find("trend.increment")->value); };
  CHECK(increment(facts_of(logits * 1.01, 32000)) ==
        "each step keeps the logits of a batch (4 × 2048 × 32000 × 4 bytes)");
  CHECK(increment(facts_of(logits / 20, 32000)) ==
        "every 10 steps it keeps the logits of a batch (4 × 2048 × 32000 × 2 bytes)");
  CHECK(facts_of(logits * 1.1, 32000).find("trend.increment") == nullptr);
}

}  // namespace oomdoctor
