// A grid, because the square sum may have several minima, then Brent's search in the deepest one. For jumps: a hundred
// positions, then every position around the best. That is about fifty trials per law and a dozen laws per series, which
// dominates the time of a report. So no trial builds the columns of its law. A square sum needs only the sums of their
// products. For piecewise linear columns (knots, jumps) these follow from prefix and suffix sums, in constant time for
// any number of values. Only curves look at each value, in vectors of processor width; their grid looks at blocks.
//
// The cost of this method: y² − (explained part) loses digits if almost nothing remains. About thirteen digits below
// the y² of the window remain, while every law has an allowed imperfection in the sixth. The returned theta gets its
// score and coefficients from the residuals again.
#include "growth/law_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <boost/math/tools/minima.hpp>

namespace oomdoctor {

namespace {

Eigen::Map<const Eigen::ArrayXd> array_of(std::span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

Eigen::Map<Eigen::ArrayXd> array_of(std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

/// Sums of the products of a law's columns with each other and with y; the first column is the constant.
template <int columns>
struct Products {
  Eigen::Matrix<double, columns, columns> with_each_other;
  Eigen::Matrix<double, columns, 1> with_y;

  /// The residual square sum, with a tiny ridge as in fitter.cc.
  double rss(double square_y) const {
    Eigen::Matrix<double, columns, columns> ridged = with_each_other;
    ridged.diagonal().array() += 1e-13 * with_each_other.diagonal().maxCoeff();
    const Eigen::Matrix<double, columns, 1> beta = ridged.ldlt().solve(with_y);
    return square_y - 2 * beta.dot(with_y) + beta.dot(with_each_other * beta);
  }
};

/// Blocks that the grid of a curve is rated on: its cells are far wider than what blocks blur.
constexpr std::size_t max_blocks = 100;

/// The values of theta to search.
struct ThetaRange {
  double low, high;
  bool logarithmic;
};

/// The range of theta. A knot needs at least three values, or a tenth of a longer series, on each side whose slope it
/// determines: with fewer, growth has neither begun nor stopped. Only a start-up may be shorter.
ThetaRange theta_range(Law law, std::span<const double> u) {
  const std::size_t n = u.size(), side = std::max<std::size_t>(3, n / 10);
  const double early = u[std::min(side - 1, n - 1)], tail = u[n > 1 + side ? n - 1 - side : 0];
  switch (law) {
    case Law::exponential:
      return {0.2, 12, true};
    case Law::logarithmic:
      return {3, 1e4, true};
    case Law::saturating:
      return {std::max(0.01, u[1] / 3), 1.5, true};
    case Law::ramp:
    case Law::bend:
      return {u[1], std::max(tail, u[1]), false};
    default:
      return {early, std::max(tail, early), false};
  }
}

}  // namespace

LawSearch::EndSums LawSearch::EndSums::plus(double distance, double root, double rooted_y) const {
  const double own = root * root, product = root * rooted_y;
  return {weight + own, at + own * distance, at_at + own * distance * distance, y + product, at_y + product * distance};
}

LawSearch::LawSearch(const WeightedRows& rows)
    : u_(rows.u),
      rows_{{u_.begin(), u_.end()}, std::vector<double>(u_.size()), std::vector<double>(u_.size())},
      column_(u_.size()),
      square_y_(array_of(rows.y).matrix().squaredNorm()),
      before_(u_.size() + 1),
      after_(u_.size() + 1) {
  const std::size_t n = u_.size();
  for (std::size_t i = 0; i < n; ++i) rows_.weight[i] = rows.root[i] * rows.root[i];
  for (std::size_t i = 0; i < n; ++i) rows_.weighted_y[i] = rows.root[i] * rows.y[i];
  blocks_ = rows_.in_blocks(std::min(n, max_blocks));
  for (std::size_t i = 0; i < n; ++i) before_[i + 1] = before_[i].plus(u_[i], rows.root[i], rows.y[i]);
  for (std::size_t i = n; i-- > 0;) after_[i] = after_[i + 1].plus(1 - u_[i], rows.root[i], rows.y[i]);
}

/// The position between two values at which a jump may be.
double LawSearch::gap_before(std::size_t i) const { return (u_[i - 1] + u_[i]) / 2; }

/// The minimum number of values in a level.
std::size_t LawSearch::min_level() const { return u_.size() < 30 ? 2 : 3; }

LawSearch::CurveRows LawSearch::CurveRows::in_blocks(std::size_t count) const {
  CurveRows blocks;
  for (std::size_t block = 0; block < count; ++block) {
    double at = 0, sum = 0, sum_y = 0;
    for (std::size_t i = block * u.size() / count; i < (block + 1) * u.size() / count; ++i)
      at += weight[i] * u[i], sum += weight[i], sum_y += weighted_y[i];
    blocks.u.push_back(at / sum);
    blocks.weight.push_back(sum);
    blocks.weighted_y.push_back(sum_y);
  }
  return blocks;
}

double LawSearch::rss(Law law, double theta, const CurveRows& rows) {
  const auto u = array_of(std::span(rows.u));
  auto column = array_of(column_).head(u.size());
  switch (law) {
    case Law::exponential:
      column = ((theta * u).exp() - 1) * (1 / std::expm1(theta));
      return curve_rss(rows);
    case Law::logarithmic:
      column = (1 + theta * u).log() * (1 / std::log1p(theta));
      return curve_rss(rows);
    case Law::saturating:
      column = 1 - (u * (-1 / theta)).exp();
      return curve_rss(rows);
    case Law::late:
    case Law::ramp:
    case Law::bend:
      return knot_rss(law, theta);
    default:
      return jump_rss(law, theta);
  }
}

double LawSearch::curve_rss(const CurveRows& rows) const {
  const EndSums& all = before_.back();
  const auto weight = array_of(std::span(rows.weight));
  const auto column = array_of(std::span(column_)).head(weight.size());
  const double square = (weight * column * column).sum(), sum = (weight * column).sum();
  Products<2> products;
  products.with_each_other << all.weight, sum, sum, square;
  products.with_y << all.y, (array_of(std::span(rows.weighted_y)) * column).sum();
  return products.rss(square_y_);
}

double LawSearch::knot_rss(Law law, double knot) const {
  const auto next = static_cast<std::size_t>(std::upper_bound(u_.begin(), u_.end(), knot) - u_.begin());
  const EndSums &all = before_.back(), &before = before_[next], &after = after_[next];
  const double rest = 1 - knot;
  // ramp column: a line from 0 to 1 up to the knot, then 1.
  const double up = before.at / knot + after.weight, up_up = before.at_at / (knot * knot) + after.weight;
  const double up_y = before.at_y / knot + after.y;
  // late column: 0 up to the knot, then a line from 0 to 1, which is 1 minus the distance from the end.
  const double late = after.weight - after.at / rest;
  const double late_late = after.weight - 2 * after.at / rest + after.at_at / (rest * rest);
  const double late_y = after.y - after.at_y / rest;
  if (law == Law::bend) {
    Products<3> products;
    products.with_each_other << all.weight, up, late, up, up_up, late, late, late, late_late;
    products.with_y << all.y, up_y, late_y;
    return products.rss(square_y_);
  }
  Products<2> products;
  if (law == Law::ramp)
    products.with_each_other << all.weight, up, up, up_up;
  else
    products.with_each_other << all.weight, late, late, late_late;
  products.with_y << all.y, law == Law::ramp ? up_y : late_y;
  return products.rss(square_y_);
}

double LawSearch::jump_rss(Law law, double jump) const {
  const auto first = static_cast<std::size_t>(std::lower_bound(u_.begin(), u_.end(), jump) - u_.begin());
  const EndSums &all = before_.back(), &after = after_[first];
  if (law == Law::step) {
    Products<2> products;
    products.with_each_other << all.weight, after.weight, after.weight, after.weight;
    products.with_y << all.y, after.y;
    return products.rss(square_y_);
  }
  const double line = all.at - all.weight / 2, line_line = all.at_at - all.at + all.weight / 4;
  const double line_after = after.weight / 2 - after.at;
  Products<3> products;
  products.with_each_other << all.weight, line, after.weight,  //
      line, line_line, line_after,                             //
      after.weight, line_after, after.weight;
  products.with_y << all.y, all.at_y - all.y / 2, after.y;
  return products.rss(square_y_);
}

double LawSearch::find_smooth_theta(Law law) {
  constexpr int cells = 40;
  const ThetaRange range = theta_range(law, u_);
  const auto theta_at = [&](int i) {
    const double share = static_cast<double>(std::clamp(i, 0, cells)) / cells;
    return range.logarithmic ? range.low * std::pow(range.high / range.low, share)
                             : range.low + (range.high - range.low) * share;
  };
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= cells; ++i)
    if (const double residual = rss(law, theta_at(i), blocks_); residual < least) least = residual, best = i;
  const auto residual = [&](double theta) { return rss(law, theta); };
  const auto is_lower = [&](int i) { return i >= 0 && i <= cells && residual(theta_at(i)) < residual(theta_at(best)); };
  for (const int direction : {-1, 1})  // blocks may be off by a cell
    while (is_lower(best + direction)) best += direction;
  constexpr int bits = 24;  // of theta; the residual no longer changes then
  std::uintmax_t most_trials = 30;
  return boost::math::tools::brent_find_minima(residual, theta_at(best - 1), theta_at(best + 1), bits, most_trials)
      .first;
}

/// The best single jump (with or without a line): a hundred positions, then every position around the best.
double LawSearch::find_jump(Law law) {
  const std::size_t n = u_.size(), shortest = min_level(), stride = std::max<std::size_t>(1, n / 100);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = n / 2;
  const auto try_all = [&](std::size_t from, std::size_t to, std::size_t by) {
    for (std::size_t i = std::max(from, shortest); i <= std::min(to, n - shortest); i += by)
      if (const double residual = rss(law, gap_before(i)); residual < least) least = residual, best = i;
  };
  try_all(shortest, n - shortest, stride);
  if (stride > 1) try_all(best - std::min(best, stride), best + stride, 1);
  return gap_before(best);
}

/// Finds both jumps of `two_steps` together. n is a few hundred at most.
std::vector<double> LawSearch::find_two_jumps() const {
  const std::size_t n = u_.size(), min_level_size = min_level();
  const auto gain = [](double sum, double weight) { return sum * sum / weight; };
  std::vector<double> sum(n + 1), weight(n + 1), last(n + 1), total(n + 1);
  for (std::size_t i = 0; i <= n; ++i) sum[i] = before_[i].y, weight[i] = before_[i].weight;
  for (std::size_t i = 0; i < n; ++i) last[i] = gain(sum[n] - sum[i], weight[n] - weight[i]);
  double max_gain = -1;
  std::size_t first = n / 3, second = 2 * n / 3;
  for (std::size_t i = min_level_size; i + 2 * min_level_size <= n; ++i) {
    const double sum_i = sum[i], weight_i = weight[i], head = gain(sum_i, weight_i);
    const std::size_t from = i + min_level_size, to = n - min_level_size;
    // Compute all gains first and then the maximum: the compiler vectorises a loop without a running maximum.
    for (std::size_t j = from; j <= to; ++j) total[j] = head + gain(sum[j] - sum_i, weight[j] - weight_i) + last[j];
    const auto best = std::max_element(total.begin() + static_cast<std::ptrdiff_t>(from),
                                       total.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    if (*best > max_gain) max_gain = *best, first = i, second = static_cast<std::size_t>(best - total.begin());
  }
  return {gap_before(first), gap_before(second)};
}

bool is_searched(Law law) {
  return has_smooth_theta(law) || law == Law::step || law == Law::step_line || law == Law::two_steps;
}

std::vector<double> LawSearch::best_theta(Law law) {
  if (law == Law::two_steps) return find_two_jumps();
  return {has_smooth_theta(law) ? find_smooth_theta(law) : find_jump(law)};
}

}  // namespace oomdoctor
