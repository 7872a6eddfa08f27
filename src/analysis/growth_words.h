// The verdict about growth, and its one line for people.
#pragma once

#include <string>

#include "analysis/fitted_series.h"

namespace oomdoctor {

/// The question that growth failed.
enum class GrowthDoubt { none, bounded, undecided, small, noise, open_end, levels_off, records };

/// `bounded` and `chosen` always point into the scene's fits; `growing` where any law rises.
struct GrowthVerdict {
  const Fit* growing = nullptr;  ///< the best law that goes up for ever
  const Fit* bounded = nullptr;  ///< the best that does not
  const Fit* chosen = nullptr;
  double gap = 0;  ///< by how much the growing law describes the series better
  bool leak = false;
  GrowthDoubt doubt = GrowthDoubt::none;
};

std::string words_for(const FittedSeries& scene, const GrowthVerdict& verdict, const Trend& trend);
std::string words_for_short(const FittedSeries& scene);

}  // namespace oomdoctor
