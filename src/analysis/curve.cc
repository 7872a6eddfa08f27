// The interval is that of the curve, not of single values, and widened where neighbouring residuals resemble each
// other, as the forecast's is: a band that is too narrow would claim what the forecast does not.
#include "analysis/curve.h"

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"

namespace oomdoctor {
namespace {

constexpr int smooth_places = 24;
constexpr int jumping_places = 96;  // stairs look steep then

bool jumps(Law law) { return has_levels(law) || has_teeth(law) || law == Law::step_line; }

double last_place(const FittedSeries& scene, const std::optional<Forecast>& forecast) {
  if (!forecast) return scene.last();
  return std::clamp(forecast->step_high.value_or(forecast->step), scene.last(), scene.last() + scene.window());
}

}  // namespace

std::vector<CurvePoint> curve_of(const Fit& fit, const FittedSeries& scene, const std::optional<Forecast>& forecast) {
  if (!scene.samples.as_printed()) return {};
  const int places = jumps(fit.law) ? jumping_places : smooth_places;
  const double first = scene.first(), width = last_place(scene, forecast) - first;
  const Inflation wider = inflation(fit, scene.points.floor);
  const double reach = student_quantile(0.975, wider.freedom) * wider.factor;
  std::vector<CurvePoint> curve;
  for (int i = 0; i <= places; ++i) {
    const double x = std::round(1000 * (first + width * i / places)) / 1000;
    const double y = fit.at(x), error = reach * fit.error_at(x);
    if (!std::isfinite(y) || !std::isfinite(error)) return {};
    curve.push_back({x, y, y - error, y + error});
  }
  return curve;
}

}  // namespace oomdoctor
