// The growth of a memory series: whether it grows, in which shape, how fast, since when, and when it fills the memory.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "growth/stages.h"
#include "model/series.h"

namespace oomdoctor {

/// The shape of a series. Only linear and accelerating mean growth without a bound.
enum class Shape { flat, warmup, step, saturating, sawtooth, spike, noisy, linear, accelerating, too_short };
template <>
inline constexpr auto enum_names<Shape> = names_up_to<Shape::too_short>("flat", "warmup", "step", "saturating",
                                                                        "sawtooth", "spike", "noisy", "linear",
                                                                        "accelerating", "too_short");

/// A value with its 95 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// When a growing series fills its memory. Steps count as in the log.
struct Forecast {
  double capacity = 0;              ///< bytes
  double step = 0;                  ///< central estimate of the step at which capacity is reached
  double step_low = 0;              ///< 90 % interval
  std::optional<double> step_high;  ///< nullopt: no upper bound
  bool beyond_data = false;         ///< further away than the length of the observed window
};

/// A point of the fitted curve with its 95 % interval.
struct CurvePoint {
  double x = 0, y = 0, low = 0, high = 0;
};

/// The result of the growth analysis. All fields but `stages` describe the working stage in which the run ended.
struct Trend {
  bool leak = false;  ///< growth without a bound
  Shape shape = Shape::too_short;
  double confidence = 0;  ///< 0 … 0.95
  Estimate slope;         ///< bytes per step
  Estimate acceleration;  ///< bytes per step²
  std::optional<double> onset_step;
  std::vector<double> change_points;  ///< steps
  std::optional<double> period;       ///< steps
  std::string model;  ///< id of the chosen law: "constant", "linear", "quadratic", "step", "saturating", …
  std::vector<std::pair<std::string, double>> models;  ///< all fitted laws with their score (lower is better)
  std::optional<Forecast> forecast;
  std::optional<double> capacity;  ///< bytes of the memory that the series fills, if known
  double detectable_slope = 0;     ///< bytes per step; a leak below this slope cannot be excluded; 0 when not computed
  std::vector<CurvePoint> curve;   ///< the fit, for charts: over the window and up to the forecast, at printed steps;
                                   ///< empty if the fit counts other steps than the log prints
  Stage working;                   ///< the stage that the other fields describe
  std::vector<Stage> stages;       ///< in order; a single working stage if nothing else was seen
  std::string why;                 ///< one line for people
  std::string release;             ///< the part of it about memory that is free again at the end; "" if none is
  bool moves = false;              ///< `shape` is too_short, but the values rise or fall
  bool equal_rises = false;        ///< `moves`, and the last rises are equal to the last digit
  bool equal_records = false;      ///< `leak`, of a maximum whose records come in equal jumps at equal distances
};

/// Inputs of the growth analysis besides the series.
struct GrowthOptions {
  std::optional<double> capacity;  ///< bytes; without it there is no forecast
  std::optional<double>
      failure_step;  ///< the step of the failure: later values are ignored, and the forecast is checked against it
  double unreachable_bytes =
      0;  ///< bytes of the capacity that the series can never reach: other memory, or the peak within a step
  double largest_process =
      0;                 ///< bytes, of the others in the same list or of the machine: growth far below is irrelevant
  bool at_work = false;  ///< the lines around the values show progress, so the values are not only those of the start
};

/// Computes the trend of a series. Never throws. A series that is too short gets Shape::too_short and a reason in
/// `why`.
Trend analyse_growth(const Series& series, const GrowthOptions& options = {});

/// False if all values lie so close together that no growth among them can be relevant: analyse_growth(…).leak is then
/// false. It needs no fit, so it costs next to nothing.
bool may_leak(const Series& series, const GrowthOptions& options = {});

}  // namespace oomdoctor
