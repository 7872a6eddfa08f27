#include "report/pulse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// Whether the series is of memory that may run out, in use or free.
bool fills_memory(const ReportSeries& of) { return of.metric != "input_length" && !measures_free_memory(of); }

/// Seconds for one unit of the series' x axis; nullopt if that is unknown.
std::optional<double> seconds_per_unit(const ReportSeries& of, std::optional<double> steps_per_second) {
  if (of.x_unit == "second") return 1;
  if (of.x_unit == "step" && steps_per_second && *steps_per_second > 0) return 1 / *steps_per_second;
  return std::nullopt;
}

std::optional<TimeLeft> time_left(const ReportSeries& of, std::optional<double> steps_per_second) {
  const auto seconds = seconds_per_unit(of, steps_per_second);
  if (!of.trend.forecast || !of.last_step || !seconds) return std::nullopt;
  const ReportForecast& full = *of.trend.forecast;
  const auto until = [&](double x) { return std::max(0.0, (x - *of.last_step) * *seconds); };
  return TimeLeft{until(full.step), until(full.step_low),
                  full.step_high ? std::optional(until(*full.step_high)) : std::nullopt};
}

std::optional<double> find_capacity(const ReportSeries& of) {
  if (of.unit == "%") return 100;
  return of.trend.capacity_bytes ? std::optional(static_cast<double>(*of.trend.capacity_bytes)) : std::nullopt;
}

double fill_or_nothing(const ReportSeries& of) {
  const auto capacity = find_capacity(of);
  return capacity && *capacity > 0 ? of.last_value / *capacity : -1;
}

/// The series to watch: the one that is full first, else the fullest, else the one that reports show first.
const ReportSeries* choose(const Report& report, std::optional<double> steps_per_second) {
  const ReportSeries* best = nullptr;
  const auto better = [&](const ReportSeries& a, const ReportSeries& b) {
    const auto left = time_left(a, steps_per_second), other = time_left(b, steps_per_second);
    if (left.has_value() != other.has_value()) return left.has_value();
    if (left) return left->middle < other->middle;
    return fill_or_nothing(a) > fill_or_nothing(b);
  };
  for (const ReportSeries* series : sort_series(report))
    if (series->followed && fills_memory(*series) && (best == nullptr || better(*series, *best))) best = series;
  return best;
}

std::string value_text(double value, const Pulse& pulse) {
  return pulse.unit == "%" ? percent_text(value / 100) : bytes_text(value);
}

}  // namespace

Pulse take_pulse(const Report& report, std::optional<double> steps_per_second) {
  Pulse pulse;
  pulse.outcome = to_string(report.verdict.outcome);
  pulse.headline = report.verdict.headline;
  pulse.cause = report.verdict.cause;
  for (const ReportSeries& series : report.series)
    if (series.followed && series.x_unit == "step" && series.last_step)
      pulse.step = std::max(pulse.step.value_or(*series.last_step), *series.last_step);
  const ReportSeries* series = choose(report, steps_per_second);
  if (series == nullptr) return pulse;
  pulse.memory = series_title(report, *series);
  pulse.unit = series->unit == "%" ? "%" : "";
  pulse.value = series->last_value;
  pulse.capacity = find_capacity(*series);
  if (is_growth(series->trend))
    pulse.rate = fmt::format("{} per {}", rate_text(series->trend.slope).rate, series->x_unit);
  pulse.left = time_left(*series, steps_per_second);
  return pulse;
}

std::optional<double> compute_fill(const Pulse& pulse) {
  if (!pulse.value || !pulse.capacity || *pulse.capacity <= 0) return std::nullopt;
  return *pulse.value / *pulse.capacity;
}

std::string pulse_line(const Pulse& pulse) {
  if (pulse.outcome == "oom") return pulse.headline;
  std::string text = pulse.step ? fmt::format("step {}: ", step_text(*pulse.step)) : "";
  if (!pulse.value) return text + "no memory values yet";
  text += pulse.memory + ' ';
  const std::string value = value_text(*pulse.value, pulse);
  if (pulse.capacity && pulse.unit.empty()) {
    const std::string capacity = value_text(*pulse.capacity, pulse);
    text +=
        fmt::format("{} of {} ({})", drop_common_unit(capacity, value), capacity, percent_text(*compute_fill(pulse)));
  } else {
    text += value;
  }
  if (!pulse.rate.empty()) text += ", " + pulse.rate;
  if (!pulse.left) return text;
  const std::string full = duration_text(pulse.left->middle), low = duration_text(pulse.left->low);
  text += ", full in " + full;
  if (!pulse.left->high)
    text += fmt::format(" (90%: not before {})", low);
  else if (const std::string high = duration_text(*pulse.left->high); low != full || high != full)
    text += fmt::format(" (90%: {} to {})", low, high);
  return text;
}

}  // namespace oomdoctor
