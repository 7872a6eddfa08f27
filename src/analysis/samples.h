// The stretch of a series that a trend may be read from: one run, up to the failure, with strictly rising steps.
#pragma once

#include <optional>

#include "analysis/fit.h"
#include "model/series.h"

namespace oomdoctor {

struct Samples {
  Points points;               ///< `floor` is the print step's only
  bool counts_down = false;    ///< the metric says what is left: values are negated, so that growth means use
  bool restarted = false;      ///< earlier runs were left out
  bool epochs_joined = false;  ///< the step counter begins anew every epoch: steps are counted on
};

Samples samples_of(const Series& series, std::optional<double> failure_step);

/// At most `most` points: means of equal blocks of neighbours.
Points condensed(const Points& points, std::size_t most);

/// Without the points at `indices` (ascending).
Points without(const Points& points, const std::vector<std::size_t>& indices);

}  // namespace oomdoctor
