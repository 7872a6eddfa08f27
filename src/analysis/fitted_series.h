// A series made ready to be judged: cleaned, thinned, and with every law fitted to it, best first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/fit.h"
#include "analysis/growth.h"
#include "analysis/samples.h"

namespace oomdoctor {

/// How the run came to its last working stage, over the whole run; values as in samples.
struct Approach {
  double way = 0;              ///< from the first value of the run to the last working level
  double done = 0;             ///< share of the run by which 95 % of the way are gone
  std::size_t done_value = 0;  ///< the value at which that is
  double done_step = 0;        ///< its printed step
  bool decides = false;        ///< the way is visible: it describes a working stage that is level
  double largest = 0;          ///< step between two neighbours
  std::size_t shortest = 0;    ///< values of the shortest stage before the work
  double moved = 0;            ///< what the stages before the work rose or fell within themselves
};

/// `fits` is empty where the series is too short; else it holds at least the constant.
struct FittedSeries {
  const Series& series;
  const GrowthOptions& options;
  Samples samples;                   ///< of the working stage
  std::vector<std::size_t> spikes;   ///< indices into samples.points
  Points points;                     ///< without spikes, thinned
  std::vector<Fit> fits;             ///< sorted by score
  bool maximum = false;              ///< the value cannot fall
  bool slope_shared = false;         ///< the line's slope is that of earlier runs, too
  std::vector<Stage> stages;         ///< of the run; empty where all of it is one working stage
  std::optional<Approach> approach;  ///< where the work began behind another stage

  double first() const { return points.x.front(); }
  double last() const { return points.x.back(); }
  double window() const { return last() - first(); }
};

FittedSeries fit_series(const Series& series, const GrowthOptions& options);
/// Of one run of the series.
FittedSeries fit_series(const Series& series, const GrowthOptions& options, Samples run);

const Fit* fit_of(const FittedSeries& scene, Law law);  ///< nullptr where it was not fitted
double level_of(const FittedSeries& scene);             ///< the usual value, never 0

/// What a law says about growth over the window: of the floor, of the last slope where it slows down.
struct Rise {
  double value = 0, error = 0;
};
Rise rise_of(const Fit& fit, const FittedSeries& scene);

/// Movement that has a shape: over rounding, over a share of what is used. Whether it matters is another question.
double visible_change(const FittedSeries& scene);

/// Growth that matters: over rounding, over a share of the card.
double least_growth(const FittedSeries& scene);

/// Does the law, as fitted, go up for ever?
bool grows(const Fit& fit, const FittedSeries& scene);

/// Is `part` the same law with its growth taken away?
bool contains(Law law, Law part);

}  // namespace oomdoctor
