// Least squares, because every law is linear in its coefficients for a fixed parameter (a rate, a knot, a position).
// law_search searches that parameter, and this file solves for the rest. Steps are centred and scaled to 0 … 1 first: a
// parabola in raw step numbers loses all digits.
//
// Memory drifts: neighbouring values are similar, and with white-noise errors every slow wave would look like a trend.
// So each law is also fitted with first-order autocorrelated noise (Prais and Winsten 1954, rho on a grid), which costs
// one parameter. Scores are AICc (Hurvich and Tsai 1989) and BIC (Schwarz 1978). The print step is a floor for the
// residual sum: without it a quantised constant has no noise, and every slope is infinitely significant.
//
// This file fits inside the window only. The forecast judges how far a curve may be extrapolated.
#include "growth/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>

#include "growth/law_search.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// In addition to 0.
constexpr std::array<double, 7> rho_grid{0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96};

/// The prepared values: u, and y minus its mean. Terms of a square sum are scaled by the square root of their weight.
struct Problem {
  double origin, width, level;
  Vector u, y, root;

  explicit Problem(const Points& points)
      : origin(points.x.front()),
        width(std::max(points.x.back() - points.x.front(), 1e-12)),
        level(0),
        u(static_cast<Eigen::Index>(points.size())),
        y(u.size()),
        root(u.size()) {
    double total = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      level += points.y[i] * points.weight[i];
      total += points.weight[i];
    }
    // A mean lies within the range of the values. Rounding must not move it outside, or equal values would seem to
    // move.
    const auto [lowest, highest] = std::minmax_element(points.y.begin(), points.y.end());
    level = std::clamp(level / total, *lowest, *highest);
    const double mean_weight = total / static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      u[row] = (points.x[i] - origin) / width;
      root[row] = std::sqrt(points.weight[i] / mean_weight);
      y[row] = (points.y[i] - level) * root[row];
    }
  }

  /// The law's columns without weights.
  Matrix columns(Law law, const std::vector<double>& theta) const {
    Matrix rows(u.size(), static_cast<Eigen::Index>(column_count(law, theta)));
    fill_columns(law, theta, std::span(u.data(), static_cast<std::size_t>(u.size())), rows.data());
    return rows;
  }

  Matrix weighted(const Matrix& columns) const { return root.asDiagonal() * columns; }

  WeightedRows rows() const {
    const auto span = [](const Vector& vector) {
      return std::span(vector.data(), static_cast<std::size_t>(vector.size()));
    };
    return {span(u), span(root), span(y)};
  }
};

/// The columns times their coefficients, summed in the order of value_at.
Vector evaluate_curve(const Matrix& columns, const std::vector<double>& beta) {
  Vector curve = Vector::Zero(columns.rows());
  for (Eigen::Index j = 0; j < columns.cols(); ++j) curve += beta[static_cast<std::size_t>(j)] * columns.col(j);
  return curve;
}

/// Takes differences that make first-order autocorrelated noise white. The first row is scaled to the same variance.
Matrix whiten(Matrix rows, double rho) {
  if (rho == 0) return rows;
  for (Eigen::Index j = 0; j < rows.cols(); ++j)
    for (Eigen::Index i = rows.rows() - 1; i > 0; --i) rows(i, j) -= rho * rows(i - 1, j);
  rows.row(0) *= std::sqrt(1 - rho * rho);
  return rows;
}

/// The products of each column of `left` with each of `right`. Eigen's matrix product first packs its input for many
/// columns, which takes longer than these few products. (Stairs may have many levels, but do not use this.)
template <typename Left, typename Right>
Matrix multiply_columns(const Left& left, const Right& right) {
  Matrix out(left.cols(), right.cols());
  for (Eigen::Index j = 0; j < right.cols(); ++j)
    for (Eigen::Index i = 0; i < left.cols(); ++i) out(i, j) = left.col(i).dot(right.col(j));
  return out;
}

/// The products of the columns with themselves. The matrix is symmetric, so half of them suffice.
Matrix square_columns(const Matrix& rows) {
  Matrix out(rows.cols(), rows.cols());
  for (Eigen::Index j = 0; j < rows.cols(); ++j)
    for (Eigen::Index i = 0; i <= j; ++i) out(i, j) = out(j, i) = rows.col(i).dot(rows.col(j));
  return out;
}

/// The products of whitened columns for every rho, from one pass over the rows. With a' as the row before a, the
/// product (a − ρ a')(b − ρ b') is a sum of four products with ρ only as a factor.
struct WhitenedProducts {
  Matrix same_row;  ///< of each row with itself
  Matrix next_row;  ///< of each row with the previous one, in both orders
  Matrix ends;      ///< of the first and the last row, which have only one neighbour

  explicit WhitenedProducts(const Matrix& rows) : same_row(square_columns(rows)) {
    const Eigen::Index n = rows.rows();
    const Matrix one_way = multiply_columns(rows.bottomRows(n - 1), rows.topRows(n - 1));
    next_row = one_way + one_way.transpose();
    ends = rows.row(0).transpose() * rows.row(0) + rows.row(n - 1).transpose() * rows.row(n - 1);
  }

  Matrix at(double rho) const { return (1 + rho * rho) * same_row - rho * next_row - rho * rho * ends; }
};

/// Solves the normal equations with a tiny ridge. It keeps a constant column (a knot after the last value) from
/// dividing by zero.
Vector solve(Matrix normal, const Vector& right) {
  normal.diagonal().array() += 1e-13 * normal.diagonal().maxCoeff();
  return normal.ldlt().solve(right);
}

/// The same if no row has a value in two columns, as in the levels of stairs, of which there may be a hundred.
Vector solve_disjoint(const Matrix& design, const Vector& y) {
  const Vector normal = design.colwise().squaredNorm().transpose();
  return (design.transpose() * y).cwiseQuotient((normal.array() + 1e-13 * normal.maxCoeff()).matrix());
}

/// The columns plus one for a smooth theta: the derivative of the curve by theta.
Matrix with_theta(const Problem& problem, const Fit& fit, const Matrix& columns) {
  if (!has_smooth_theta(fit.law)) return columns;
  Matrix wide(columns.rows(), columns.cols() + 1);
  wide.leftCols(columns.cols()) = columns;
  const double nudge = 1e-4 * fit.theta[0];
  const Vector up = evaluate_curve(problem.columns(fit.law, {fit.theta[0] + nudge}), fit.beta);
  const Vector down = evaluate_curve(problem.columns(fit.law, {fit.theta[0] - nudge}), fit.beta);
  wide.rightCols(1) = (up - down) / (2 * nudge);
  return wide;
}

/// Sets the covariance of beta and a smooth theta from the whitened columns, scaled to unit norm before the inversion.
void set_covariance(Fit& fit, const Problem& problem, const Matrix& columns, double variance) {
  Matrix wide = whiten(problem.weighted(with_theta(problem, fit, columns)), fit.rho);
  Vector scale = wide.colwise().norm().transpose();
  for (Eigen::Index i = 0; i < scale.size(); ++i) scale[i] = scale[i] > 0 ? 1 / scale[i] : 1;
  constexpr double ridge = 1e-9;
  Matrix inverse;
  if (has_levels(fit.law) && fit.rho == 0) {  // disjoint columns: the matrix is diagonal
    inverse = Matrix((scale.cwiseAbs2() * (variance / (1 + ridge))).asDiagonal());
  } else {
    wide = wide * scale.asDiagonal();
    Matrix normal = square_columns(wide);
    normal.diagonal().array() += ridge;
    inverse = scale.asDiagonal() * normal.inverse() * scale.asDiagonal() * variance;
  }
  fit.covariance.assign(inverse.data(), inverse.data() + inverse.size());
}

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
  for (std::size_t i = 0; i < count && covariance.size() == count * count; ++i)
    for (std::size_t j = 0; j < count; ++j) sum += gradient[i] * gradient[j] * covariance[i * count + j];
  return std::max(0.0, sum);
}

/// The noise model with the best score, and its coefficients.
struct Solution {
  Vector beta;
  double rho = 0, squares = 0, score = 0;
  int parameters = 0;
};

/// Finds the coefficients and the rho with the best score. `base`: parameters without rho. `searched`: the score's
/// penalty for searched positions. `disjoint`: no row has a value in two columns.
Solution solve_for(const Matrix& design, bool disjoint, const Points& points, const Vector& y, int base,
                   double searched, bool autocorrelated) {
  const double min_squares = static_cast<double>(points.size()) * points.floor * points.floor;
  const Eigen::Index k = design.cols();
  // Solve for the residuals instead of y. Then rho only changes the first coefficients by a small correction, and the
  // difference of squares loses no digits.
  Matrix rows(design.rows(), k + 1);
  rows.leftCols(k) = design;
  Solution best;
  best.beta = disjoint ? solve_disjoint(design, y) : solve(square_columns(design), multiply_columns(design, y));
  rows.col(k) = y - design * best.beta;
  const Vector plain = best.beta;
  const auto try_rho = [&](double rho, double squares) {
    const int parameters = base + (rho > 0 ? 1 : 0);
    const double score =
        criterion(std::max(squares, min_squares), points.size(), parameters) - std::log(1 - rho * rho) + searched;
    if (rho > 0 && !(score < best.score)) return false;
    best.score = score, best.rho = rho, best.parameters = parameters, best.squares = squares;
    return true;
  };
  try_rho(0, rows.col(k).squaredNorm());
  if (!autocorrelated) return best;
  const WhitenedProducts products(rows);
  for (const double rho : rho_grid) {
    const Matrix sums = products.at(rho);
    const Matrix normal = sums.topLeftCorner(k, k);
    const Vector right = sums.col(k).head(k);
    const Vector change = solve(normal, right);
    const double squares = sums(k, k) - 2 * change.dot(right) + change.dot(normal * change);
    if (try_rho(rho, std::max(0.0, squares))) best.beta = plain + change;
  }
  return best;
}

/// Fits one law with a fixed theta, and adds the mean back to the coefficients.
Fit fit_with_theta(Law law, std::vector<double> theta, const Points& points, const Problem& problem,
                   bool autocorrelated) {
  const Matrix columns = problem.columns(law, theta);
  const auto n = static_cast<double>(points.size());
  // A position searched among n costs more than an estimated parameter (Zhang and Siegmund 2007).
  const double searched = has_smooth_theta(law) ? 0 : static_cast<double>(theta.size()) * std::log(n);
  const int base = static_cast<int>(columns.cols() + static_cast<Eigen::Index>(theta.size())) + 1;
  const Solution solution =
      solve_for(problem.weighted(columns), has_levels(law), points, problem.y, base, searched, autocorrelated);
  Fit best;
  best.score = solution.score, best.rho = solution.rho, best.parameters = solution.parameters;
  best.law = law, best.theta = std::move(theta), best.origin = problem.origin, best.width = problem.width;
  best.freedom = std::max(1.0, n - best.parameters + 1);
  const double variance = std::max(solution.squares / best.freedom, points.floor * points.floor);
  best.sigma = std::sqrt(variance / (1 - best.rho * best.rho));
  best.beta.assign(solution.beta.data(), solution.beta.data() + solution.beta.size());
  set_covariance(best, problem, columns, variance);
  const bool cyclic = law == Law::cycle || law == Law::cycle_line;
  for (std::size_t i = 0; i < best.beta.size(); ++i)
    if (i == 0 || has_levels(law) || (cyclic && i < cycle_levels)) best.beta[i] += problem.level;
  const Vector curve = evaluate_curve(columns, best.beta);
  best.residuals.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    best.residuals.push_back(points.y[i] - curve[static_cast<Eigen::Index>(i)]);
    best.rss += best.residuals.back() * best.residuals.back();
  }
  return best;
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

Fit fit_at(Law law, std::vector<double> theta, const Points& points, bool autocorrelated) {
  return fit_with_theta(law, std::move(theta), points, Problem(points), autocorrelated);
}

Fit fit_law(Law law, const Points& points, bool autocorrelated) {
  const Problem problem(points);
  return fit_with_theta(law, best_theta(law, problem.rows()), points, problem, autocorrelated);
}

Fit line_with_slope(double slope, double error, const Points& points) {
  const Problem problem(points);
  const double middle = problem.origin + problem.width / 2;
  Points level = points;
  double weight = 0, mean = 0;
  for (std::size_t i = 0; i < level.size(); ++i) {
    level.y[i] -= slope * (level.x[i] - middle);
    weight += level.weight[i], mean += level.weight[i] * (level.x[i] - middle);
  }
  Fit fit = fit_law(Law::constant, level);
  const double variance = error * problem.width * error * problem.width, arm = mean / weight / problem.width;
  fit.law = Law::linear;
  fit.beta.push_back(slope * problem.width);
  fit.covariance = {fit.covariance[0] + arm * arm * variance, -arm * variance, -arm * variance, variance};
  return fit;
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
