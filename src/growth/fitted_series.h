// A series prepared for the verdict: cleaned, thinned, with every growth law fitted, the best first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "growth/fit.h"
#include "growth/growth.h"
#include "growth/samples.h"

namespace oomdoctor {

/// How the run reached its last working stage, from its first value on; values as in `samples`.
struct Approach {
  double way = 0;              ///< difference from the first value of the run to the last working level
  double done = 0;             ///< share of the run after which 95 % of that difference is reached
  std::size_t done_value = 0;  ///< index of the value that reaches it
  double done_step = 0;        ///< its printed step
  bool decides = false;        ///< the difference is visible, so it describes a level working stage
  double largest = 0;          ///< largest step between two neighbours
  std::size_t shortest = 0;    ///< length of the shortest stage before the work, in values
  double steepest = 0;         ///< largest rise per x between two neighbours before the work
  double moved = 0;            ///< sum of the rises and falls within the stages before the work
  double last_jump = 0;  ///< difference of the levels next to the value that reaches the level; 0 within one stage
};

/// A prepared series. `fits` is empty if the series is too short; otherwise it contains at least the constant. Keeps
/// references to the series and the options.
struct FittedSeries {
  const Series& series;
  const GrowthOptions& options;
  Samples samples;                   ///< of the working stage
  std::vector<std::size_t> spikes;   ///< indices into samples.points
  Points points;                     ///< without spikes, thinned
  std::vector<Fit> fits;             ///< sorted by score
  bool maximum = false;              ///< the value cannot fall
  bool slope_shared = false;         ///< the slope of the line comes from earlier runs too
  std::vector<Stage> stages;         ///< of the run; empty if the whole run is one working stage
  std::optional<Approach> approach;  ///< set if another stage precedes the work

  double first() const { return points.x.front(); }
  double last() const { return points.x.back(); }
  double window() const { return last() - first(); }
};

/// Prepares the last run of the series.
FittedSeries fit_series(const Series& series, const GrowthOptions& options);
/// Prepares one given run of the series.
FittedSeries fit_series(const Series& series, const GrowthOptions& options, Samples run);

const Fit* find_fit(const FittedSeries& fitted, Law law);  ///< nullptr if the law was not fitted
double usual_level(const FittedSeries& fitted);            ///< the usual value, never 0

/// The growth of a law over the window, with its standard error: of the floor, and of the last slope if it slows down.
struct Rise {
  double value = 0, error = 0;
};
Rise measure_rise(const Fit& fit, const FittedSeries& fitted);

/// The smallest movement that has a shape: above rounding, and above a share of the level. It may still be irrelevant.
double visible_change(const FittedSeries& fitted);

/// The smallest growth that matters: above rounding, and above a share of the GPU.
double min_relevant_growth(const FittedSeries& fitted);

/// True if the fitted law rises without a bound.
bool grows(const Fit& fit, const FittedSeries& fitted);

/// True if `part` is the same law without its growth.
bool contains(Law law, Law part);

}  // namespace oomdoctor
