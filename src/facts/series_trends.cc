#include "facts/series_trends.h"

#include <utility>

#include "base/parallel.h"
#include "growth/growth_limits.h"

namespace oomdoctor {

Trends::Trends(std::vector<TrendInputs> inputs) {
  auto entries = std::make_shared<std::vector<LazyTrend>>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) (*entries)[i].inputs = std::move(inputs[i]);
  entries_ = std::move(entries);
}

const Trend& Trends::operator[](std::size_t index) const {
  const LazyTrend& entry = entries_->at(index);
  const std::scoped_lock lock(entry.computing);
  if (!entry.trend) {
    const TrendInputs& from = entry.inputs;
    Trend trend = from.has_trend ? analyse_growth(*from.series, from.options) : Trend{};
    trend.capacity = from.capacity;
    entry.trend = std::move(trend);
  }
  return *entry.trend;
}

bool Trends::leaks(std::size_t index) const {
  const TrendInputs& from = entries_->at(index).inputs;
  return from.has_trend && may_leak(*from.series, from.options) && (*this)[index].leak;
}

bool Trends::is_level(std::size_t index) const {
  const TrendInputs& from = entries_->at(index).inputs;
  return from.has_trend && from.series->n >= static_cast<i64>(growth_limits::enough_values) &&
         !may_leak(*from.series, from.options);
}

bool Trends::is_computed(std::size_t index) const {
  const LazyTrend& entry = entries_->at(index);
  const std::scoped_lock lock(entry.computing);
  return entry.trend.has_value();
}

void Trends::compute_all(std::size_t jobs) const {
  for_each_index(size(), jobs, [this](std::size_t i) { (*this)[i]; });
}

}  // namespace oomdoctor
