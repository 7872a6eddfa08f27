// Shapes that no benchmark draws: restarts, gaps, changes of rate, noise without a variance.
#include <algorithm>
#include <cmath>
#include <vector>

#include "courses.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

TEST_CASE("shape: heavy tails hide neither a leak nor a level", "[shapes]") {
  int alarms = 0, found = 0, trials = 0;
  for (unsigned seed = 1; seed <= 18; ++seed)
    for (const int n : {12, 25, 60, 240}) {
      if (n == 240 && seed > 6) continue;
      Noise source(100 * seed + static_cast<unsigned>(n));
      ++trials;
      alarms += trend_of(n, [&](int, double) { return 10 + 0.1 * source.heavy(); }).leak;
      found += trend_of(n, [&](int, double t) { return 10 + 8 * t + 0.1 * source.heavy(); }).leak;
    }
  INFO(alarms << " alarms and " << found << " leaks of " << trials);
  CHECK(alarms <= 0.02 * trials);
  CHECK(found >= 0.95 * trials);
}

TEST_CASE("shape: after a restart only the last run counts", "[shapes]") {
  const auto runs = [](double first_by, double second_by, int second_from, int second_n) {
    Series series = series_at({}, {}, 0.01 * GB);
    for (int i = 0; i < 40; ++i) series.add(100 + 10 * i, 0, GB * (10 + first_by * i));
    for (int i = 0; i < second_n; ++i) series.add(second_from + 10 * i, 0, GB * (9 + second_by * i));
    return analyse_growth(series, {40 * GB, {}});
  };
  for (const int from : {0, 100, 300, 480}) {  // from the beginning, or from a checkpoint
    CHECK(runs(0, 0.2, from, 30).leak);
    CHECK_FALSE(runs(0.2, 0, from, 30).leak);
    CHECK(runs(0, 0.2, from, 8).leak);
    CHECK(runs(0.2, 0, from, 3).leak);  // three values are too few: the earlier run decides
  }
  // The level drops with the restart: that is not a release.
  CHECK(runs(0.2, 0.2, 0, 30).shape == Shape::linear);
}

TEST_CASE("shape: a short last run gets the slope of earlier runs if its values allow it", "[shapes]") {
  const auto trend_of_last = [](std::vector<int> lengths, double last_by, unsigned seed) {
    Series series = series_at({}, {}, 0.01 * GB);
    for (std::size_t run = 0; run < lengths.size(); ++run) {
      const double by = run + 1 == lengths.size() ? last_by : 0.25;
      const std::vector<double> values = values_of(
          lengths[run], [&](int i, double) { return 30 + by * i; }, 0.4, 100 * seed + static_cast<unsigned>(run));
      for (std::size_t i = 0; i < values.size(); ++i) series.add(10 * static_cast<double>(i), 0, values[i]);
    }
    return analyse_growth(series, {80 * GB, {}});
  };
  int found = 0, found_alone = 0, right = 0, alarms = 0;
  const int trials = 40;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    const Trend same = trend_of_last({30, 26, 33, 8}, 0.25, seed);
    found += same.leak;
    right += same.leak && std::abs(same.slope.value / (0.025 * GB) - 1) < 0.1;
    found_alone += trend_of_last({8}, 0.25, 100 * seed).leak;
    alarms += trend_of_last({30, 26, 33, 12}, 0, seed).leak;
    // The leak was partly fixed: the last run has a different slope.
    CHECK(trend_of_last({30, 26, 33, 25}, 0.1, seed).slope.value < 0.018 * GB);
  }
  INFO(found << " found, " << found_alone << " without the earlier runs, " << right << " right, " << alarms
             << " alarms");
  CHECK(found >= 0.8 * trials);
  CHECK(found >= found_alone + trials / 10);
  CHECK(right >= 0.9 * found);
  CHECK(alarms == 0);
  const Trend runs = trend_of_last({30, 26, 33, 10}, 0.25, 1);
  REQUIRE(runs.stages.size() >= 6);
  CHECK(runs.stages[0].last_step == 290);
  CHECK(runs.stages[1].kind == StageKind::restart);
}

TEST_CASE("shape: a slow leak, then a fast one", "[shapes]") {
  for (const double knee : {0.3, 0.5, 0.7})
    leaks({.curve = [=](int, double t) { return 10 + 2 * t + 10 * std::max(0.0, t - knee); },
           .lengths = {12, 25, 60, 2000}});
  leaks({.curve = [](int, double t) { return 10 + 8 * std::max(0.0, t - 0.5); }, .lengths = {12, 25, 60, 2000}});
}

TEST_CASE("shape: releases at irregular times", "[shapes]") {
  const auto teeth = [](double floor_by) {
    return [=](int, double t) {
      double since = 0;
      for (const double reset : {0.11, 0.29, 0.37, 0.55, 0.74, 0.83})
        if (t >= reset) since = reset;
      return 10 + floor_by * t + 12 * (t - since);
    };
  };
  holds({.curve = teeth(0), .lengths = {60, 240, 2000}});
  leaks({.curve = teeth(8), .lengths = {60, 240, 2000}, .capacity = 60 * GB});
}

TEST_CASE("shape: a staircase with unequal heights and pauses", "[shapes]") {
  const Curve stairs = [](int, double t) {
    double y = 10;
    for (int k = 0; k < 8; ++k)
      if (t >= (k + 0.6) / 8)
        y += std::vector<double>{0.6, 1.3, 0.8, 1.1, 0.5, 1.2, 0.9, 1.0}[static_cast<std::size_t>(k)];
    return y;
  };
  leaks({.curve = stairs, .lengths = {40, 60, 2000}});
  // Equal pauses and heights: a list that grows with every evaluation.
  leaks({.curve = [](int, double t) { return 10 + 1.1 * std::floor(7.99 * t); },
         .lengths = {25, 60, 2000},
         .shapes = {Shape::linear}});
}

TEST_CASE("shape: missing ranges of steps", "[shapes]") {
  for (const double by : {0.0, 0.01})
    for (const int n : {20, 60, 240}) {
      std::vector<double> steps, values;
      Noise source(static_cast<unsigned>(n));
      for (int i = 0; i < n; ++i) {
        if (i > n / 4 && i < n / 2) continue;
        if (i > 3 * n / 4 && i < 4 * n / 5) continue;
        steps.push_back(10 * i);
        values.push_back(GB * (10 + by * 10 * i + 0.02 * source.normal()));
      }
      const Trend trend = analyse_growth(series_at(steps, values), {60 * GB, {}});
      INFO("n = " << n << ": " << trend.why);
      CHECK(trend.leak == (by > 0));
      if (by > 0) CHECK(trend.shape == Shape::linear);
      if (by > 0) CHECK(trend.slope.value == Approx(by * GB).epsilon(0.03));
    }
}

TEST_CASE("shape: irregular distances between steps", "[shapes]") {
  for (unsigned seed = 1; seed <= 6; ++seed)
    for (const int n : {24, 60, 240}) {
      Noise source(seed);
      std::vector<double> steps, flat, grown, bounded;
      double step = 0;
      for (int i = 0; i < n; ++i) steps.push_back(step += 1 + std::floor(-40 * std::log(source.uniform())));
      for (const double at : steps) {
        const double t = (at - steps.front()) / (step - steps.front());
        flat.push_back(GB * (10 + 0.02 * source.normal()));
        grown.push_back(GB * (10 + 5 * t + 0.02 * source.normal()));
        bounded.push_back(GB * (10 + 5 * (1 - std::exp(-t / 0.15)) + 0.02 * source.normal()));
      }
      INFO("n = " << n << ", seed " << seed);
      CHECK_FALSE(analyse_growth(series_at(steps, flat), {40 * GB, {}}).leak);
      CHECK_FALSE(analyse_growth(series_at(steps, bounded), {40 * GB, {}}).leak);
      const Trend trend = analyse_growth(series_at(steps, grown), {40 * GB, {}});
      CHECK(trend.leak);
      if (n > 24) CHECK(trend.slope.value == Approx(5 * GB / (step - steps.front())).epsilon(0.02));
    }
}

// The last third of the window has two values, too few for a slope.
TEST_CASE("shape: very few values in the last third of the steps", "[shapes]") {
  const std::vector<double> steps{10, 35, 44, 53, 96, 148, 174, 199, 307, 325, 483, 489};
  std::vector<double> values;
  for (const double step : steps) values.push_back(GB * (10 + 0.0105 * step));
  const Trend trend = analyse_growth(series_at(steps, values), {40 * GB, {}});
  CHECK(trend.leak);
  CHECK(trend.slope.value == Approx(0.0105 * GB).epsilon(0.01));
}
