// Finds the theta of a law with the smallest residual. Only rates, knots and jumps are searched; least squares gives
// the coefficients.
#pragma once

#include <span>
#include <vector>

#include "growth/law.h"

namespace oomdoctor {

/// The input of least squares; all spans have one length. u is the share of the window, 0 … 1 and ascending. `root` is
/// the square root of the weight. y has its weighted mean subtracted and is multiplied by `root`.
struct WeightedRows {
  std::span<const double> u, root, y;
};

/// theta for the laws with one smooth or positional parameter or with two jumps; empty for other laws. Needs at least
/// five rows.
std::vector<double> best_theta(Law law, const WeightedRows& rows);

}  // namespace oomdoctor
