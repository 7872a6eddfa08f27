// Where a law's theta leaves least unexplained: rates, knots and jumps are searched, coefficients follow from them.
#pragma once

#include <span>
#include <vector>

#include "analysis/law.h"

namespace oomdoctor {

/// Values as least squares reads them, all of one length: u is their share of the window, 0 … 1 and ascending; `root`
/// is the root of their weight; y is less its weighted mean and multiplied by the root.
struct WeightedRows {
  std::span<const double> u, root, y;
};

/// theta of the laws that have one smooth or positional parameter, or two jumps; empty for those that have none. At
/// least five rows.
std::vector<double> best_theta(Law law, const WeightedRows& rows);

}  // namespace oomdoctor
