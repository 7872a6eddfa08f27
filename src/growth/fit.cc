// A fitted law as a curve with its uncertainty, and the scores that compare laws. Scores are AICc (Hurvich and Tsai
// 1989) and BIC (Schwarz 1978). A fit describes the inside of its window only. The forecast judges how far a curve may
// be extrapolated.
#include "growth/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "growth/statistics.h"

namespace oomdoctor {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// The derivative of the curve by its free parameters, at u.
std::vector<double> gradient_at(const Fit& fit, double u) {
  std::vector<double> gradient(fit.free_parameters());
  fill_columns(fit.law, fit.theta, u, gradient.data());
  if (!has_smooth_theta(fit.law)) return gradient;
  const double nudge = 1e-4 * fit.theta[0];
  gradient.back() = (value_at(fit.law, fit.beta, {fit.theta[0] + nudge}, u) -
                     value_at(fit.law, fit.beta, {fit.theta[0] - nudge}, u)) /
                    (2 * nudge);
  return gradient;
}

double quadratic_form(const std::vector<double>& gradient, const std::vector<double>& covariance) {
  const std::size_t count = gradient.size();
  double sum = 0;
  if (covariance.size() == count) {  // the diagonal
    for (std::size_t i = 0; i < count; ++i) sum += gradient[i] * gradient[i] * covariance[i];
  } else if (covariance.size() == count * count) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j) sum += gradient[i] * gradient[j] * covariance[i * count + j];
  }
  return std::max(0.0, sum);
}

}  // namespace

double aicc(double rss, std::size_t n, int k) {
  const auto count = static_cast<double>(n);
  const double left = count - k - 1;
  if (left <= 0) return std::numeric_limits<double>::infinity();
  return count * std::log(rss / count) + 2 * k + 2.0 * k * (k + 1) / left;
}

double bic(double rss, std::size_t n, int k) {
  const auto count = static_cast<double>(n);
  if (count - k - 1 <= 0) return std::numeric_limits<double>::infinity();
  return count * std::log(rss / count) + k * std::log(count);
}

double criterion(double rss, std::size_t n, int k) {
  if (n < 15) return aicc(rss, n, k);
  if (n >= 30) return bic(rss, n, k);
  return std::max(aicc(rss, n, k), bic(rss, n, k));
}

double Fit::at(double x) const { return value_at(law, beta, theta, (x - origin) / width); }

double Fit::slope_at(double x) const {
  const double nudge = 1e-4 * width;
  return (at(x + nudge) - at(x - nudge)) / (2 * nudge);
}

std::size_t Fit::free_parameters() const { return beta.size() + (has_smooth_theta(law) ? 1 : 0); }

Fit Fit::moved(const std::vector<double>& change) const {
  Fit other;
  other.law = law;
  other.origin = origin;
  other.width = width;
  other.beta = beta;
  other.theta = theta;
  for (std::size_t i = 0; i < beta.size() && i < change.size(); ++i) other.beta[i] += change[i];
  if (has_smooth_theta(law) && change.size() > beta.size())
    other.theta[0] = std::max(theta[0] * 0.05, theta[0] + change[beta.size()]);
  return other;
}

double Fit::error_at(double x) const {
  return std::sqrt(quadratic_form(gradient_at(*this, (x - origin) / width), covariance));
}

double Fit::error_of_rise(double from, double to) const {
  std::vector<double> gradient = gradient_at(*this, (to - origin) / width);
  const std::vector<double> start = gradient_at(*this, (from - origin) / width);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] -= start[i];
  return std::sqrt(quadratic_form(gradient, covariance));
}

Inflation inflation(const Fit& fit, double floor) {
  const auto n = static_cast<double>(fit.residuals.size());
  // Residuals below the print step show its pattern and no noise.
  const bool visible = std::sqrt(fit.rss / n) > floor;
  if (fit.rho > 0 || !visible) return {1, fit.freedom};
  const double r = corrected_lag_one(fit.residuals);
  return {std::sqrt((1 + r) / (1 - r)), std::max(1.0, n * (1 - r) / (1 + r) - 2)};
}

std::vector<double> covariance_root(const Fit& fit) {
  const auto count = static_cast<Eigen::Index>(fit.free_parameters());
  if (static_cast<Eigen::Index>(fit.covariance.size()) != count * count) return {};
  Matrix covariance = Eigen::Map<const Matrix>(fit.covariance.data(), count, count);
  Vector scale = covariance.diagonal().cwiseMax(0).cwiseSqrt();
  for (Eigen::Index i = 0; i < count; ++i)
    if (!(scale[i] > 0)) return {};
  const Matrix unit = scale.cwiseInverse().asDiagonal() * covariance * scale.cwiseInverse().asDiagonal();
  const Eigen::LLT<Matrix> root(unit + 1e-12 * Matrix::Identity(count, count));
  if (root.info() != Eigen::Success) return {};
  const Matrix lower = scale.asDiagonal() * Matrix(root.matrixL());
  std::vector<double> rows;
  for (Eigen::Index i = 0; i < count; ++i)
    for (Eigen::Index j = 0; j < count; ++j) rows.push_back(lower(i, j));
  return rows;
}

}  // namespace oomdoctor
