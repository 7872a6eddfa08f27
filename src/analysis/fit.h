// Curves through a memory series: one least-squares engine for every law of growth, one score to compare them by.
// A Fit is complete in itself: it can be evaluated and extrapolated without the points that it came from.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/law.h"

namespace oomdoctor {

/// Values in the order of their steps; x strictly increases. `floor` is the standard deviation below which no fit is
/// believed: the print step, and the imperfection of any law.
struct Points {
  std::vector<double> x, y, weight;
  double quantum = 0;
  double floor = 0;

  std::size_t size() const { return x.size(); }
};

/// theta: rates, knots, positions of jumps, or (period, offset), all in units of the window: u = (x − origin) / width.
struct Fit {
  Law law = Law::constant;
  double origin = 0, width = 1;
  std::vector<double> beta, theta;
  std::vector<double> covariance;  ///< of beta and of those theta the curve depends on smoothly; row by row
  std::vector<double> residuals;
  double rss = 0;
  double sigma = 0;    ///< of one value about the curve, floored
  double rho = 0;      ///< autocorrelation of the noise, where assuming it pays
  double freedom = 1;  ///< degrees of freedom
  int parameters = 0;  ///< with sigma, and rho where it is not 0
  double score = 0;    ///< AICc or BIC; lower is better

  double at(double x) const;
  double slope_at(double x) const;  ///< per step
  double error_at(double x) const;  ///< standard error of the curve at x, without the noise of a single value
  double error_of_rise(double from, double to) const;  ///< standard error of at(to) − at(from)
  std::size_t free_parameters() const;
  /// The curve when its free parameters are moved by `change` (beta, then theta).
  Fit moved(const std::vector<double>& change) const;
};

/// Information criteria from a residual sum of squares; k counts coefficients and sigma.
double aicc(double rss, std::size_t n, int k);
double bic(double rss, std::size_t n, int k);
/// AICc for short series, BIC for long ones, the stricter of both between.
double criterion(double rss, std::size_t n, int k);

/// Fits with given theta; tries autocorrelated noise where `autocorrelated`.
Fit fit_at(Law law, std::vector<double> theta, const Points& points, bool autocorrelated = true);

/// Searches theta for the laws that have one smooth or positional parameter (not stairs, sawtooth, ratchet).
Fit fit_law(Law law, const Points& points, bool autocorrelated = true);

/// The line whose slope is known from elsewhere, with its standard error (both per step): only its level is fitted.
Fit line_with_slope(double slope, double error, const Points& points);

/// What autocorrelation that was not modelled (rho = 0) adds to the standard errors, and leaves of the values.
struct Inflation {
  double factor = 1;   ///< of standard errors
  double freedom = 1;  ///< degrees of freedom of as many independent values
};
Inflation inflation(const Fit& fit, double floor);

/// A lower triangular root of the covariance, row by row, for drawing curves; empty when it has none.
std::vector<double> covariance_root(const Fit& fit);

}  // namespace oomdoctor
