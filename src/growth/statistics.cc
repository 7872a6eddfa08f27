// Rank methods, because the size and the distribution of the noise are unknown and one outlier must not make a trend
// (Theil 1950, Sen 1968; Mann 1945, Kendall 1975). They assume independent values. With autocorrelation
// their probabilities are too small, so no verdict depends on them alone.
//
// Records: in n exchangeable values of any distribution, position i is a new maximum with probability 1/i. So about
// 0.69 records fall into the second half, and four or more in under 1 % of all series (Rényi 1962). The running maximum
// of a steady process looks like growth to every regression, but not to this test.
#include "growth/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace oomdoctor {

namespace {

/// In double precision throughout: faster, and without tables of long double that are made at the start of the program.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Normal = boost::math::normal_distribution<double, InDouble>;
using Student = boost::math::students_t_distribution<double, InDouble>;

/// The number of pairs is quadratic. Longer input is sampled at every k-th value to bound the cost.
constexpr std::size_t max_values = 400;

/// The share of the n! orders with at least as many concordant pairs as observed. It counts the orders by their number
/// of inversions.
double exact_rank_p(std::size_t n, double score) {
  std::vector<double> counts{1.0};
  for (std::size_t size = 2; size <= n; ++size) {
    std::vector<double> next(counts.size() + size - 1, 0.0);
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (std::size_t k = 0; k < size; ++k) next[i + k] += counts[i];
    counts = std::move(next);
  }
  const double pairs = static_cast<double>(n * (n - 1) / 2);
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double tail = 0;
  for (std::size_t inversions = 0; inversions < counts.size(); ++inversions)
    if (pairs - 2 * static_cast<double>(inversions) >= score - 0.5) tail += counts[inversions];
  return tail / total;
}

std::vector<std::size_t> sample_indices(std::size_t n) {
  std::vector<std::size_t> picked;
  const std::size_t count = std::min(n, max_values);
  for (std::size_t i = 0; i < count; ++i) picked.push_back(count == n ? i : i * (n - 1) / (count - 1));
  return picked;
}

std::vector<double> pair_slopes(std::span<const double> x, std::span<const double> y,
                                const std::vector<std::size_t>& picked) {
  std::vector<double> slopes;
  slopes.reserve(picked.size() * picked.size() / 2);
  for (std::size_t i = 0; i < picked.size(); ++i)
    for (std::size_t j = i + 1; j < picked.size(); ++j)
      if (const double dx = x[picked[j]] - x[picked[i]]; dx != 0) slopes.push_back((y[picked[j]] - y[picked[i]]) / dx);
  return slopes;
}

}  // namespace

double compute_quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double high = *std::min_element(at + 1, values.end());
  return std::isfinite(high) ? low + (high - low) * (position - static_cast<double>(below))
                             : (position > static_cast<double>(below) ? high : low);
}

double compute_median(std::vector<double> values) { return compute_quantile(std::move(values), 0.5); }

double compute_spread(const std::vector<double>& values) { return compute_spread(values, compute_median(values)); }

double compute_spread(const std::vector<double>& values, double centre) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return 1.4826 * compute_median(std::move(distances));
}

double normal_upper(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double normal_quantile(double share) { return boost::math::quantile(Normal(), share); }

double student_upper(double t, double freedom) {
  if (!std::isfinite(t)) return t > 0 ? 0.0 : 1.0;
  return boost::math::cdf(boost::math::complement(Student(std::max(1.0, freedom)), t));
}

double student_quantile(double share, double freedom) {
  return boost::math::quantile(Student(std::max(1.0, freedom)), share);
}

RankTrend rank_trend(std::span<const double> values) {
  RankTrend trend;
  const std::vector<std::size_t> picked = sample_indices(values.size());
  const auto n = static_cast<double>(picked.size());
  if (picked.size() < 3) return trend;
  std::map<double, double> ties;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    ties[values[picked[i]]] += 1;
    for (std::size_t j = i + 1; j < picked.size(); ++j) {
      const double difference = values[picked[j]] - values[picked[i]];
      trend.score += difference > 0 ? 1 : difference < 0 ? -1 : 0;
    }
  }
  trend.variance = n * (n - 1) * (2 * n + 5);
  for (const auto& [value, count] : ties) trend.variance -= count * (count - 1) * (2 * count + 5);
  trend.variance /= 18;
  if (trend.variance > 0 && trend.score != 0)
    trend.z = (trend.score - (trend.score > 0 ? 1 : -1)) / std::sqrt(trend.variance);
  const bool exact = picked.size() <= 10 && ties.size() == picked.size();
  trend.p_rising = exact ? exact_rank_p(picked.size(), trend.score) : normal_upper(trend.z);
  return trend;
}

double theil_sen_slope(std::span<const double> x, std::span<const double> y) {
  return compute_median(pair_slopes(x, y, sample_indices(std::min(x.size(), y.size()))));
}

double lag_one(std::span<const double> residuals) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  return squares > 0 ? products / squares : 0;
}

double corrected_lag_one(std::span<const double> residuals) {
  if (residuals.size() < 3) return 0;
  const double raw = lag_one(residuals);
  return std::clamp(raw + (1 + 3 * raw) / static_cast<double>(residuals.size()), 0.0, 0.95);  // Kendall 1954
}

Records find_records(std::span<const double> values, double step) {
  Records records;
  if (values.empty()) return records;
  double highest = values[0], log_odds = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const bool record = values[i] > highest + step;
    // Before each value, estimate the rate of records from the earlier values (Krichevsky and Trofimov 1981). Under
    // exchangeability the product then has expectation 1 and exceeds c with probability at most 1/c.
    const double rate = (static_cast<double>(records.all) + 0.5) / static_cast<double>(i);
    const double chance = 1 / static_cast<double>(i + 1);
    if (i > 1) log_odds += record ? std::log(rate / chance) : std::log((1 - std::min(rate, 1 - 1e-9)) / (1 - chance));
    if (!record) continue;
    highest = values[i];
    ++records.all;
    records.at.push_back(i);
    if (2 * i + 1 >= values.size()) ++records.second_half;
  }
  records.odds = std::exp(std::clamp(log_odds, -500.0, 500.0));
  return records;
}

}  // namespace oomdoctor
