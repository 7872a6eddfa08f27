// The level at which a series settles. Two runs are compared by it.
#pragma once

#include <optional>

#include "model/series.h"

namespace oomdoctor {

/// The level after the warm-up, in bytes.
struct Level {
  double value = 0, low = 0, high = 0;  ///< median, 10 % and 90 % quantile of the values after the warm-up
  i64 n = 0;                            ///< number of these values
};

/// nullopt for fewer than five values after the warm-up. Of several runs in one log the last counts. Meant for series
/// without unbounded growth: a growing series has no level.
std::optional<Level> steady_level(const Series& series);

}  // namespace oomdoctor
