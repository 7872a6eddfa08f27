// A fitted law as a few points for a drawing, with the 95 % interval of the curve.
#pragma once

#include <optional>
#include <vector>

#include "analysis/fit.h"
#include "analysis/fitted_series.h"
#include "analysis/growth.h"

namespace oomdoctor {

/// Over the window, and as far beyond it as the forecast's interval goes, but at most one window: what lies further
/// ahead says more about the law than about the run. Empty where x is no printed step.
std::vector<CurvePoint> curve_of(const Fit& fit, const FittedSeries& scene, const std::optional<Forecast>& forecast);

}  // namespace oomdoctor
