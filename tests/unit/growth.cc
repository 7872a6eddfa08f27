#include "analysis/growth.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "catch.h"

using namespace oomdoctor;

namespace {

constexpr double GB = 1e9;

Series series_of(const std::vector<double>& values, double quantum = 0.01 * GB, double every = 10) {
  Series series;
  series.metric = Metric::allocated;
  series.quantum = quantum;
  series.has_steps = true;
  for (std::size_t i = 0; i < values.size(); ++i)
    series.add(every * static_cast<double>(i), 0, std::round(values[i] / quantum) * quantum);
  return series;
}

/// Fixed seeds and own normal numbers: the same series on every machine.
class Noise {
 public:
  explicit Noise(unsigned seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937_64 engine_;
};

Trend trend_of(int n, const std::function<double(int, double)>& curve, double noise = 0, unsigned seed = 1,
               std::optional<double> capacity = 30 * GB) {
  Noise source(seed);
  std::vector<double> values;
  for (int i = 0; i < n; ++i)
    values.push_back(GB * curve(i, static_cast<double>(i) / (n - 1)) + noise * GB * source.normal());
  return growth_of(series_of(values), {capacity, {}});
}

Series accelerating_run() {
  Series series;
  series.quantum = 0.1 * GB;
  series.has_steps = true;
  const std::vector<double> values{18.2, 18.5, 18.9, 19.4, 20.1, 20.9, 21.8, 22.9, 24.2};
  for (std::size_t i = 0; i < values.size(); ++i) series.add(100.0 * static_cast<double>(i + 1), 0, values[i] * GB);
  return series;
}

}  // namespace

TEST_CASE("nine values that accelerate into a 24 GB card") {
  const Trend trend = growth_of(accelerating_run(), {23.69 * GiB, 1000.0});
  CHECK(trend.leak);
  CHECK(trend.shape == Shape::accelerating);
  CHECK(trend.model == "quadratic");
  CHECK(trend.confidence > 0.9);
  CHECK(trend.slope.value == Approx(7.42e6).epsilon(0.001));
  CHECK(trend.acceleration.value == Approx(13920).margin(30));
  CHECK(trend.acceleration.high - trend.acceleration.value == Approx(920).margin(100));
  CHECK(trend.acceleration.low > 0);
  REQUIRE(trend.forecast);
  CHECK(trend.forecast->step == Approx(993.6).margin(1));
  CHECK(trend.forecast->step_low > 950);
  CHECK(trend.forecast->step_low < 990);
  REQUIRE(trend.forecast->step_high);
  CHECK(*trend.forecast->step_high >= 1000);
  CHECK(*trend.forecast->step_high < 1030);
  CHECK_FALSE(trend.forecast->beyond_data);
  CHECK(trend.why.find("GiB") != std::string::npos);
  CHECK(trend.models.front().first == "quadratic");
  CHECK(trend.models.size() > 5);
}

TEST_CASE("jitter of half a print step does not move the verdict") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    for (const double y : {18.2, 18.5, 18.9, 19.4, 20.1, 20.9, 21.8, 22.9, 24.2})
      values.push_back((y + 0.1 * (source.uniform() - 0.5)) * GB);
    const Trend trend = growth_of(series_of(values, 0.001 * GB, 100));
    CHECK(trend.leak);
    CHECK(trend.shape == Shape::accelerating);
    CHECK(trend.acceleration.value == Approx(13900).margin(1100));
  }
}

TEST_CASE("leaks of every kind") {
  const auto leaks = [](const Trend& trend, Shape shape) { return trend.leak && trend.shape == shape; };
  for (const int n : {20, 60, 300}) {
    INFO("n = " << n);
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 4 * t; }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + t + 4 * t * t; }, 0.05),
                Shape::accelerating));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 0.3 * std::exp(3 * t); }, 0.03),
                Shape::accelerating));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 6 * std::max(0.0, t - 0.5); }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 3 * t + 4 * std::max(0.0, t - 0.5); }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + std::floor(6.99 * t); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [&](int i, double t) { return 10 + 3 * t + (i % (n / 5)) / (n / 5.0); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int i, double t) { return 10 + 4 * t + (i % 13 == 5 ? 5 : 0); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int i, double t) { return 10 + 4 * t + std::min(i, 3); }, 0.02),
                Shape::linear));
  }
}

TEST_CASE("what is no leak, and its shape") {
  const auto is = [](const Trend& trend, Shape shape) { return !trend.leak && trend.shape == shape; };
  for (const int n : {25, 60, 240}) {
    INFO("n = " << n);
    CHECK(is(trend_of(n, [](int, double) { return 10.0; }), Shape::flat));
    CHECK(is(trend_of(
                 n, [](int, double) { return 10.0; }, 0.02),
             Shape::flat));
    CHECK(is(trend_of(
                 n, [](int, double) { return 10.0; }, 0.5),
             Shape::noisy));
    CHECK(is(trend_of(
                 n, [](int i, double) { return 10 + 0.7 * std::min(i, 3); }, 0.01),
             Shape::warmup));
    CHECK(is(trend_of(
                 n, [](int i, double) { return i == 0 ? 4.0 : 10.0; }, 0.01),
             Shape::warmup));
    CHECK(is(trend_of(
                 n, [](int, double t) { return t > 0.4 ? 12.0 : 10.0; }, 0.02),
             Shape::step));
    CHECK(is(trend_of(
                 n, [](int, double t) { return 10 + (t > 0.3) + (t > 0.7); }, 0.02),
             Shape::step));
    CHECK(is(trend_of(
                 n, [](int, double t) { return 10 + 3 * (1 - std::exp(-t / 0.15)); }, 0.02),
             Shape::saturating));
    CHECK(is(trend_of(
                 n, [](int i, double) { return 10 + (i % 12) / 6.0; }, 0.02),
             Shape::sawtooth));
    CHECK(is(trend_of(
                 n, [](int i, double) { return i == 11 ? 15.0 : 10.0; }, 0.02),
             Shape::spike));
    CHECK_FALSE(trend_of(
                    n, [](int, double t) { return 14 - 4 * t; }, 0.02)
                    .leak);
    CHECK_FALSE(trend_of(
                    n, [](int, double t) { return 10 + 4 * std::fmod(2 * t, 1.0); }, 0.02)
                    .leak);
  }
}

TEST_CASE("lengths that vary are no leak") {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    for (int i = 0; i < 80; ++i) values.push_back((10 + std::abs(source.normal())) * GB);
    alarms += growth_of(series_of(values), {24 * GB, {}}).leak ? 1 : 0;
  }
  CHECK(alarms <= 1);
}

TEST_CASE("autocorrelated noise is rarely called a leak") {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    double state = source.normal();
    for (int i = 0; i < 20; ++i) {
      state = 0.8 * state + 0.6 * source.normal();
      values.push_back((10 + 0.3 * state) * GB);
    }
    alarms += growth_of(series_of(values, 0.1 * GB)).leak ? 1 : 0;
  }
  CHECK(alarms <= 15);
}

TEST_CASE("rounding makes no leak") {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back((10.05 + 0.02 * source.normal()) * GB);
    alarms += growth_of(series_of(values, 0.1 * GB)).leak ? 1 : 0;
  }
  CHECK(alarms == 0);
}

TEST_CASE("a running maximum of steady work does not leak, one of growing work does") {
  int alarms = 0, found = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Noise source(seed);
    std::vector<double> steady, growing;
    double highest = 0, higher = 0;
    for (int i = 0; i < 100; ++i) {
      const double value = 10 + std::abs(source.normal());
      steady.push_back(GB * (highest = std::max(highest, value)));
      growing.push_back(GB * (higher = std::max(higher, value + 0.2 * i)));
    }
    Series maximum = series_of(steady);
    maximum.kind = SeriesKind::running_maximum;
    alarms += growth_of(maximum).leak ? 1 : 0;
    maximum = series_of(growing);
    maximum.kind = SeriesKind::running_maximum;
    found += growth_of(maximum).leak ? 1 : 0;
  }
  CHECK(alarms <= 2);
  CHECK(found >= 38);
}

TEST_CASE("growth too small to matter is said, not claimed") {
  const Trend trend = trend_of(
      100, [](int, double t) { return 10 + 0.1 * t; }, 0, 1, 80 * GB);
  CHECK_FALSE(trend.leak);
  CHECK(trend.why.find("too little to matter") != std::string::npos);
  CHECK(trend_of(
            100, [](int, double t) { return 10 + 0.1 * t; }, 0, 1, std::nullopt)
            .leak);
}

TEST_CASE("noise says how small a leak it could hide") {
  const Trend quiet = trend_of(
      60, [](int, double) { return 10.0; }, 0.02);
  const Trend loud = trend_of(
      60, [](int, double) { return 10.0; }, 0.5);
  CHECK(quiet.detectable_slope > 0);
  CHECK(loud.detectable_slope > 5 * quiet.detectable_slope);
  CHECK(loud.slope.low < 0);
  CHECK(loud.slope.high > 0);
}

TEST_CASE("where it began, how often it repeats, where it jumped") {
  const Trend late = trend_of(
      60, [](int i, double) { return 10 + 0.1 * std::max(0, i - 30); }, 0.01);
  REQUIRE(late.onset_step);
  CHECK(*late.onset_step == Approx(300).margin(20));
  const Trend teeth = trend_of(
      96, [](int i, double) { return 10 + (i % 12) / 12.0; }, 0.01);
  REQUIRE(teeth.period);
  CHECK(*teeth.period == Approx(120).margin(2));
  const Trend step = trend_of(
      60, [](int i, double) { return i < 20 ? 10.0 : 12.0; }, 0.01);
  REQUIRE(step.change_points.size() == 1);
  CHECK(step.change_points[0] == Approx(195).margin(1));
}

TEST_CASE("the forecast covers what comes, about nine times in ten") {
  int covered = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Trend trend = trend_of(
        50, [](int, double t) { return 10 + 5 * t; }, 0.2, seed, 20 * GB);
    REQUIRE(trend.forecast);
    CHECK(trend.forecast->capacity == 20 * GB);
    CHECK_FALSE(trend.forecast->beyond_data != (trend.forecast->step > 980));
    covered += trend.forecast->step_low <= 980 && trend.forecast->step_high.value_or(1e18) >= 980 ? 1 : 0;
  }
  CHECK(covered >= 50);
  CHECK_FALSE(trend_of(50, [](int, double) { return 10.0; }).forecast);
  CHECK_FALSE(trend_of(
                  50, [](int, double t) { return 10 + 5 * t; }, 0, 1, std::nullopt)
                  .forecast);
}

TEST_CASE("the last run counts, and epochs are one run") {
  Series restarted, calm, released, kept;
  for (Series* series : {&restarted, &calm, &released, &kept}) {
    series->metric = Metric::allocated;
    series->quantum = 0.01 * GB;
  }
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < 25; ++i) {
      restarted.add(i + 7 * run, 0, GB * (run == 1 ? 10 + 0.1 * i : 10));
      calm.add(i + 7 * run, 0, GB * (run == 0 ? 10 + 0.1 * i : 10));
    }
  for (int epoch = 0; epoch < 6; ++epoch)
    for (int i = 1; i <= 20; ++i) {
      released.add(10 * i, 0, GB * (10 + 0.1 * i));
      kept.add(10 * i, 0, GB * (10 + 0.1 * (20 * epoch + i)));
    }
  CHECK(growth_of(restarted).leak);
  CHECK_FALSE(growth_of(calm).leak);
  CHECK(growth_of(released).shape == Shape::sawtooth);
  CHECK(growth_of(kept).leak);
}

TEST_CASE("values behind the failure are ignored") {
  Series series;
  series.metric = Metric::allocated;
  series.quantum = 0.01 * GB;
  for (int i = 0; i < 40; ++i) series.add(i, 0, GB * (i < 30 ? 10 + 0.2 * i : 3));
  CHECK(growth_of(series, {20 * GB, 29.0}).leak);
  CHECK_FALSE(growth_of(series, {20 * GB, {}}).leak);
}

TEST_CASE("what is left is read upside down") {
  Series left;
  left.metric = Metric::free;
  left.quantum = 0.01 * GB;
  for (int i = 0; i < 40; ++i) left.add(i, 0, GB * (10 - 0.1 * i));
  const Trend trend = growth_of(left);
  CHECK(trend.leak);
  CHECK(trend.slope.value == Approx(-0.1 * GB));
  REQUIRE(trend.forecast);
  CHECK(trend.forecast->step == Approx(100).margin(1));
}

TEST_CASE("too short says so, and odd input is no error") {
  CHECK(growth_of(Series()).shape == Shape::too_short);
  const Trend four = growth_of(series_of({1 * GB, 2 * GB, 3 * GB, 4 * GB}));
  CHECK(four.shape == Shape::too_short);
  CHECK_FALSE(four.leak);
  CHECK_FALSE(four.why.empty());
  const Trend five = growth_of(series_of({1 * GB, 2 * GB, 3 * GB, 4 * GB, 5 * GB}));
  CHECK(five.leak);
  CHECK(five.confidence < 0.7);
  CHECK(growth_of(series_of(std::vector<double>(50, 0.0))).shape == Shape::flat);
  Series still;
  for (int i = 0; i < 30; ++i) still.add(7, 0, GB * i);
  CHECK(growth_of(still).leak);
  const Trend full = growth_of(series_of({5 * GB, 6 * GB, 7 * GB, 8 * GB, 9 * GB, 10 * GB}), {2 * GB, {}});
  REQUIRE(full.forecast);
  CHECK(full.forecast->step == Approx(0).margin(1));
}

TEST_CASE("the same series gives the same answer, in bounded time") {
  std::vector<double> values;
  Noise source(3);
  for (int i = 0; i < 20000; ++i) values.push_back(GB * (10 + 0.0003 * i + 0.2 * source.normal()));
  const Series series = series_of(values);
  const auto begin = std::chrono::steady_clock::now();
  const Trend first = growth_of(series, {40 * GB, {}}), second = growth_of(series, {40 * GB, {}});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));  // 20 ms each when optimised
  CHECK(first.leak);
  CHECK(first.why == second.why);
  REQUIRE(first.forecast);
  CHECK(first.forecast->step_low == second.forecast->step_low);
}
