#include "report/series_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/growth_limits.h"
#include "base/bytes.h"
#include "report/words.h"

namespace oomdoctor {

namespace {

/// What is left falls as use grows: how much of it is lost.
ReportEstimate lost_or_gained(const ReportSeries& of, const ReportEstimate& estimate) {
  if (!measures_rest(of)) return estimate;
  return {-estimate.value, -estimate.high, -estimate.low};
}

/// "grows steadily"; of what is left, "shrinks steadily"; neither where the confidence does not carry it.
std::string growth_title(const ReportSeries& of) {
  if (of.trend.confidence < growth_limits::risk_confidence)
    return measures_rest(of) ? "seems to shrink" : "seems to grow";
  if (!measures_rest(of)) return shape_words(of.trend.shape);
  return of.trend.shape == "accelerating" ? "shrinks faster and faster" : "shrinks steadily";
}

}  // namespace

bool measures_rest(const ReportSeries& of) { return of.metric == "free" || of.metric == "host_available"; }

std::string value_text(const ReportSeries& of, double value) {
  return of.unit == "%" ? fmt::format("{:.1f} %", value) : bytes_text(whole_number(value));
}

std::string series_title(const Report& report, const ReportSeries& of) {
  std::string title = series_name(of);
  const auto same_name = std::count_if(report.series.begin(), report.series.end(),
                                       [&](const ReportSeries& other) { return series_name(other) == title; });
  if (of.metric == "memory" && !of.label.empty())
    title = of.label + title.substr(std::string("memory").size());
  else if (same_name > 1 && !of.label.empty())
    title += ", " + of.label;
  return title;
}

std::string range_words(const ReportSeries& of) {
  std::string first = value_text(of, of.first_value), last = value_text(of, of.last_value);
  const auto unit = first.find(' ');
  if (first.substr(unit) == last.substr(last.find(' '))) first.resize(unit);
  std::string text = first + " → " + last;
  if (of.max_value > of.last_value && of.max_value > of.first_value)
    text += ", at most " + value_text(of, of.max_value);
  return text;
}

std::string growth_words(const ReportSeries& of) {
  const ReportTrend& trend = of.trend;
  const ReportEstimate slope = lost_or_gained(of, trend.slope), acceleration = lost_or_gained(of, trend.acceleration);
  std::string text = fmt::format("{} a {}", estimate_text(slope), of.x_unit);
  if (acceleration.low > 0) text += fmt::format(", rising by {} each {}", estimate_text(acceleration), of.x_unit);
  if (trend.onset_step) text += fmt::format(", since {} {}", of.x_unit, step_text(*trend.onset_step));
  return text;
}

CourseWords course_words(const ReportSeries& of) {
  const ReportTrend& trend = of.trend;
  if (is_growth(trend)) return {growth_title(of) + ": " + growth_words(of), ""};
  const std::string shape = shape_words(trend.shape);
  if (trend.shape == "too_short" || trend.why.empty() || trend.why.starts_with(trend.shape)) return {shape, ""};
  if (trend.shape == "step" || trend.shape == "warmup" || trend.shape == "saturating")
    return {trend.why, ""};  // they say by how much
  return {shape, trend.why};
}

std::string full_words(const Report& report, const ReportSeries& of) {
  if (!of.trend.forecast) return {};
  const ReportForecast& full = *of.trend.forecast;
  const bool over = report.verdict.outcome == "oom";
  const std::string place = fmt::format("at {} {}", of.x_unit, step_text(full.step));
  if (measures_rest(of)) return fmt::format("nothing {} left {}", over ? "would have been" : "is", place);
  return fmt::format("{} {} full {}", bytes_text(full.capacity_bytes), over ? "would have been" : "are", place);
}

std::string forecast_words(const Report& report, const ReportSeries& of) {
  if (!of.trend.forecast) return {};
  const ReportForecast& full = *of.trend.forecast;
  std::string text = "at this pace " + full_words(report, of);
  text += full.step_high ? fmt::format(" (90 %: {} to {})", step_text(full.step_low), step_text(*full.step_high))
                         : fmt::format(" (90 %: not before {})", step_text(full.step_low));
  if (full.beyond_data) text += "; that is further ahead than the log is long";
  return text;
}

bool is_growth(const ReportTrend& trend) {
  return trend.leak || ((trend.shape == "linear" || trend.shape == "accelerating") && trend.slope.low > 0);
}

bool is_single(const ReportSeries& of) { return of.n == 1; }

std::vector<const ReportSeries*> by_weight(const Report& report) {
  std::vector<const ReportSeries*> order;
  for (const auto& series : report.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const ReportSeries* a, const ReportSeries* b) {
    if (is_growth(a->trend) != is_growth(b->trend)) return is_growth(a->trend);
    return a->n > b->n;
  });
  return order;
}

}  // namespace oomdoctor
