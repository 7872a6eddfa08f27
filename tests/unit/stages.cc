// Whole runs: the growth of the last working stage, whatever precedes it, interrupts it or follows it.
#include "growth/stages.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "catch.h"
#include "curves.h"
#include "growth/growth.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

namespace {

struct Run {
  std::function<double(int)> memory;  ///< GB at value i
  double noise = 0.02;
  bool timed = false;
  int n = 200;
};

Series series_of(const Run& run) {
  Noise source(11);
  Series series;
  series.metric = run.timed ? Metric::used : Metric::allocated;
  series.kind = run.timed ? SeriesKind::sampled_gauge : SeriesKind::gauge;
  series.quantum = 0.001 * GB;
  series.has_times = run.timed;
  series.has_steps = !run.timed;
  for (int i = 0; i < run.n; ++i)
    series.add(i, run.timed ? i : 0, rounded(GB * (run.memory(i) + run.noise * source.normal()), series.quantum));
  return series;
}

std::string kinds_of(const Trend& trend) {
  std::string kinds;
  for (const Stage& stage : trend.stages) kinds += (kinds.empty() ? "" : " ") + std::string(to_string(stage.kind));
  return kinds;
}

void expect_leak(const Run& run, double rate, const std::string& kinds, double since) {
  const Trend trend = analyse_growth(series_of(run), {80 * GB, {}});
  INFO(kinds_of(trend) << ": " << trend.why);
  CHECK(trend.leak);
  CHECK(trend.slope.value == Approx(rate * GB).epsilon(0.05));
  CHECK(kinds_of(trend) == kinds);
  CHECK(trend.working.first_step == Approx(since).margin(1));
  REQUIRE(trend.forecast);
  CHECK(trend.forecast->step_low <= trend.forecast->step);
}

}  // namespace

TEST_CASE("a leak after an idle export and a load has a separate rate", "[stages]") {
  expect_leak({.memory = [](int i) { return i < 20   ? 0.6
                                            : i < 30 ? 0.6 + 2.94 * (i - 20)
                                                     : 30 + 0.05 * (i - 30); },
               .timed = true},
              0.05, "idle load working", 30);
}

TEST_CASE("a single low value before the model load is not part of the trend", "[stages]") {
  for (const int n : {24, 120, 600})
    expect_leak({.memory = [=](int i) { return i == 0 ? 8 : 15.5 + 4.0 * i / n; }, .noise = 0.005, .n = n}, 4.0 / n,
                "load working", 1);
}

TEST_CASE("a leak after several load steps is found", "[stages]") {
  expect_leak({.memory =
                   [](int i) {
                     return i < 5 ? 0.5 : i < 12 ? 11 : i < 20 ? 22 : i < 30 ? 33 : 40 + 0.04 * (i - 30);
                   }},
              0.04, "idle load working", 30);
}

TEST_CASE("memory that is released at the end does not hide a leak", "[stages]") {
  expect_leak({.memory = [](int i) { return i < 15    ? 0.5
                                            : i < 180 ? 30 + 0.05 * (i - 15)
                                                      : 0.5; }, .timed = true},
              0.05, "idle working release", 15);
}

TEST_CASE("after the release, all of the rest is idle", "[stages]") {
  for (const bool timed : {false, true})
    expect_leak({.memory = [](int i) { return i < 160   ? 30 + 0.05 * i
                                              : i < 180 ? 2.5
                                                        : 0.5; }, .timed = timed}, 0.05,
                "working release idle", 0);
}

TEST_CASE("evaluations between the training segments are left out", "[stages]") {
  for (const double height : {6.0, -9.0}) {
    const Run run{.memory = [=](int i) { return 30 + 0.05 * i + (i % 40 >= 32 ? height : 0); }};
    const Trend trend = analyse_growth(series_of(run), {80 * GB, {}});
    INFO(kinds_of(trend) << ": " << trend.why);
    CHECK(trend.leak);
    CHECK(trend.slope.value == Approx(0.05 * GB).epsilon(0.03));
    CHECK(kinds_of(trend) ==
          "working evaluation working evaluation working evaluation working evaluation working "
          "evaluation");
    const Run flat{.memory = [=](int i) { return 30 + (i % 40 >= 32 ? height : 0); }};
    CHECK_FALSE(analyse_growth(series_of(flat), {80 * GB, {}}).leak);
  }
}

TEST_CASE("a pause takes time, not growth", "[stages]") {
  const auto worked = [](int i) { return i < 80 ? i : i < 120 ? 80 : i - 40; };
  expect_leak({.memory = [=](int i) { return 20 + 0.1 * worked(i); }, .timed = true}, 0.1, "working pause working", 0);
}

TEST_CASE("the second job is judged separately", "[stages]") {
  const auto two = [](double second) {
    return Run{.memory = [=](int i) { return i < 80 ? 25.0 : i < 95 ? 0.5 : 40 + second * (i - 95); }, .timed = true};
  };
  expect_leak(two(0.06), 0.06, "working idle working", 95);
  const Trend flat = analyse_growth(series_of(two(0)), {80 * GB, {}});
  CHECK_FALSE(flat.leak);
}

TEST_CASE("growth that was released before is no leak when it comes again", "[stages]") {
  for (const int cut : {150, 165, 178}) {
    const Run run{.memory = [](int i) { return i < 10 ? 0.5 : 20 + 0.2 * ((i - 10) % 45); }, .n = cut};
    INFO("n = " << cut);
    CHECK_FALSE(analyse_growth(series_of(run), {80 * GB, {}}).leak);
  }
}

TEST_CASE("growth that levels off after the start-up is reported with its level and position", "[stages]") {
  const Run run{.memory = [](int i) { return i < 6 ? 2 : 20 + 6 * (1 - std::exp(-(i - 6) / 20.0)); }};
  const Trend trend = analyse_growth(series_of(run), {80 * GB, {}});
  CHECK_FALSE(trend.leak);
  CHECK((trend.shape == Shape::saturating || trend.shape == Shape::warmup));
  CHECK(trend.why.find("at 24.2") != std::string::npos);  // 26 GB in GiB
}

TEST_CASE("at most one of twenty series of wandering noise is called a leak", "[stages]") {
  for (const auto& [n, series] : {std::pair{20, 1000u}, {200, 200u}}) {
    unsigned alarms = 0;
    for (unsigned seed = 1; seed <= series; ++seed) {
      Noise source(7000 + seed);
      double noise = 0;
      const Run run{
          .memory = [&](int) { return 20 + (noise = 0.8 * noise + 0.3 * source.normal()); }, .noise = 0, .n = n};
      alarms += analyse_growth(series_of(run), {80 * GB, {}}).leak;
    }
    INFO("n = " << n << ": " << alarms << " of " << series);
    CHECK(alarms <= series / 20);
  }
}
