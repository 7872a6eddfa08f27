// Samples a fitted law at a few points for a chart, with the 95 % interval of the curve.
#pragma once

#include <optional>
#include <vector>

#include "growth/fit.h"
#include "growth/fitted_series.h"
#include "growth/growth.h"

namespace oomdoctor {

/// The range is the window, extended to the upper end of the forecast's interval but by at most one window: beyond
/// that, the curve depends on the law more than on the run. Empty if x is not the printed step.
std::vector<CurvePoint> sample_curve(const Fit& fit, const FittedSeries& fitted,
                                     const std::optional<Forecast>& forecast);

}  // namespace oomdoctor
