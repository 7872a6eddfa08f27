// A grid, because the square sum may have several valleys, then golden section in the deepest; for jumps a hundred
// places, then every place around the best. That is about seventy trials a law, a dozen laws a series: what a report
// waits for. So no trial builds the columns of its law to multiply them: a square sum needs nothing but the sums of
// their products, and for columns made of straight pieces (knots, jumps) these follow from sums over the values before
// and behind the place, whatever the number of values. Only curves look at each value, in vectors of processor width.
//
// The price: y² − (what is explained) has lost digits where next to nothing is left. About thirteen below the y² of the
// window remain, and every law is allowed an imperfection in the sixth; scores and coefficients are worked out again,
// from the residuals, for the theta that is returned.
#include "analysis/law_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace oomdoctor {

namespace {

using Index = Eigen::Index;

/// Sums over the first values or over the last ones; `at` is the distance from that end, so that a short end keeps its
/// digits.
struct EndSums {
  double weight = 0, at = 0, at_at = 0, y = 0, at_y = 0;

  EndSums with(double distance, double root, double rooted_y) const {
    const double own = root * root, product = root * rooted_y;
    return {weight + own, at + own * distance, at_at + own * distance * distance, y + product,
            at_y + product * distance};
  }
};

/// Sums of the products of a law's columns with each other and with y; the first column is the constant.
template <int columns>
struct Products {
  Eigen::Matrix<double, columns, columns> with_each_other;
  Eigen::Matrix<double, columns, 1> with_y;

  /// With a whiff of a ridge, as in fit.cc.
  double rss(double square_y) const {
    Eigen::Matrix<double, columns, columns> ridged = with_each_other;
    ridged.diagonal().array() += 1e-13 * with_each_other.diagonal().maxCoeff();
    const Eigen::Matrix<double, columns, 1> beta = ridged.ldlt().solve(with_y);
    return square_y - 2 * beta.dot(with_y) + beta.dot(with_each_other * beta);
  }
};

class Search {
 public:
  Search(Law law, const WeightedRows& rows)
      : law_(law),
        u_(rows.u),
        at_(Eigen::Map<const Eigen::ArrayXd>(rows.u.data(), static_cast<Index>(rows.u.size()))),
        before_(rows.u.size() + 1),
        behind_(rows.u.size() + 1) {
    const Eigen::Map<const Eigen::ArrayXd> root(rows.root.data(), at_.size()), y(rows.y.data(), at_.size());
    weight_ = root * root;
    weighted_y_ = root * y;
    square_y_ = y.matrix().squaredNorm();
    const std::size_t n = u_.size();
    for (std::size_t i = 0; i < n; ++i) before_[i + 1] = before_[i].with(u_[i], rows.root[i], rows.y[i]);
    for (std::size_t i = n; i-- > 0;) behind_[i] = behind_[i + 1].with(1 - u_[i], rows.root[i], rows.y[i]);
  }

  std::span<const double> u() const { return u_; }

  /// What the law leaves at this theta.
  double rss(double theta) {
    switch (law_) {
      case Law::exponential:
        column_ = ((theta * at_).exp() - 1) * (1 / std::expm1(theta));
        return curve_rss();
      case Law::logarithmic:
        column_ = (1 + theta * at_).log() * (1 / std::log1p(theta));
        return curve_rss();
      case Law::saturating:
        column_ = 1 - (at_ * (-1 / theta)).exp();
        return curve_rss();
      case Law::late:
      case Law::ramp:
      case Law::bend:
        return knot_rss(theta, static_cast<std::size_t>(std::upper_bound(u_.begin(), u_.end(), theta) - u_.begin()));
      default:
        return jump_rss(static_cast<std::size_t>(std::lower_bound(u_.begin(), u_.end(), theta) - u_.begin()));
    }
  }

  /// Both jumps of `two_steps` at once; n is a few hundred at most.
  std::vector<double> best_two_jumps() const;

  /// The place between two values, where a jump may be.
  double gap_before(std::size_t i) const { return (u_[i - 1] + u_[i]) / 2; }

  /// How many values a level has at least.
  std::size_t margin() const { return u_.size() < 30 ? 2 : 3; }

 private:
  double curve_rss() {
    const EndSums& all = before_.back();
    const double square = (weight_ * column_ * column_).sum(), sum = (weight_ * column_).sum();
    Products<2> products;
    products.with_each_other << all.weight, sum, sum, square;
    products.with_y << all.y, (weighted_y_ * column_).sum();
    return products.rss(square_y_);
  }

  /// The knot lies in front of value `next`.
  double knot_rss(double knot, std::size_t next) const {
    const EndSums &all = before_.back(), &before = before_[next], &behind = behind_[next];
    const double rest = 1 - knot;
    // Up to the knot a line from 0 to 1, then 1.
    const double up = before.at / knot + behind.weight, up_up = before.at_at / (knot * knot) + behind.weight;
    const double up_y = before.at_y / knot + behind.y;
    // Up to the knot 0, then a line from 0 to 1: 1 less the distance from the end.
    const double late = behind.weight - behind.at / rest;
    const double late_late = behind.weight - 2 * behind.at / rest + behind.at_at / (rest * rest);
    const double late_y = behind.y - behind.at_y / rest;
    if (law_ == Law::bend) {
      Products<3> products;
      products.with_each_other << all.weight, up, late, up, up_up, late, late, late, late_late;
      products.with_y << all.y, up_y, late_y;
      return products.rss(square_y_);
    }
    Products<2> products;
    if (law_ == Law::ramp)
      products.with_each_other << all.weight, up, up, up_up;
    else
      products.with_each_other << all.weight, late, late, late_late;
    products.with_y << all.y, law_ == Law::ramp ? up_y : late_y;
    return products.rss(square_y_);
  }

  /// Value `first` is the first one behind the jump.
  double jump_rss(std::size_t first) const {
    const EndSums &all = before_.back(), &behind = behind_[first];
    if (law_ == Law::step) {
      Products<2> products;
      products.with_each_other << all.weight, behind.weight, behind.weight, behind.weight;
      products.with_y << all.y, behind.y;
      return products.rss(square_y_);
    }
    const double line = all.at - all.weight / 2, line_line = all.at_at - all.at + all.weight / 4;
    const double line_behind = behind.weight / 2 - behind.at;
    Products<3> products;
    products.with_each_other << all.weight, line, behind.weight,  //
        line, line_line, line_behind,                             //
        behind.weight, line_behind, behind.weight;
    products.with_y << all.y, all.at_y - all.y / 2, behind.y;
    return products.rss(square_y_);
  }

  Law law_;
  std::span<const double> u_;
  Eigen::ArrayXd at_, weight_, weighted_y_, column_;
  double square_y_ = 0;
  std::vector<EndSums> before_, behind_;  ///< of the values before number i, and from i on
};

std::vector<double> Search::best_two_jumps() const {
  const std::size_t n = u_.size(), least = margin();
  const auto gain = [](double sum, double weight) { return sum * sum / weight; };
  std::vector<double> sum(n + 1), weight(n + 1), last(n + 1), total(n + 1);
  for (std::size_t i = 0; i <= n; ++i) sum[i] = before_[i].y, weight[i] = before_[i].weight;
  for (std::size_t i = 0; i < n; ++i) last[i] = gain(sum[n] - sum[i], weight[n] - weight[i]);
  double most = -1;
  std::size_t first = n / 3, second = 2 * n / 3;
  for (std::size_t i = least; i + 2 * least <= n; ++i) {
    const double sum_i = sum[i], weight_i = weight[i], head = gain(sum_i, weight_i);
    const std::size_t from = i + least, to = n - least;
    // All gains first and then the greatest: what does not depend on the best so far, the compiler makes vectors of.
    for (std::size_t j = from; j <= to; ++j) total[j] = head + gain(sum[j] - sum_i, weight[j] - weight_i) + last[j];
    const auto best = std::max_element(total.begin() + static_cast<std::ptrdiff_t>(from),
                                       total.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    if (*best > most) most = *best, first = i, second = static_cast<std::size_t>(best - total.begin());
  }
  return {gap_before(first), gap_before(second)};
}

struct Range {
  double low, high;
  bool logarithmic;
};

/// Where theta is looked for. A knot keeps at least three values, or a tenth of a longer series, on either side whose
/// slope it decides: less has neither begun to grow nor stopped growing. Only a start-up may be shorter.
Range range_of(Law law, std::span<const double> u) {
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

double golden(Search& search, double low, double high) {
  constexpr double ratio = 0.6180339887498949;
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double at_a = search.rss(a), at_b = search.rss(b);
  for (int i = 0; i < 22; ++i) {
    if (at_a <= at_b) {
      high = b, b = a, at_b = at_a;
      a = high - ratio * (high - low);
      at_a = search.rss(a);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + ratio * (high - low);
      at_b = search.rss(b);
    }
  }
  return at_a <= at_b ? a : b;
}

double best_smooth(Search& search, Law law) {
  constexpr int cells = 40;
  const Range range = range_of(law, search.u());
  const auto place = [&](int i) {
    const double share = static_cast<double>(std::clamp(i, 0, cells)) / cells;
    return range.logarithmic ? range.low * std::pow(range.high / range.low, share)
                             : range.low + (range.high - range.low) * share;
  };
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= cells; ++i) {
    const double rss = search.rss(place(i));
    if (rss < least) least = rss, best = i;
  }
  return golden(search, place(best - 1), place(best + 1));
}

/// One jump (with or without a line): a hundred places, then every place around the best.
double best_jump(Search& search) {
  const std::size_t n = search.u().size(), margin = search.margin(), stride = std::max<std::size_t>(1, n / 100);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = n / 2;
  const auto try_all = [&](std::size_t from, std::size_t to, std::size_t by) {
    for (std::size_t i = std::max(from, margin); i <= std::min(to, n - margin); i += by) {
      const double rss = search.rss(search.gap_before(i));
      if (rss < least) least = rss, best = i;
    }
  };
  try_all(margin, n - margin, stride);
  if (stride > 1) try_all(best - std::min(best, stride), best + stride, 1);
  return search.gap_before(best);
}

}  // namespace

std::vector<double> best_theta(Law law, const WeightedRows& rows) {
  const bool jump = law == Law::step || law == Law::step_line;
  if (!jump && law != Law::two_steps && !has_smooth_theta(law)) return {};
  Search search(law, rows);
  if (law == Law::two_steps) return search.best_two_jumps();
  return {jump ? best_jump(search) : best_smooth(search, law)};
}

}  // namespace oomdoctor
