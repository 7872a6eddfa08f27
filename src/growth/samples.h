// The part of a series that a trend is computed from: one run, up to the failure, with strictly rising steps. Earlier
// runs are kept next to it.
#pragma once

#include <optional>
#include <vector>

#include "growth/fit.h"
#include "model/series.h"

namespace oomdoctor {

/// Counts values instead of steps if most steps repeat, as in a log with several values per step: such steps do not
/// order the values. x is then the index of the value, and `has_steps` is false.
void count_values_of_repeated_steps(Series& series);

/// The values of one run.
struct Samples {
  Points points;                      ///< only the print step is in `floor`
  bool counts_down = false;           ///< the metric is what remains: values are negated, so that growth means use
  bool epochs_joined = false;         ///< the step counter restarts every epoch; the steps are counted on
  bool pauses_cut = false;            ///< pauses are not counted in x
  std::vector<double> printed;        ///< the printed step of each point
  std::vector<Samples> earlier_runs;  ///< earlier runs of the same series, each with its own step count

  /// True if x of `points` is the printed step.
  bool as_printed() const { return !epochs_joined && !pauses_cut; }
  /// The lead of x over the printed steps at the end. x − ahead() continues the printed steps after the log.
  double ahead() const { return points.x.empty() ? 0 : points.x.back() - printed.back(); }
};

/// Takes the last run that is long enough to show a shape, cut at `failure_step`; see samples.cc for epochs and
/// repeats.
Samples extract_samples(const Series& series, std::optional<double> failure_step);

/// A position in a series, for people.
struct Place {
  double step = 0;        ///< as printed
  std::size_t value = 0;  ///< number of the value, from 1
};
/// The value nearest to x; of two as near, the later one.
Place find_position(const Samples& samples, double x);

/// At most `max_count` points: weighted means of equal blocks of neighbours.
Points condensed(const Points& points, std::size_t max_count);

/// The points at `indices` (ascending).
Points only(const Points& points, const std::vector<std::size_t>& indices);

/// Appends `more` to `points`.
void append(Points& points, const Points& more);

/// The points except those at `indices` (ascending).
Points without(const Points& points, const std::vector<std::size_t>& indices);

}  // namespace oomdoctor
