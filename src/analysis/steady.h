// The level at which a series settles: what two runs are compared by.
#pragma once

#include <optional>

#include "model/series.h"

namespace oomdoctor {

struct Level {
  double value = 0, low = 0, high = 0;  ///< median, first and ninth tenth of the values behind the warm-up
  i64 n = 0;                            ///< how many these are
};

/// nullopt for fewer than five values behind the warm-up. Of several runs in one log the last counts. Meant for series
/// that do not grow without a bound: those have no level.
std::optional<Level> steady_level(const Series& series);

}  // namespace oomdoctor
