// A fitted growth law, and one score to compare laws. A Fit is self-contained: it can be evaluated and extrapolated
// without its points.
#pragma once

#include <cstddef>
#include <vector>

#include "growth/law.h"

namespace oomdoctor {

/// Values in the order of their steps; x strictly increases. `floor` is the smallest standard deviation to assume,
/// because of the print step and because no program follows a law exactly.
struct Points {
  std::vector<double> x, y, weight;
  double quantum = 0;
  double floor = 0;

  std::size_t size() const { return x.size(); }
};

/// A fitted law. theta has rates, knots, positions of jumps, or (period, offset), all in units of the window: u = (x −
/// origin) / width.
struct Fit {
  Law law = Law::constant;
  double origin = 0, width = 1;
  std::vector<double> beta, theta;
  std::vector<double> covariance;  ///< of beta and of each smooth theta, row by row; of independent levels the diagonal
  std::vector<double> residuals;
  double rss = 0;
  double sigma = 0;    ///< standard deviation of one value about the curve, at least Points::floor
  double rho = 0;      ///< autocorrelation of the noise; 0 if modelling it does not improve the score
  double freedom = 1;  ///< degrees of freedom
  int parameters = 0;  ///< including sigma, and rho if it is not 0
  double score = 0;    ///< AICc or BIC; lower is better

  double at(double x) const;
  double slope_at(double x) const;  ///< per step
  double error_at(double x) const;  ///< standard error of the curve at x, without the noise of a single value
  double error_of_rise(double from, double to) const;  ///< standard error of at(to) − at(from)
  /// The number of beta and smooth theta.
  std::size_t free_parameters() const;
  /// The curve with its free parameters moved by `change` (beta, then theta).
  Fit moved(const std::vector<double>& change) const;
};

/// Information criteria from a residual sum of squares. k counts the coefficients and sigma.
double aicc(double rss, std::size_t n, int k);
double bic(double rss, std::size_t n, int k);
/// AICc for short series, BIC for long ones, the stricter of both in between.
double criterion(double rss, std::size_t n, int k);

/// The effect of autocorrelation that the fit does not model (rho = 0).
struct Inflation {     ///< factor on the standard errors
  double factor = 1;   ///< of standard errors
  double freedom = 1;  ///< degrees of freedom of the equivalent number of independent values
};
Inflation inflation(const Fit& fit, double floor);

/// The lower triangular Cholesky factor of the covariance, row by row, to draw random curves; empty if there is none.
std::vector<double> covariance_root(const Fit& fit);

}  // namespace oomdoctor
