// Least squares, because every law is linear in its coefficients for a fixed parameter (a rate, a knot, a position).
// law_search searches that parameter, and this file solves for the rest. Steps are centred and scaled to 0 … 1 first: a
// parabola in raw step numbers loses all digits.
//
// Memory drifts: neighbouring values are similar, and with white-noise errors every slow wave would look like a trend.
// So each law is also fitted with first-order autocorrelated noise (Prais and Winsten 1954, rho on a grid), which costs
// one parameter. The print step is a floor for the residual sum: without it a quantised constant has no noise, and
// every slope is infinitely significant.
#include "growth/fitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>

#include "growth/law_search.h"

namespace oomdoctor {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// The products of a law's columns, one more column and the derivative by theta: all laws but stairs have few. Each fit
/// makes dozens of these matrices, and the heap took a fifth of its time.
constexpr int few_columns = static_cast<int>(cycle_levels) + 3;
using FewColumns = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, few_columns, few_columns>;

/// The coefficients of as many columns as a matrix of products has.
template <typename Square>
using CoefficientsOf = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, Square::MaxRowsAtCompileTime, 1>;

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
    const auto [min_squares, highest] = std::minmax_element(points.y.begin(), points.y.end());
    level = std::clamp(level / total, *min_squares, *highest);
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
template <typename Out, typename Left, typename Right>
Out multiply_columns(const Left& left, const Right& right) {
  Out out(left.cols(), right.cols());
  for (Eigen::Index j = 0; j < right.cols(); ++j)
    for (Eigen::Index i = 0; i < left.cols(); ++i) out(i, j) = left.col(i).dot(right.col(j));
  return out;
}

/// The products of the columns with themselves. The matrix is symmetric, so half of them suffice.
template <typename Square>
Square square_columns(const Matrix& rows) {
  Square out(rows.cols(), rows.cols());
  for (Eigen::Index j = 0; j < rows.cols(); ++j)
    for (Eigen::Index i = 0; i <= j; ++i) out(i, j) = out(j, i) = rows.col(i).dot(rows.col(j));
  return out;
}

/// The products of whitened columns for every rho, from one pass over the rows. With a' as the row before a, the
/// product (a − ρ a')(b − ρ b') is a sum of four products with ρ only as a factor.
template <typename Square>
struct WhitenedProducts {
  Square same_row;  ///< of each row with itself
  Square next_row;  ///< of each row with the previous one, in both orders
  Square ends;      ///< of the first and the last row, which have only one neighbour

  explicit WhitenedProducts(const Matrix& rows) : same_row(square_columns<Square>(rows)) {
    const Eigen::Index n = rows.rows();
    const auto one_way = multiply_columns<Square>(rows.bottomRows(n - 1), rows.topRows(n - 1));
    next_row = one_way + one_way.transpose();
    ends = rows.row(0).transpose() * rows.row(0) + rows.row(n - 1).transpose() * rows.row(n - 1);
  }

  Square at(double rho) const { return (1 + rho * rho) * same_row - rho * next_row - rho * rho * ends; }
};

/// Solves the normal equations with a tiny ridge. It keeps a constant column (a knot after the last value) from
/// dividing by zero.
template <typename Square>
CoefficientsOf<Square> solve(Square normal, const CoefficientsOf<Square>& right) {
  normal.diagonal().array() += 1e-13 * normal.diagonal().maxCoeff();
  return normal.ldlt().solve(right);
}

/// The weighted columns plus one for a smooth theta: the derivative of the curve by theta.
Matrix with_theta(const Problem& problem, const Fit& fit, Matrix design) {
  if (!has_smooth_theta(fit.law)) return design;
  const double nudge = 1e-4 * fit.theta[0];
  const Vector up = evaluate_curve(problem.columns(fit.law, {fit.theta[0] + nudge}), fit.beta);
  const Vector down = evaluate_curve(problem.columns(fit.law, {fit.theta[0] - nudge}), fit.beta);
  design.conservativeResize(Eigen::NoChange, design.cols() + 1);
  design.rightCols(1) = problem.weighted((up - down) / (2 * nudge));
  return design;
}

/// Sets the covariance of beta and a smooth theta from the weighted columns, whitened and scaled to unit norm before
/// the inversion.
void set_covariance(Fit& fit, const Problem& problem, Matrix design, double variance) {
  Matrix wide = whiten(with_theta(problem, fit, std::move(design)), fit.rho);
  Vector scale = wide.colwise().norm().transpose();
  for (Eigen::Index i = 0; i < scale.size(); ++i) scale[i] = scale[i] > 0 ? 1 / scale[i] : 1;
  constexpr double ridge = 1e-9;
  wide = wide * scale.asDiagonal();
  auto normal = square_columns<Matrix>(wide);
  normal.diagonal().array() += ridge;
  const Matrix inverse = scale.asDiagonal() * normal.inverse() * scale.asDiagonal() * variance;
  fit.covariance.assign(inverse.data(), inverse.data() + inverse.size());
}

/// The noise model with the best score, and its coefficients.
struct Solution {
  Vector beta;
  double rho = 0, squares = 0, score = 0;
  int parameters = 0;
};

/// The number of parameters without rho.
int count_parameters(std::size_t coefficients, const std::vector<double>& theta) {
  return static_cast<int>(coefficients + theta.size()) + 1;
}

/// The score of a solution.
double score_of(const Solution& solution, Law law, const std::vector<double>& theta, const Points& points) {
  const auto n = static_cast<double>(points.size());
  // A position searched among n costs more than an estimated parameter (Zhang and Siegmund 2007).
  const double searched = has_smooth_theta(law) ? 0 : static_cast<double>(theta.size()) * std::log(n);
  return criterion(std::max(solution.squares, n * points.floor * points.floor), points.size(), solution.parameters) -
         std::log(1 - solution.rho * solution.rho) + searched;
}

/// Finds the coefficients and the rho with the best score.
template <typename Square>
Solution solve_for(const Matrix& design, Law law, const std::vector<double>& theta, const Points& points,
                   const Vector& y, bool autocorrelated) {
  const Eigen::Index k = design.cols();
  Solution best;
  using Coefficients = CoefficientsOf<Square>;
  best.beta = solve(square_columns<Square>(design), multiply_columns<Coefficients>(design, y));
  const Vector plain = best.beta, residuals = y - design * plain;
  best.squares = residuals.squaredNorm();
  best.parameters = count_parameters(static_cast<std::size_t>(k), theta);
  best.score = score_of(best, law, theta, points);
  if (!autocorrelated) return best;
  // Solve for the residuals instead of y. Then rho only changes the first coefficients by a small correction, and the
  // difference of squares loses no digits.
  Matrix rows(design.rows(), k + 1);
  rows << design, residuals;
  const WhitenedProducts<Square> products(rows);
  for (const double rho : rho_grid) {
    const Square sums = products.at(rho);
    const Square normal = sums.topLeftCorner(k, k);
    const Coefficients right = sums.col(k).head(k);
    const Coefficients change = solve(normal, right);
    const double squares = sums(k, k) - 2 * change.dot(right) + change.dot(normal * change);
    Solution other{plain + change, rho, std::max(0.0, squares), 0,
                   count_parameters(static_cast<std::size_t>(k), theta) + 1};
    other.score = score_of(other, law, theta, points);
    if (other.score < best.score) best = std::move(other);
  }
  return best;
}

double variance_of(const Solution& solution, const Fit& fit, const Points& points) {
  return std::max(solution.squares / fit.freedom, points.floor * points.floor);
}

/// A fit without its covariance and its residuals. Its coefficients do not contain the mean.
Fit begin_fit(Law law, std::vector<double> theta, const Solution& solution, const Problem& problem,
              const Points& points) {
  Fit fit;
  fit.law = law, fit.theta = std::move(theta), fit.origin = problem.origin, fit.width = problem.width;
  fit.score = solution.score, fit.rho = solution.rho, fit.parameters = solution.parameters;
  fit.freedom = std::max(1.0, static_cast<double>(points.size()) - fit.parameters + 1);
  fit.sigma = std::sqrt(variance_of(solution, fit, points) / (1 - fit.rho * fit.rho));
  fit.beta.assign(solution.beta.data(), solution.beta.data() + solution.beta.size());
  return fit;
}

void add_residual(Fit& fit, double residual) {
  fit.residuals.push_back(residual);
  fit.rss += residual * residual;
}

}  // namespace

struct Fitter::Prepared {
  explicit Prepared(const Points& points) : problem(points) {}

  Problem problem;
  std::optional<LawSearch> search;  ///< made for the first law that needs it
};

Fitter::Fitter(const Points& points) : points_(points), prepared_(std::make_unique<Prepared>(points)) {}

Fitter::~Fitter() = default;

Fit Fitter::fit(Law law, bool autocorrelated) {
  if (!is_searched(law)) return fit_at(law, {}, autocorrelated);
  auto& search = prepared_->search;
  if (!search) search.emplace(prepared_->problem.rows());
  return fit_at(law, search->best_theta(law), autocorrelated);
}

// Adds the mean back to the coefficients.
Fit Fitter::fit_at(Law law, std::vector<double> theta, bool autocorrelated) const {
  const Problem& problem = prepared_->problem;
  const Matrix columns = problem.columns(law, theta);
  Matrix design = problem.weighted(columns);
  const auto solve_with = design.cols() < few_columns ? solve_for<FewColumns> : solve_for<Matrix>;
  const Solution solution = solve_with(design, law, theta, points_, problem.y, autocorrelated);
  Fit fit = begin_fit(law, std::move(theta), solution, problem, points_);
  set_covariance(fit, problem, std::move(design), variance_of(solution, fit, points_));
  const bool cyclic = law == Law::cycle || law == Law::cycle_line;
  for (std::size_t i = 0; i < fit.beta.size(); ++i)
    if (i == 0 || has_levels(law) || (cyclic && i < cycle_levels)) fit.beta[i] += problem.level;
  const Vector curve = evaluate_curve(columns, fit.beta);
  fit.residuals.reserve(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i)
    add_residual(fit, points_.y[i] - curve[static_cast<Eigen::Index>(i)]);
  return fit;
}

// Each value belongs to one level, so the mean of each level is its coefficient. There may be a hundred levels, and a
// matrix with a column for each took longer than all other laws together.
Fit Fitter::fit_levels(Law law, std::vector<double> changes) const {
  const Problem& problem = prepared_->problem;
  std::vector<Eigen::Index> level_of(points_.size());
  Vector weight = Vector::Zero(static_cast<Eigen::Index>(changes.size()) + 1), sum = weight;
  Eigen::Index level = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    while (static_cast<std::size_t>(level) < changes.size() &&
           changes[static_cast<std::size_t>(level)] <= problem.u[row])
      ++level;
    level_of[i] = level;
    weight[level] += problem.root[row] * problem.root[row];
    sum[level] += problem.root[row] * problem.y[row];
  }
  Solution solution;
  solution.beta = sum.cwiseQuotient((weight.array() + 1e-13 * weight.maxCoeff()).matrix());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double residual = problem.y[row] - problem.root[row] * solution.beta[level_of[i]];
    solution.squares += residual * residual;
  }
  solution.parameters = count_parameters(changes.size() + 1, changes);
  solution.score = score_of(solution, law, changes, points_);
  Fit fit = begin_fit(law, std::move(changes), solution, problem, points_);
  const double variance = variance_of(solution, fit, points_);
  for (std::size_t k = 0; k < fit.beta.size(); ++k) {
    const double own = weight[static_cast<Eigen::Index>(k)];
    fit.covariance.push_back(own > 0 ? variance / own : variance);
    fit.beta[k] += problem.level;
  }
  fit.residuals.reserve(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i)
    add_residual(fit, points_.y[i] - fit.beta[static_cast<std::size_t>(level_of[i])]);
  return fit;
}

Fit fit_at(Law law, std::vector<double> theta, const Points& points, bool autocorrelated) {
  return Fitter(points).fit_at(law, std::move(theta), autocorrelated);
}

Fit fit_law(Law law, const Points& points, bool autocorrelated) { return Fitter(points).fit(law, autocorrelated); }

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

}  // namespace oomdoctor
