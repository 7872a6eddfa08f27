// Least squares, because every law here is linear in its coefficients once one parameter (a rate, a knot, a position)
// is held: that one is searched on a grid and refined by golden section, the rest is solved. Steps are centred and
// scaled to 0 … 1 before anything is squared; raw step numbers in a parabola lose all digits.
//
// Memory wanders: neighbouring values are alike, and white-noise errors then call any slow wave a trend. So each law is
// also fitted with first-order autocorrelated noise (Prais and Winsten 1954, rho on a grid) and pays one parameter for
// it. Scores are AICc (Hurvich and Tsai 1989) and BIC (Schwarz 1978) with the residual sum floored by the print step:
// without the floor a quantised constant has no noise and every slope is infinitely significant.
//
// Nothing is said about values outside the window here; how far a curve may be drawn out is for the forecast to judge.
#include "analysis/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>

#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr std::array<double, 8> rho_grid{0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96};

/// Rows scaled by the root of their weight; u and y prepared once for many trials.
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
    level /= total;
    const double mean_weight = total / static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      u[row] = (points.x[i] - origin) / width;
      root[row] = std::sqrt(points.weight[i] / mean_weight);
      y[row] = (points.y[i] - level) * root[row];
    }
  }

  Matrix design(Law law, const std::vector<double>& theta) const {
    const auto columns = static_cast<Eigen::Index>(column_count(law, theta));
    Matrix rows(u.size(), columns);
    fill_columns(law, theta, std::span(u.data(), static_cast<std::size_t>(u.size())), rows.data());
    for (Eigen::Index j = 0; j < columns; ++j) rows.col(j).array() *= root.array();
    return rows;
  }
};

/// Differences that make first-order autocorrelated noise white; the first row is kept with its own variance.
template <typename Rows>
Rows whitened(const Rows& rows, double rho) {
  if (rho == 0) return rows;
  Rows out = rows;
  const Eigen::Index n = rows.rows();
  out.bottomRows(n - 1) -= rho * rows.topRows(n - 1);
  out.row(0) *= std::sqrt(1 - rho * rho);
  return out;
}

/// Normal equations with a whiff of a ridge: a column that never moves (a knot behind the last value) must not blow up.
Vector solve(const Matrix& design, const Vector& y) {
  Matrix normal = design.transpose() * design;
  normal.diagonal().array() += 1e-13 * normal.diagonal().maxCoeff();
  return normal.ldlt().solve(design.transpose() * y);
}

double white_rss(const Problem& problem, Law law, const std::vector<double>& theta) {
  const Matrix design = problem.design(law, theta);
  return (problem.y - design * solve(design, problem.y)).squaredNorm();
}

struct Range {
  double low, high;
  bool logarithmic;
};

/// Where theta is looked for. A knot keeps at least three values, or a tenth of a longer series, on either side whose
/// slope it decides: less has neither begun to grow nor stopped growing. Only a start-up may be shorter.
Range range_of(Law law, const Problem& problem) {
  const Eigen::Index n = problem.u.size(), side = std::max<Eigen::Index>(3, n / 10);
  const double early = problem.u[std::min(side - 1, n - 1)], tail = problem.u[std::max<Eigen::Index>(0, n - 1 - side)];
  switch (law) {
    case Law::exponential:
      return {0.2, 12, true};
    case Law::logarithmic:
      return {3, 1e4, true};
    case Law::saturating:
      return {std::max(0.01, problem.u[1] / 3), 1.5, true};
    case Law::ramp:
    case Law::bend:
      return {problem.u[1], std::max(tail, problem.u[1]), false};
    default:
      return {early, std::max(tail, early), false};
  }
}

double golden(const Problem& problem, Law law, double low, double high) {
  constexpr double ratio = 0.6180339887498949;
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double at_a = white_rss(problem, law, {a}), at_b = white_rss(problem, law, {b});
  for (int i = 0; i < 22; ++i) {
    if (at_a <= at_b) {
      high = b, b = a, at_b = at_a;
      a = high - ratio * (high - low);
      at_a = white_rss(problem, law, {a});
    } else {
      low = a, a = b, at_a = at_b;
      b = low + ratio * (high - low);
      at_b = white_rss(problem, law, {b});
    }
  }
  return at_a <= at_b ? a : b;
}

double best_theta(const Problem& problem, Law law) {
  constexpr int cells = 40;
  const Range range = range_of(law, problem);
  const auto place = [&](int i) {
    const double share = static_cast<double>(std::clamp(i, 0, cells)) / cells;
    return range.logarithmic ? range.low * std::pow(range.high / range.low, share)
                             : range.low + (range.high - range.low) * share;
  };
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= cells; ++i) {
    const double rss = white_rss(problem, law, {place(i)});
    if (rss < least) least = rss, best = i;
  }
  return golden(problem, law, place(best - 1), place(best + 1));
}

/// One jump (with or without a line): a hundred places, then every place around the best.
double best_jump(const Problem& problem, Law law) {
  const Eigen::Index n = problem.u.size(), margin = n < 30 ? 2 : 3, stride = std::max<Eigen::Index>(1, n / 100);
  double least = std::numeric_limits<double>::infinity();
  Eigen::Index best = n / 2;
  const auto try_all = [&](Eigen::Index from, Eigen::Index to, Eigen::Index by) {
    for (Eigen::Index i = std::max(from, margin); i <= std::min(to, n - margin); i += by) {
      const double rss = white_rss(problem, law, {(problem.u[i - 1] + problem.u[i]) / 2});
      if (rss < least) least = rss, best = i;
    }
  };
  try_all(margin, n - margin, stride);
  if (stride > 1) try_all(best - stride, best + stride, 1);
  return (problem.u[best - 1] + problem.u[best]) / 2;
}

/// Both jumps at once from prefix sums; n is a few hundred at most.
std::vector<double> best_two_jumps(const Problem& problem) {
  const Eigen::Index n = problem.u.size(), margin = n < 30 ? 2 : 3;
  std::vector<double> weight(1, 0.0), sum(1, 0.0);
  for (Eigen::Index i = 0; i < n; ++i) {
    weight.push_back(weight.back() + problem.root[i] * problem.root[i]);
    sum.push_back(sum.back() + problem.root[i] * problem.y[i]);
  }
  const auto gain = [&](Eigen::Index from, Eigen::Index to) {
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    return (sum[b] - sum[a]) * (sum[b] - sum[a]) / (weight[b] - weight[a]);
  };
  double most = -1;
  Eigen::Index first = n / 3, second = 2 * n / 3;
  for (Eigen::Index i = margin; i + 2 * margin <= n; ++i) {
    for (Eigen::Index j = i + margin; j + margin <= n; ++j) {
      const double total = gain(0, i) + gain(i, j) + gain(j, n);
      if (total > most) most = total, first = i, second = j;
    }
  }
  return {(problem.u[first - 1] + problem.u[first]) / 2, (problem.u[second - 1] + problem.u[second]) / 2};
}

/// The design with a column for each smooth theta: how the curve moves when theta does.
Matrix with_theta(const Problem& problem, const Fit& fit, const Matrix& design) {
  if (!has_smooth_theta(fit.law)) return design;
  Matrix wide(design.rows(), design.cols() + 1);
  wide.leftCols(design.cols()) = design;
  const double nudge = 1e-4 * fit.theta[0];
  for (Eigen::Index i = 0; i < design.rows(); ++i) {
    const double up = value_at(fit.law, fit.beta, {fit.theta[0] + nudge}, problem.u[i]);
    const double down = value_at(fit.law, fit.beta, {fit.theta[0] - nudge}, problem.u[i]);
    wide(i, design.cols()) = (up - down) / (2 * nudge) * problem.root[i];
  }
  return wide;
}

void set_covariance(Fit& fit, const Problem& problem, const Matrix& design, double variance) {
  Matrix wide = whitened(with_theta(problem, fit, design), fit.rho);
  Vector scale = wide.colwise().norm().transpose();
  for (Eigen::Index i = 0; i < scale.size(); ++i) scale[i] = scale[i] > 0 ? 1 / scale[i] : 1;
  wide = wide * scale.asDiagonal();
  Matrix normal = wide.transpose() * wide;
  normal.diagonal().array() += 1e-9;
  const Matrix inverse = scale.asDiagonal() * normal.inverse() * scale.asDiagonal() * variance;
  fit.covariance.assign(inverse.data(), inverse.data() + inverse.size());
}

/// The curve's derivative by its free parameters at u.
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
  const Problem problem(points);
  const Matrix design = problem.design(law, theta);
  const auto n = static_cast<double>(points.size());
  const double least = n * points.floor * points.floor;
  const int base = static_cast<int>(design.cols() + static_cast<Eigen::Index>(theta.size())) + 1;
  // A position that was searched among n costs more than a parameter that is estimated (Zhang and Siegmund 2007).
  const double searched = has_smooth_theta(law) ? 0 : static_cast<double>(theta.size()) * std::log(n);
  Fit best;
  best.score = std::numeric_limits<double>::infinity();
  double innovation = 0;
  Vector chosen;
  for (const double rho : rho_grid) {
    if (rho > 0 && !autocorrelated) break;
    const Matrix rows = whitened(design, rho);
    const Vector target = whitened(problem.y, rho);
    const Vector beta = solve(rows, target);
    const double squares = (target - rows * beta).squaredNorm(), rss = std::max(squares, least);
    const int k = base + (rho > 0 ? 1 : 0);
    const double score = criterion(rss, points.size(), k) - std::log(1 - rho * rho) + searched;
    if (rho > 0 && !(score < best.score)) continue;
    best.score = score, best.rho = rho, best.parameters = k;
    innovation = squares, chosen = beta;
  }
  best.law = law, best.theta = std::move(theta), best.origin = problem.origin, best.width = problem.width;
  best.freedom = std::max(1.0, n - best.parameters + 1);
  const double variance = std::max(innovation / best.freedom, points.floor * points.floor);
  best.sigma = std::sqrt(variance / (1 - best.rho * best.rho));
  best.beta.assign(chosen.data(), chosen.data() + chosen.size());
  set_covariance(best, problem, design, variance);
  const bool cyclic = law == Law::cycle || law == Law::cycle_line;
  for (std::size_t i = 0; i < best.beta.size(); ++i)
    if (i == 0 || has_levels(law) || (cyclic && i < cycle_levels)) best.beta[i] += problem.level;
  for (std::size_t i = 0; i < points.size(); ++i) {
    best.residuals.push_back(points.y[i] - best.at(points.x[i]));
    best.rss += best.residuals.back() * best.residuals.back();
  }
  return best;
}

Fit fit_law(Law law, const Points& points, bool autocorrelated) {
  const Problem problem(points);
  std::vector<double> theta;
  if (has_smooth_theta(law)) theta = {best_theta(problem, law)};
  if (law == Law::step || law == Law::step_line) theta = {best_jump(problem, law)};
  if (law == Law::two_steps) theta = best_two_jumps(problem);
  return fit_at(law, std::move(theta), points, autocorrelated);
}

Inflation inflation(const Fit& fit, double floor) {
  const auto n = static_cast<double>(fit.residuals.size());
  // Residuals below the print step are its pattern, not noise.
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
