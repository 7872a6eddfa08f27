// Does a memory series grow, in which shape, how fast, since when, and when will it be full?
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stages.h"
#include "model/series.h"

namespace oomdoctor {

enum class Shape { flat, warmup, step, saturating, sawtooth, spike, noisy, linear, accelerating, too_short };
std::string_view to_string(Shape);

/// A value with its 95 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

struct Forecast {
  double capacity = 0;              ///< bytes
  double step = 0;                  ///< central estimate of the step at which capacity is reached
  double step_low = 0;              ///< 90 % interval
  std::optional<double> step_high;  ///< nullopt: no bound
  bool beyond_data = false;         ///< further away than one observed window
};

/// A place of the fitted curve with its 95 % interval.
struct CurvePoint {
  double x = 0, y = 0, low = 0, high = 0;
};

/// Everything but the stages speaks of the working stage that the run ended in.
struct Trend {
  bool leak = false;  ///< growth without a bound
  Shape shape = Shape::too_short;
  double confidence = 0;  ///< 0 … 0.95
  Estimate slope;         ///< bytes per step
  Estimate acceleration;  ///< bytes per step²
  std::optional<double> onset_step;
  std::vector<double> change_points;  ///< steps
  std::optional<double> period;       ///< steps
  std::string model;                  ///< the chosen one: "constant", "linear", "quadratic", "step", "saturating", …
  std::vector<std::pair<std::string, double>> models;  ///< candidates with their criterion (lower is better)
  std::optional<Forecast> forecast;
  double detectable_slope = 0;    ///< "cannot exclude a leak below this", bytes per step; 0 when not computed
  std::vector<CurvePoint> curve;  ///< the fit, for drawing: over the window and on to the forecast, at printed steps;
                                  ///< empty where the fit counts other steps than the log prints
  Stage working;                  ///< the stage that all of this speaks of
  std::vector<Stage> stages;      ///< in order; one working stage where nothing else was seen
  std::string why;                ///< one line for people
};

struct GrowthOptions {
  std::optional<double> capacity;  ///< bytes; none: no forecast
  std::optional<double>
      failure_step;  ///< the step of the failure: values behind it are ignored, and the forecast is checked against it
  double kept_back = 0;  ///< bytes of the capacity that the series can never reach: other memory, a step's own peak
};

/// Never throws; a series that is too short says so in `shape` and `why`.
Trend growth_of(const Series& series, const GrowthOptions& options = {});

}  // namespace oomdoctor
