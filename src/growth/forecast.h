// When a growing series reaches its capacity, as an interval.
#pragma once

#include <vector>

#include "growth/fit.h"
#include "growth/growth.h"

namespace oomdoctor {

/// A law that may be the true one, with its weight. The first one is the chosen law.
struct WeightedModel {
  Fit fit;
  double weight = 1;
};

/// Computes the step at which the weighted curves reach `capacity`, with a 90 % interval. `points` are the fitted
/// points.
Forecast compute_forecast(const std::vector<WeightedModel>& models, const Points& points, double capacity);

}  // namespace oomdoctor
