// The stretch of a series that a trend may be read from: one run, up to the failure, with strictly rising steps; and
// the runs before it.
#pragma once

#include <optional>
#include <vector>

#include "analysis/fit.h"
#include "model/series.h"

namespace oomdoctor {

struct Samples {
  Points points;                      ///< `floor` is the print step's only
  bool counts_down = false;           ///< the metric says what is left: values are negated, so that growth means use
  bool epochs_joined = false;         ///< the step counter begins anew every epoch: steps are counted on
  bool by_order = false;              ///< most steps repeat: values are counted in their place
  bool pauses_cut = false;            ///< x does not count pauses
  std::vector<double> printed;        ///< the step that the log prints at each point
  std::vector<Samples> earlier_runs;  ///< of the same series, each with steps of its own

  /// Is x of `points` the printed step itself?
  bool as_printed() const { return !epochs_joined && !by_order && !pauses_cut; }
  /// How far x runs ahead of the printed steps at the end: x − ahead() goes on counting where the log stopped.
  double ahead() const { return points.x.empty() ? 0 : points.x.back() - printed.back(); }
};

Samples samples_of(const Series& series, std::optional<double> failure_step);

/// The first value at or behind x.
struct Place {
  double step = 0;        ///< as printed
  std::size_t value = 0;  ///< which of the values, from 1
};
Place place_of(const Samples& samples, double x);

/// At most `most` points: means of equal blocks of neighbours.
Points condensed(const Points& points, std::size_t most);

/// The points at `indices` (ascending).
Points only(const Points& points, const std::vector<std::size_t>& indices);

/// Adds `more` behind `points`.
void append(Points& points, const Points& more);

/// Without the points at `indices` (ascending).
Points without(const Points& points, const std::vector<std::size_t>& indices);

}  // namespace oomdoctor
