// Growth is a risk if it fills the memory soon. Four questions decide that, and a "no" leaves the trend in the report
// without an alarm:
// 1. Is it sure, and of a size that matters? A counter that cannot fall, few values without a clock and the objects of
//    a program are not.
// 2. Does it reach the end of the memory within a multiple of what was observed? If the log does not print the size of
//    the machine, the smallest machine counts.
// 3. Does it last longer than a start? The RAM of a machine is a sum: each program that starts on it makes it rise.
// 4. Does a program grow? If a monitor lists the processes and they stay as large as they were, memory is used
//    elsewhere: by the kernel, by a file system in RAM or by another container.
#include "facts/growth_risk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "facts/analysis.h"
#include "growth/growth_limits.h"

namespace oomdoctor {
namespace {

namespace limits = growth_limits;

constexpr auto metric_order =
    std::to_array<Metric>({Metric::allocated, Metric::memory, Metric::active, Metric::used, Metric::reserved,
                           Metric::max_allocated, Metric::max_reserved, Metric::host_rss, Metric::host_used});

/// Where the host RAM of this series ends: at the request of its job, at the RAM of the machine as the same log prints
/// it, or at that of the smallest machine.
double find_host_end(const ScanResult& scan, const Series& s) {
  if (const auto job = size_of_setting(scan, "job_memory")) return static_cast<double>(*job);
  double size = 0;
  for (const Series& other : scan.series)
    if (is_of_machine(other) && other.last_evidence.span.source == s.last_evidence.span.source)
      size = std::max(size, other.capacity);
  return std::max(size, limits::least_machine);
}

/// The distance from the end of the series to full memory, in units of x, at the earliest. nullopt if the memory has no
/// known end, or does not grow at the end.
std::optional<double> find_time_left(const ScanResult& scan, const Series& s, const Trend& t) {
  if (t.forecast) return std::max(0.0, t.forecast->step_low - s.last_x);
  if (!is_host_metric(s.metric) || is_free_metric(s.metric)) return std::nullopt;
  const double rate = last_slope(t);
  return rate > 0 ? std::optional(std::max(0.0, find_host_end(scan, s) - s.last_value) / rate) : std::nullopt;
}

/// A monitor that pauses for long and goes on is of a machine: a program would have ended.
bool has_sessions(const Trend& t) {
  return std::any_of(t.stages.begin(), t.stages.end(),
                     [](const Stage& stage) { return stage.kind == StageKind::restart; });
}

/// Where the last session of a monitor begins.
double begin_of_session(const Series& s, const Trend& t) {
  const auto restart = std::find_if(t.stages.rbegin(), t.stages.rend(),
                                    [](const Stage& stage) { return stage.kind == StageKind::restart; });
  if (restart == t.stages.rend()) return s.first_x;
  return restart == t.stages.rbegin() ? t.working.first_step : std::prev(restart)->first_step;
}

/// Question 3: the memory of the machine rose for no longer than a program takes to start, and another such time does
/// not fill it.
bool may_be_a_start(const ScanResult& scan, const Series& s, const Trend& t, std::optional<double> left) {
  const bool machine = s.metric == Metric::host_available || is_of_machine(s) || has_sessions(t);
  return machine && s.has_times && !shows_progress(scan, s) &&
         s.last_x - begin_of_session(s, t) < limits::longest_start && (!left || *left > limits::longest_start);
}

/// Question 3: what a monitor saw grow is a small part of a machine that has more than half of its memory left, and
/// does not fill it at once.
bool is_small_part(const ScanResult& scan, const Series& s, const Trend& t, std::optional<double> left) {
  const bool used = s.metric == Metric::host_used && s.capacity > 0 && s.has_times;
  if (left && *left <= limits::longest_start) return false;
  const double length = t.onset_step               ? s.last_x - *t.onset_step
                        : !t.change_points.empty() ? s.last_x - t.change_points.back()
                                                   : working_length(t);
  return used && !shows_progress(scan, s) && s.last_value < limits::half_full * s.capacity &&
         last_slope(t) * length < limits::machine_share * s.capacity;
}

/// Question 1: what a program keeps in its managed heap comes and goes, and a small part of the heap fills nothing.
bool is_small_part_of_heap(const Series& s) {
  return s.metric == Metric::memory && s.label.starts_with("Java heap") && s.capacity > 0 &&
         s.last_value < limits::half_full * s.capacity;
}

bool is_large_and_sure(const Series& s, const Trend& t) {
  if (s.kind == SeriesKind::running_maximum && !t.equal_records) return false;
  if (s.unit != "%" && std::max(s.first_value, s.last_value) < limits::least_program) return false;
  return t.leak && t.confidence >= limits::risk_confidence;
}

/// The lines between two samples of a monitor.
double lines_per_value(const Series& s) {
  const auto lines = static_cast<double>(s.last_evidence.span.first_line - s.first_evidence.span.first_line);
  return lines / static_cast<double>(std::max<i64>(1, s.n - 1));
}

/// The listed processes of the same monitor: how many there are, and how far all of them together grew.
UnexplainedGrowth add_up_processes(const ScanResult& scan, const Series& machine) {
  UnexplainedGrowth sum;
  const Span &first = machine.first_evidence.span, &last = machine.last_evidence.span;
  const double near = 2 * lines_per_value(machine);  // of the same sample: its list is above or below
  for (const Series& s : scan.series) {
    if (!is_process_series(s) || s.metric != Metric::host_rss || s.first_evidence.span.source != first.source) continue;
    ++sum.listed;
    if (static_cast<double>(s.first_evidence.span.first_line - first.first_line) <= near) {
      sum.of_processes -= s.first_value;
      sum.listed_first += s.first_value;
    }
    if (static_cast<double>(last.first_line - s.last_evidence.span.first_line) <= near)
      sum.of_processes += s.last_value;
  }
  return sum;
}

/// Question 4: the growth of this machine, if its processes do not explain it.
std::optional<UnexplainedGrowth> unexplained(const ScanResult& scan, std::size_t i) {
  const Series& s = scan.series[i];
  if (s.metric != Metric::host_available && !is_of_machine(s)) return std::nullopt;
  UnexplainedGrowth growth = add_up_processes(scan, s);
  growth.series = i;
  growth.of_machine = std::abs(s.last_value - s.first_value);
  // The top of a long list proves nothing: what grows may be below it.
  const double in_use = s.metric == Metric::host_used ? s.first_value : s.capacity - s.first_value;
  const bool whole = in_use > 0 && growth.listed_first >= limits::whole_list * in_use;
  if (!whole || growth.listed < limits::min_listed || growth.of_processes >= limits::explained * growth.of_machine)
    return std::nullopt;
  return growth;
}

bool is_at_risk(const ScanResult& scan, const Trends& trends, std::size_t i) {
  const Series& s = scan.series[i];
  if (!s.has_steps && !s.has_times && s.n < limits::min_unplaced) return false;
  if (!trends.leaks(i) || !is_large_and_sure(s, trends[i])) return false;
  const Trend& t = trends[i];
  if (!t.forecast && s.n < limits::min_unplaced) return false;
  // What a machine of unknown size has free again was no leak of a program that still runs.
  if (may_be_of_machine(s) && !t.forecast && !t.release.empty()) return false;
  const std::optional<double> left = find_time_left(scan, s, t);
  if (may_be_a_start(scan, s, t, left) || is_small_part(scan, s, t, left) || is_small_part_of_heap(s)) return false;
  return !left || (*left <= limits::risk_windows * working_length(t) && !unexplained(scan, i));
}

}  // namespace

std::optional<std::size_t> find_series_at_risk(const ScanResult& scan, const Runs& runs, const Trends& trends) {
  const auto before = [&](std::size_t a, std::size_t b) {
    const Series &sa = scan.series[a], &sb = scan.series[b];
    if (trends[a].forecast.has_value() != trends[b].forecast.has_value()) return trends[a].forecast.has_value();
    if (sa.metric != sb.metric)
      return metric_rank(sa.metric).value_or(metric_order.size()) <
             metric_rank(sb.metric).value_or(metric_order.size());
    const auto left = [&](std::size_t k) {
      return trends[k].forecast ? (trends[k].forecast->step - scan.series[k].last_x) / working_length(trends[k]) : 0;
    };
    return left(a) < left(b);
  };
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < scan.series.size(); ++i)
    if (runs.follows(scan.series[i]) && is_at_risk(scan, trends, i) && (!worst || before(i, *worst))) worst = i;
  return worst;
}

std::optional<UnexplainedGrowth> find_unexplained_growth(const ScanResult& scan, const Runs& runs,
                                                         const Trends& trends) {
  for (std::size_t i = 0; i < scan.series.size(); ++i)
    if (runs.follows(scan.series[i]) && trends.leaks(i) && is_large_and_sure(scan.series[i], trends[i]))
      if (const auto growth = unexplained(scan, i)) return growth;
  return std::nullopt;
}

std::optional<std::size_t> metric_rank(Metric metric) {
  const auto* const at = std::find(metric_order.begin(), metric_order.end(), metric);
  return at == metric_order.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - metric_order.begin()));
}

double working_length(const Trend& trend) { return std::max(1.0, trend.working.last_step - trend.working.first_step); }

double last_slope(const Trend& trend) {
  return trend.slope.value + trend.acceleration.value * working_length(trend) / 2;
}

bool shows_progress(const ScanResult& scan, const Series& series) {
  return scan.last_progress && scan.last_progress->span.source == series.last_evidence.span.source &&
         2 * scan.progress_lines >= series.n;
}

}  // namespace oomdoctor
