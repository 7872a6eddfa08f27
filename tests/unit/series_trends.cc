// Trends that are computed when they are first read.
#include "facts/series_trends.h"

#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "catch.h"
#include "made_cases.h"

namespace oomdoctor {
namespace {

using namespace testing;

std::vector<Series> growing_and_level() {
  return {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 60), ramp(Metric::reserved, 9 * gib, 0, 60)};
}

Trends trends_of_all(const std::vector<Series>& series) {
  std::vector<TrendInputs> inputs;
  for (const Series& s : series) inputs.push_back({&s, {}, true, 24 * gib});
  return Trends(std::move(inputs));
}

}  // namespace

TEST_CASE("a trend is computed when it is first read", "[trends]") {
  const std::vector<Series> series = growing_and_level();
  const Trends trends = trends_of_all(series);
  CHECK_FALSE(trends.is_computed(0));
  CHECK(trends[0].leak);
  CHECK(trends[0].capacity == 24 * gib);
  CHECK(trends.is_computed(0));
  CHECK_FALSE(trends.is_computed(1));
  trends.compute_all(2);
  CHECK(trends.is_computed(1));
  CHECK_FALSE(trends[1].leak);
}

TEST_CASE("a series that fills no memory has an empty trend", "[trends]") {
  const std::vector<Series> series = growing_and_level();
  const Trends trends({{&series[0], {}, false, std::nullopt}});
  CHECK(trends[0].shape == Shape::too_short);
  CHECK(trends[0].why.empty());
}

TEST_CASE("trends follow their series into another vector", "[trends]") {
  std::vector<Series> series = growing_and_level();
  Trends trends = trends_of_all(series);
  const std::vector<Series> moved = std::move(series);
  const Trends kept = std::move(trends);
  CHECK(kept[0].leak);
}

TEST_CASE("threads that read a trend together get the same one", "[trends][threads]") {
  const std::vector<Series> series = growing_and_level();
  for (int round = 0; round < 20; ++round) {
    const Trends trends = trends_of_all(series);
    std::vector<const Trend*> seen(4);
    {
      std::vector<std::jthread> threads;
      for (const Trend*& place : seen) threads.emplace_back([&] { place = &trends[0]; });
    }
    CHECK(std::set(seen.begin(), seen.end()).size() == 1);
    CHECK(seen[0]->leak);
  }
}

TEST_CASE("the facts of a failure need the trend of the main series", "[trends]") {
  AnalysisOptions as_needed;
  as_needed.all_trends = false;
  ScanResult scan = failed_at(1000, growing_and_level());
  const Analysis analysis = trends_of(scan, as_needed);
  CHECK(analysis.facts.is_true("trend.leak"));
  CHECK(analysis.trends.is_computed(*analysis.main_series));
  CHECK_FALSE(analysis.trends.is_computed(1 - *analysis.main_series));
}

}  // namespace oomdoctor
