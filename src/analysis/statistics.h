// Order statistics and tests that hold without a model: medians, robust spread, rank trends, records, autocorrelation.
// Every function takes its data by value or span, has no state, and answers something defined for empty input.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace oomdoctor {

double quantile_of(std::vector<double> values, double share);  ///< linear between order statistics; 0 for none
double median_of(std::vector<double> values);

/// Standard deviation from the median absolute deviation (factor 1.4826): one wild value in two does not move it.
double spread_of(const std::vector<double>& values);
double spread_of(const std::vector<double>& values, double median);  ///< where the median is known

double normal_upper(double z);  ///< P(Z > z)
double normal_quantile(double share);
double student_upper(double t, double freedom);         ///< P(T > t)
double student_quantile(double share, double freedom);  ///< freedom is clamped to at least 1

/// Mann-Kendall: do later values tend to be greater? One-sided p; exact by counting inversions for n ≤ 10 without ties.
struct RankTrend {
  double score = 0;     ///< S
  double variance = 0;  ///< of S under no trend, corrected for ties
  double z = 0;
  double p_rising = 1;
};
RankTrend rank_trend(std::span<const double> values);

/// A slope that outliers do not move, with its 95 % interval.
struct RobustSlope {
  double value = 0, low = 0, high = 0;
};
double theil_sen_slope(std::span<const double> x, std::span<const double> y);  ///< its value alone
RobustSlope theil_sen(std::span<const double> x, std::span<const double> y);   ///< breaks down at 29 % outliers
double siegel_slope(std::span<const double> x, std::span<const double> y);     ///< breaks down at 50 %

/// Lag-1 autocorrelation of residuals, as it is, and with the small-sample correction, within 0 … 0.95.
double lag_one(std::span<const double> residuals);
double corrected_lag_one(std::span<const double> residuals);

double durbin_watson(std::span<const double> residuals);

/// New maxima that exceed the old one by more than `step`.
struct Records {
  std::size_t all = 0;  ///< without the first value
  std::size_t second_half = 0;
  double odds = 1;  ///< likelihood of a constant rate of records against that of exchangeable values
  std::vector<std::size_t> at;
};
Records records_of(std::span<const double> values, double step);

}  // namespace oomdoctor
