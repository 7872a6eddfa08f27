// The error rate of the growth verdict and the hit rate of the forecast, over many noisy series.
#include <algorithm>
#include <cmath>
#include <vector>
#include <boost/math/distributions/binomial.hpp>

#include "catch.h"
#include "curves.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

namespace {

/// Whether the true rate is below the bar with 97.5% confidence, after this many hits in this many trials.
bool surely_below(int count, int trials, double bar) {
  using Binomial = boost::math::binomial_distribution<>;
  return count == trials ? false : Binomial::find_upper_bound_on_p(trials, count, 0.025) < bar;
}

}  // namespace

TEST_CASE("varying lengths are no leak") {
  int alarms = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    for (int i = 0; i < 80; ++i) values.push_back((10 + std::abs(source.normal())) * GB);
    alarms += analyse_growth(series_of(values), {24 * GB, {}}).leak ? 1 : 0;
  }
  CHECK(alarms <= 1);
}

TEST_CASE("fewer than one in ten short series of autocorrelated noise is called a leak") {
  constexpr int trials = 600;
  int alarms = 0;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    double state = source.normal();
    for (int i = 0; i < 20; ++i) {
      state = 0.8 * state + 0.6 * source.normal();
      values.push_back((10 + 0.3 * state) * GB);
    }
    alarms += analyse_growth(series_of(values, 0.1 * GB)).leak ? 1 : 0;
  }
  INFO(alarms << " of " << trials);
  CHECK(alarms < 0.10 * trials);
  CHECK(surely_below(alarms, trials, 0.12));
}

TEST_CASE("rounding turns fewer than one in twenty series of noise into a leak") {
  constexpr int trials = 300;
  int alarms = 0;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    Noise source(seed);
    // Levels anywhere between two print steps, noise from invisible to one print step.
    const double level = 10 + 0.1 * source.uniform(), noise = 0.1 * source.uniform();
    std::vector<double> values;
    for (int i = 0; i < 10 + static_cast<int>(seed % 30); ++i) values.push_back((level + noise * source.normal()) * GB);
    alarms += analyse_growth(series_of(values, 0.1 * GB)).leak ? 1 : 0;
  }
  INFO(alarms << " of " << trials);
  CHECK(surely_below(alarms, trials, 0.05));
}

TEST_CASE("fewer than three in a hundred running maxima of noise are called a leak") {
  constexpr int trials = 320;
  int alarms = 0;
  for (unsigned seed = 1; seed <= trials; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    double highest = 0;
    for (int i = 0; i < (seed % 4 == 0 ? 60 : seed % 4 == 1 ? 40 : 20); ++i) {
      const double sample = seed % 2 == 0 ? source.normal() : -std::log(source.uniform());
      values.push_back(GB * (highest = std::max(highest, 10 + 0.5 * sample)));
    }
    Series maximum = series_of(values);
    maximum.kind = SeriesKind::running_maximum;
    alarms += analyse_growth(maximum).leak ? 1 : 0;
  }
  INFO(alarms << " of " << trials);
  CHECK(surely_below(alarms, trials, 0.03));
}

TEST_CASE("a running maximum of growing work is a leak") {
  int found = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Noise source(seed);
    std::vector<double> growing;
    double highest = 0;
    for (int i = 0; i < 100; ++i)
      growing.push_back(GB * (highest = std::max(highest, 10 + 0.2 * i + std::abs(source.normal()))));
    Series maximum = series_of(growing);
    maximum.kind = SeriesKind::running_maximum;
    found += analyse_growth(maximum).leak ? 1 : 0;
  }
  CHECK(found >= 19);
}

TEST_CASE("the forecast interval covers the outcome about nine times in ten") {
  struct Leak {
    Curve curve;
    double full, step;  ///< GB, and the step at which the noise-free curve reaches them
    int n;
  };
  const std::vector<Leak> leaks{{[](int, double t) { return 10 + 5 * t; }, 20, 980, 50},
                                {[](int, double t) { return 10 + 5 * t; }, 18, 304, 20},
                                {[](int, double t) { return 10 + 2 * t + 4 * t * t; }, 20, 0, 40},
                                {[](int, double t) { return 10 + 8 * std::max(0.0, t - 0.4); }, 20, 0, 40}};
  int covered = 0, trials = 0;
  for (const Leak& leak : leaks) {
    // The moment at which the curve, with its noise, prints a value at or above the capacity.
    for (unsigned seed = 1; seed <= 40; ++seed) {
      Noise future(1000 + seed);
      double truth = 10.0 * leak.n;
      while (leak.curve(0, truth / (10.0 * (leak.n - 1))) + 0.15 * future.normal() < leak.full) truth += 10;
      const Trend trend = trend_of(leak.n, leak.curve, 0.15, seed, leak.full * GB);
      if (!trend.forecast) continue;
      ++trials;
      CHECK(trend.forecast->capacity == leak.full * GB);
      CHECK(trend.forecast->step_low <= trend.forecast->step);
      // Tolerate one log interval on either side: nothing is visible between two values.
      covered += trend.forecast->step_low - 10 <= truth && trend.forecast->step_high.value_or(1e18) + 10 >= truth;
    }
  }
  INFO(covered << " of " << trials);
  CHECK(trials >= 150);
  CHECK(covered >= 0.85 * trials);
  CHECK(covered <= 0.99 * trials);
  CHECK_FALSE(trend_of(50, [](int, double) { return 10.0; }).forecast);
  CHECK_FALSE(trend_of(
                  50, [](int, double t) { return 10 + 5 * t; }, 0, 1, std::nullopt)
                  .forecast);
}
