// Finds the theta of a law with the smallest residual. Only rates, knots and jumps are searched; least squares gives
// the coefficients.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "growth/law.h"

namespace oomdoctor {

/// The input of least squares; all spans have one length. u is the share of the window, 0 … 1 and ascending. `root` is
/// the square root of the weight. y has its weighted mean subtracted and is multiplied by `root`.
struct WeightedRows {
  std::span<const double> u, root, y;
};

/// True if a law has a theta that a search finds: one rate, knot or jump, or two jumps.
bool is_searched(Law law);

/// Searches theta of any law on one set of rows. The sums that all laws need are computed once. Keeps references to the
/// rows, of which there are at least five.
class LawSearch {
 public:
  explicit LawSearch(const WeightedRows& rows);

  /// The theta of a searched law.
  std::vector<double> best_theta(Law law);

 private:
  /// Sums over the first or the last values. `at` is the distance from that end, so that a short end keeps its digits.
  struct EndSums {
    double weight = 0, at = 0, at_at = 0, y = 0, at_y = 0;

    EndSums plus(double distance, double root, double rooted_y) const;
  };

  /// What a curve is rated on: each value, or blocks of neighbours.
  struct CurveRows {
    std::vector<double> u, weight, weighted_y;

    CurveRows in_blocks(std::size_t count) const;
  };

  /// The residual square sum of the law at this theta.
  double rss(Law law, double theta) { return rss(law, theta, rows_); }
  double rss(Law law, double theta, const CurveRows& rows);
  double curve_rss(const CurveRows& rows) const;
  double knot_rss(Law law, double knot) const;
  double jump_rss(Law law, double jump) const;
  double find_smooth_theta(Law law);
  double find_jump(Law law);
  std::vector<double> find_two_jumps() const;
  double gap_before(std::size_t i) const;
  std::size_t min_level() const;

  std::span<const double> u_;
  CurveRows rows_, blocks_;
  std::vector<double> column_;  ///< of the curve that curve_rss() rates
  double square_y_;
  std::vector<EndSums> before_, after_;  ///< of the values before index i, and from i on
};

}  // namespace oomdoctor
