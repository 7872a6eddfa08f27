// The marginal standard error rule (White 1997) finds the end of the warm-up: drop values from the front as long as
// that reduces the error of the mean of the rest, but never more than half of them. The rule needs no model of the
// warm-up, and leaves a series without one unchanged. The level is a median with 10 % and 90 % quantiles, so that an
// evaluation step or a checkpoint does not move it.
//
// In a very long series the values are bucket means. Their spread is that of the level, not of a single step.
#include "growth/steady.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "growth/samples.h"

namespace oomdoctor {
namespace {

constexpr i64 min_values = 5;

/// The index of the first value after the warm-up.
std::size_t end_of_warmup(const Points& points) {
  const std::size_t n = points.size();
  double weight = 0, mean = 0, squares = 0, smallest_error = 0;
  std::size_t best = n;
  for (std::size_t i = n; i-- > 0;) {
    weight += points.weight[i];
    const double step = points.y[i] - mean;
    mean += step * points.weight[i] / weight;
    squares += points.weight[i] * step * (points.y[i] - mean);
    if (i > n / 2) continue;
    const double error = squares / (weight * weight);
    if (best == n || error <= smallest_error) best = i, smallest_error = error;
  }
  return best;
}

/// The value below which this share of the weight lies; the midpoint if the share ends between two values.
double weighted_quantile(const std::vector<std::pair<double, double>>& sorted, double weight, double share) {
  double below = 0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    below += sorted[i].second;
    if (below == share * weight) return (sorted[i].first + sorted[i + 1].first) / 2;
    if (below > share * weight) return sorted[i].first;
  }
  return sorted.back().first;
}

}  // namespace

std::optional<Level> steady_level(const Series& series) {
  const Samples samples = extract_samples(series, std::nullopt);
  const Points& points = samples.points;
  std::vector<std::pair<double, double>> values;
  double weight = 0;
  for (std::size_t i = end_of_warmup(points); i < points.size(); ++i) {
    values.emplace_back(samples.counts_down ? -points.y[i] : points.y[i], points.weight[i]);
    weight += points.weight[i];
  }
  if (weight < static_cast<double>(min_values)) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return weighted_quantile(values, weight, share); };
  return Level{at(0.5), at(0.1), at(0.9), whole_number(weight)};
}

}  // namespace oomdoctor
