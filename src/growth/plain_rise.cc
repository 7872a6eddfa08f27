#include "growth/plain_rise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "growth/growth_limits.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace limits = growth_limits;

Points points_of_run(const FittedSeries& fitted) {
  if (!fitted.samples.earlier_runs.empty() || fitted.options.failure_step || fitted.stages.empty())
    return fitted.samples.points;
  Points run;
  for (const Bucket& bucket : fitted.series.buckets()) {
    run.x.push_back(bucket.x);
    run.y.push_back(fitted.samples.counts_down ? -bucket.y : bucket.y);
  }
  return run;
}

std::optional<PlainRise> find_plain_rise(const FittedSeries& fitted) {
  constexpr std::ptrdiff_t at_end = 3;  // values
  constexpr double ends = 0.1;          // of the values: what is still the end
  constexpr double clear = 0.05;        // of the rise: a fall
  const std::vector<double> y = points_of_run(fitted).y;
  const auto n = std::ssize(y);
  if (y.size() < limits::min_values) return std::nullopt;
  const auto middle = [&](std::ptrdiff_t from) {
    return compute_median(std::vector<double>(y.begin() + from, y.begin() + from + at_end));
  };
  const double first = middle(0), last = middle(n - at_end), way = last - first;
  const double less = std::min(std::abs(first), std::abs(last)), more = std::max(std::abs(first), std::abs(last));
  if (way <= 2 * visible_change(fitted) || more < limits::worth_mention * less) return std::nullopt;
  double highest = y.front(), fall = 0, at_three_quarters = y.front();
  std::ptrdiff_t newest = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double value = *(y.begin() + i);
    fall = std::max(fall, highest - value);
    if (value > highest) highest = value, newest = i;
    if (4 * i <= 3 * n) at_three_quarters = highest;
  }
  const double earlier = *std::max_element(y.begin(), y.begin() + n / 2);
  const double later = *std::min_element(y.begin() + n / 2, y.end());
  if (fall > clear * way && later < earlier) return std::nullopt;
  const bool rises = highest - at_three_quarters > std::max(visible_change(fitted), clear * way);
  return PlainRise{way, rises && static_cast<double>(n - 1 - newest) <= ends * static_cast<double>(n)};
}

}  // namespace oomdoctor
