// The interval is that of the curve, not of single values. Like the forecast's interval, it is wider if neighbouring
// residuals are correlated. A narrower band would contradict the forecast.
#include "growth/curve.h"

#include <algorithm>
#include <cmath>

#include "growth/statistics.h"

namespace oomdoctor {
namespace {

constexpr int smooth_points = 24;
constexpr int jumping_points = 96;  // enough for steps to look steep

bool jumps(Law law) { return has_levels(law) || is_periodic(law) || law == Law::step_line; }

double last_x(const FittedSeries& fitted, const std::optional<Forecast>& forecast) {
  if (!forecast) return fitted.last();
  return std::clamp(forecast->step_high.value_or(forecast->step), fitted.last(), fitted.last() + fitted.window());
}

}  // namespace

std::vector<CurvePoint> sample_curve(const Fit& fit, const FittedSeries& fitted,
                                     const std::optional<Forecast>& forecast) {
  if (!fitted.samples.as_printed()) return {};
  const int count = jumps(fit.law) ? jumping_points : smooth_points;
  const double first = fitted.first(), width = last_x(fitted, forecast) - first;
  const Inflation wider = inflation(fit, fitted.points.floor);
  const double reach = student_quantile(0.975, wider.freedom) * wider.factor;
  std::vector<CurvePoint> curve;
  for (int i = 0; i <= count; ++i) {
    const double x = std::round(1000 * (first + width * i / count)) / 1000;
    const double y = fit.at(x), error = reach * fit.error_at(x);
    if (!std::isfinite(y) || !std::isfinite(error)) return {};
    curve.push_back({x, y, y - error, y + error});
  }
  return curve;
}

}  // namespace oomdoctor
