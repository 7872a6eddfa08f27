// When a growing series reaches its capacity: an interval, not a number.
#pragma once

#include <vector>

#include "analysis/fit.h"
#include "analysis/growth.h"

namespace oomdoctor {

/// A law that may be the right one, with its share of belief. The first is the chosen one.
struct WeightedModel {
  Fit fit;
  double weight = 1;
};

/// 90 % interval for the step at which the believed curves reach `capacity`; `points` is what they were fitted to.
Forecast forecast_of(const std::vector<WeightedModel>& beliefs, const Points& points, double capacity);

}  // namespace oomdoctor
