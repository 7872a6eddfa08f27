#include "growth/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "catch.h"

using namespace oomdoctor;

namespace {

const std::vector<double> steps{1, 2, 3, 4, 5, 6, 7, 8, 9};
const std::vector<double> rising{18.2, 18.5, 18.9, 19.4, 20.1, 20.9, 21.8, 22.9, 24.2};

}  // namespace

TEST_CASE("Mann-Kendall is exact for few values") {
  const RankTrend trend = rank_trend(rising);
  CHECK(trend.score == 36);
  CHECK(trend.z == Approx(3.65).margin(0.005));
  CHECK(2 * trend.p_rising == Approx(5.5e-6).epsilon(0.01));
  std::vector<double> increments;
  for (std::size_t i = 1; i < rising.size(); ++i) increments.push_back(rising[i] - rising[i - 1]);
  CHECK(rank_trend(increments).score == 28);
  CHECK(2 * rank_trend(increments).p_rising == Approx(5.0e-5).epsilon(0.02));
  CHECK(theil_sen_slope(std::span(steps).first(8), increments) == Approx(0.1367).margin(5e-5));
  // The normal approximation, which the exact count replaces, is fifty times as large.
  CHECK(2 * normal_upper(trend.z) == Approx(2.6e-4).margin(5e-6));
}

TEST_CASE("Mann-Kendall on reversed values has the opposite sign") {
  std::vector<double> falling(rising.rbegin(), rising.rend());
  const RankTrend down = rank_trend(falling);
  CHECK(down.score == -36);
  CHECK(down.z == Approx(-3.65).margin(0.005));
  CHECK(down.p_rising == Approx(1));
  CHECK(theil_sen_slope(steps, falling) == Approx(-0.7417).margin(5e-5));
}

TEST_CASE("Mann-Kendall counts ties as neither") {
  const std::vector<double> values{1, 1, 2, 2, 3, 3, 3, 4};
  const RankTrend trend = rank_trend(values);
  CHECK(trend.score == 23);
  CHECK(trend.variance == Approx((8.0 * 7 * 21 - 2 * (2 * 1 * 9) - 3 * 2 * 11) / 18));
  const std::vector<double> equal(12, 5.0);
  CHECK(rank_trend(equal).score == 0);
  CHECK(rank_trend(equal).p_rising == Approx(0.5));
}

TEST_CASE("the robust slope of an accelerating series") {
  CHECK(theil_sen_slope(steps, rising) == Approx(0.7417).margin(5e-5));
}

TEST_CASE("the robust slope ignores spikes") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(i % 4 == 1 ? 500 : 2 * i);
  }
  CHECK(theil_sen_slope(x, y) == Approx(2).margin(0.2));
  CHECK(theil_sen_slope({}, {}) == 0);
}

TEST_CASE("spread and quantiles") {
  CHECK(compute_median({3, 1, 2, 4}) == 2.5);
  CHECK(compute_quantile({1, 2, 3, 4, 5}, 0.75) == 4);
  CHECK(compute_quantile({}, 0.5) == 0);
  CHECK(compute_spread({1, 2, 3, 4, 1000}) == Approx(1.4826));
  CHECK(compute_spread({1, 2, 3, 4, 1000}, 3) == Approx(1.4826));
}

TEST_CASE("autocorrelation is corrected for short series") {
  const std::vector<double> alternating{1, -1, 1, -1, 1, -1};
  CHECK(lag_one(alternating) < -0.7);
  CHECK(corrected_lag_one(alternating) == 0);
  const std::vector<double> slow{-3, -2, -1, 0, 1, 2, 3};
  const double raw = lag_one(slow);
  CHECK(corrected_lag_one(slow) == Approx(std::min(0.95, raw + (1 + 3 * raw) / 7)));
}

TEST_CASE("records of a steady process stop, those of growth do not") {
  std::mt19937_64 engine(5);
  int alarms = 0, found = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> noise, growth;
    for (int i = 0; i < 60; ++i) {
      const auto value = static_cast<double>(engine() >> 11) / 9007199254740992.0;
      noise.push_back(value);
      growth.push_back(value + 0.1 * i);
    }
    alarms += find_records(noise, 0).second_half >= 4 ? 1 : 0;
    found += find_records(growth, 0).second_half >= 4 ? 1 : 0;
    alarms += find_records(noise, 0).odds >= 50 ? 1 : 0;
  }
  CHECK(alarms <= 9);
  CHECK(found == 300);
  CHECK(find_records(rising, 0.1).second_half == 5);
}
