#include "report/series_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "growth/growth_limits.h"
#include "report/incident_words.h"

namespace oomdoctor {
namespace {

/// The fullest of the devices that one monitor reads, else the one with the largest value.
const ReportSeries* choose_fullest(const std::vector<const ReportSeries*>& order) {
  const auto key = [](const ReportSeries* of) { return std::pair(peak_share(*of).value_or(0), of->max_value); };
  const ReportSeries* fullest = order.front();
  for (const ReportSeries* of : order)
    if (of->metric == fullest->metric && key(of) > key(fullest)) fullest = of;
  return fullest;
}

const ReportSeries* choose_series(const Report& report, const std::vector<const ReportSeries*>& order) {
  if (const ReportSeries* growing = find_growing_series(report); growing != nullptr && report.incidents.empty())
    return growing;
  // Of few values, rises that are equal show more than peaks.
  const auto equal =
      std::find_if(order.begin(), order.end(), [](const ReportSeries* of) { return of->trend.equal_rises; });
  if (equal != order.end()) return *equal;
  const auto peak = std::find_if(order.begin(), order.end(), [&](const ReportSeries* of) {
    return of->metric == "max_allocated" && of->n == order.front()->n;
  });
  if (is_growth(order.front()->trend)) return order.front();
  if (peak != order.end()) return *peak;
  const bool by_level = order.front()->metric == "used" || is_single(*order.front());
  return by_level ? choose_fullest(order) : order.front();
}

}  // namespace

bool measures_free_memory(const ReportSeries& of) {
  return of.metric == "free" || of.metric == "host_available" || of.metric == "host_free";
}

std::optional<double> peak_share(const ReportSeries& of) {
  if (measures_free_memory(of)) return std::nullopt;
  const double whole = of.unit == "%" ? 100 : static_cast<double>(of.trend.capacity_bytes.value_or(0));
  return whole > 0 && of.max_value <= whole ? std::optional(of.max_value / whole) : std::nullopt;
}

bool is_growth(const ReportTrend& trend) {
  if (trend.unsure) return false;
  return trend.leak || ((trend.shape == "linear" || trend.shape == "accelerating") && trend.slope.low > 0);
}

bool grows_surely(const ReportSeries& of) {
  return of.followed && of.trend.leak && of.trend.confidence >= growth_limits::risk_confidence &&
         of.kind != "running_maximum";
}

bool is_single(const ReportSeries& of) { return of.n == 1; }

std::vector<const ReportSeries*> sort_series(const Report& report) {
  std::vector<const ReportSeries*> order;
  for (const auto& series : report.series)
    if (series.max_value != 0 || series.first_value != 0) order.push_back(&series);
  // In a list of processes or containers, the largest comes first.
  const bool processes = std::all_of(order.begin(), order.end(), [&](const ReportSeries* s) {
    return s->metric == "host_rss" || (s->metric == "host_used" && !s->label.empty() && order.size() > 1);
  });
  std::stable_sort(order.begin(), order.end(), [processes](const ReportSeries* a, const ReportSeries* b) {
    if (a->followed != b->followed) return a->followed;
    if (is_growth(a->trend) != is_growth(b->trend)) return is_growth(a->trend);
    // The report says that growth was checked: it shows a series of which that is true.
    if (a->n == b->n && (a->trend.shape == "too_short") != (b->trend.shape == "too_short"))
      return b->trend.shape == "too_short";
    if (a->n != b->n || !processes) return a->n > b->n;
    return a->max_value > b->max_value;
  });
  return order;
}

const ReportSeries* find_leaking_series(const Report& report) {
  const ReportIncident* failure = verdict_incident(report);
  const ReportSeries* found = nullptr;
  for (const ReportSeries* series : sort_series(report)) {
    if (!series->trend.leak) continue;
    const bool of_failure = failure != nullptr && ((failure->rank && failure->rank == series->rank) ||
                                                   (failure->device && failure->device == series->device));
    if (found == nullptr || of_failure) found = series;
    if (of_failure) break;
  }
  return found;
}

const ReportSeries* find_growing_series(const Report& report) {
  // Too few values for a verdict of growth, but they rise, so they are reported.
  const auto rises = [](const ReportSeries& of) {
    return of.followed && of.trend.moves && (of.x_unit == "step" || of.x_unit == "epoch");
  };
  const auto left = [](const ReportSeries& of) {
    return of.trend.forecast ? of.trend.forecast->step - of.last_step.value_or(0) : HUGE_VAL;
  };
  const ReportSeries* first_full = nullptr;  // as in the verdict
  for (const ReportSeries& of : report.series)
    if (grows_surely(of) &&
        (first_full == nullptr || (of.x_unit == first_full->x_unit && left(of) < left(*first_full))))
      first_full = &of;
  if (first_full != nullptr) return first_full;
  const auto found = std::find_if(report.series.begin(), report.series.end(), rises);
  return found == report.series.end() ? nullptr : &*found;
}

const ReportSeries* find_main_series(const Report& report) {
  const std::vector<const ReportSeries*> order = sort_series(report);
  if (order.empty()) return nullptr;
  const ReportSeries* const found = choose_series(report, order);
  // One value at the start of each run is not a curve.
  const bool across_runs = std::any_of(report.runs.begin(), report.runs.end(), [&](const ReportRun& run) {
    return run.path == found->first.path && found->first.line < run.first_line && run.first_line <= found->last.line;
  });
  return across_runs && found->n <= static_cast<std::int64_t>(report.runs.size()) ? nullptr : found;
}

}  // namespace oomdoctor
