// What the values of a run show without a law: whether they rise.
#pragma once

#include <optional>

#include "growth/fitted_series.h"

namespace oomdoctor {

/// The values of the run, so that growth means use. If other runs precede it, those of its working stage.
Points points_of_run(const FittedSeries& fitted);

/// The rise of a run whose values never fall clearly, or whose later half is above its earlier half. No law describes
/// it, but it is a trend. nullopt for every other run.
struct PlainRise {
  double way = 0;       ///< bytes
  bool to_end = false;  ///< the last values are the highest ones
};
std::optional<PlainRise> find_plain_rise(const FittedSeries& fitted);

}  // namespace oomdoctor
