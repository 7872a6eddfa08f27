// Order statistics and tests without a model: medians, robust spread, rank trends, records, autocorrelation. All
// functions are stateless, and their results are defined for empty input.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace oomdoctor {

double compute_quantile(std::vector<double> values,
                        double share);  ///< linear between order statistics; 0 for empty input
double compute_median(std::vector<double> values);

/// Standard deviation from the median absolute deviation (factor 1.4826). Outliers have no effect while fewer than half
/// of the values are outliers.
double compute_spread(const std::vector<double>& values);
double compute_spread(const std::vector<double>& values, double median);  ///< with a known median

double normal_upper(double z);  ///< P(Z > z)
double normal_quantile(double share);
double student_upper(double t, double freedom);         ///< P(T > t)
double student_quantile(double share, double freedom);  ///< freedom is clamped to at least 1

/// Mann-Kendall test for a rising trend. One-sided p; exact for n ≤ 10 without ties, by counting inversions.
struct RankTrend {
  double score = 0;     ///< S
  double variance = 0;  ///< of S without a trend, corrected for ties
  double z = 0;
  double p_rising = 1;
};
RankTrend rank_trend(std::span<const double> values);

/// The slope of Theil and Sen. It ignores outliers while fewer than 29% of the values are outliers.
double theil_sen_slope(std::span<const double> x, std::span<const double> y);

/// The lag-1 autocorrelation of residuals, raw, and with the small-sample correction, clamped to 0 … 0.95.
double lag_one(std::span<const double> residuals);
double corrected_lag_one(std::span<const double> residuals);

/// The new maxima that exceed the previous one by more than `step`.
struct Records {
  std::size_t all = 0;  ///< without the first value
  std::size_t second_half = 0;
  double odds = 1;  ///< likelihood ratio of a constant rate of records against exchangeable values
  std::vector<std::size_t> at;
};
Records find_records(std::span<const double> values, double step);

}  // namespace oomdoctor
