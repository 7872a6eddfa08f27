// Memory over time: one sparkline for each series, what shape it has, how fast it grows, when it is full.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/chart.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

/// Shares of the device are per cent, all else is bytes.
std::string value_text(const ReportSeries& series, double value) {
  return series.unit == "%" ? fmt::format("{:.1f} %", value) : bytes_text(whole_number(value));
}

/// "15.40 → 21.40 GiB, 9 values, steps 100 to 900  [line 212, 1811]"
std::string range_text(const Report& report, const ReportSeries& of) {
  std::string first = value_text(of, of.first_value), last = value_text(of, of.last_value);
  const auto unit = first.find(' ');
  if (first.substr(unit) == last.substr(last.find(' '))) first.resize(unit);
  std::string text = first + " → " + last;
  if (of.max_value > of.last_value && of.max_value > of.first_value)
    text += ", at most " + value_text(of, of.max_value);
  text += ", " + plural(of.n, "value", "values");
  if (of.first_step && of.last_step)
    text += fmt::format(", {}s {} to {}", plain_line(of.x_unit), step_text(*of.first_step), step_text(*of.last_step));
  if (of.first.line > 0) text += "  [" + plain_line(short_places(report, {of.first, of.last}, 2)) + "]";
  return text;
}

/// A slope is worth printing only where its interval excludes none.
bool is_growth(const ReportTrend& trend) {
  return trend.leak || ((trend.shape == "linear" || trend.shape == "accelerating") && trend.slope.low > 0);
}

/// "grows faster and faster: 7.59 ± 0.44 MiB a step, rising by 14.6 ± 1.0 KiB each step"
std::string growth_text(const ReportSeries& series) {
  const ReportTrend& trend = series.trend;
  const std::string unit = plain_line(series.x_unit);
  std::string text = shape_words(trend.shape);
  if (!is_growth(trend)) return text;
  text += fmt::format(": {} a {}", estimate_text(trend.slope), unit);
  if (trend.acceleration.low > 0)
    text += fmt::format(", rising by {} each {}", estimate_text(trend.acceleration), unit);
  if (trend.onset_step) text += fmt::format(", since {} {}", unit, step_text(*trend.onset_step));
  return text;
}

/// The step at which memory is full, with its 90 % interval; extrapolating beyond the log's own length is said.
std::string forecast_text(const ReportSeries& series) {
  const ReportForecast& of = *series.trend.forecast;
  std::string text = fmt::format("at this pace {} are full at {} {}", bytes_text(of.capacity_bytes),
                                 plain_line(series.x_unit), step_text(of.step));
  text += of.step_high ? fmt::format(" (90 %: {} to {})", step_text(of.step_low), step_text(*of.step_high))
                       : fmt::format(" (90 %: not before {})", step_text(of.step_low));
  if (of.beyond_data) text += "; that is further ahead than the log is long";
  return text;
}

/// Series that grow first, then those with most values.
std::vector<const ReportSeries*> by_weight(const Report& report) {
  std::vector<const ReportSeries*> order;
  for (const auto& series : report.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const ReportSeries* a, const ReportSeries* b) {
    if (is_growth(a->trend) != is_growth(b->trend)) return is_growth(a->trend);
    return a->n > b->n;
  });
  return order;
}

/// The label, too, where the log's own word says more than "memory" or keeps two series apart.
std::string series_title(const Report& report, const ReportSeries& of) {
  constexpr int widest = 32;
  std::string title = series_name(of);
  const auto same_name = std::count_if(report.series.begin(), report.series.end(),
                                       [&](const ReportSeries& other) { return series_name(other) == title; });
  if (of.metric == "memory" && !of.label.empty())
    title = plain_line(of.label) + title.substr(std::string("memory").size());
  else if (same_name > 1 && !of.label.empty())
    title += ", " + plain_line(of.label);
  return clip_end(title, widest);
}

}  // namespace

void add_series(Page& page, const Report& report) {
  if (report.series.empty()) return;
  const int cells = std::clamp(page.width() / 5, 8, 24);
  const auto order = by_weight(report);
  int name_width = 0, spark_width = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 4); ++i) {
    name_width = std::max(name_width, columns_of(series_title(report, *order[i])));
    spark_width = std::max(spark_width, columns_of(sparkline(order[i]->points, cells)));
  }
  page.heading("Memory over the run");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ReportSeries& series = *order[i];
    const int drop = i == 0 ? 0 : i == 1 ? 4 : i < 4 ? 7 : Item::only_verbose;
    const std::string first = fmt::format("  {}  ", pad(series_title(report, series), name_width));
    page.text(first + pad(sparkline(series.points, cells), spark_width) + "  ", range_text(report, series), drop);
    const bool grows = is_growth(series.trend);
    std::string said = grows ? page.paint.bold(growth_text(series)) : growth_text(series);
    if (!grows && !series.trend.why.empty() && !series.trend.why.starts_with(series.trend.shape))
      said += page.paint.dim(" · " + plain_line(series.trend.why));
    page.text("    ", said, grows ? drop : drop + 1);
    if (series.trend.forecast) page.text("    ", forecast_text(series), drop);
  }
}

void add_trace(Page& page, const Report& report) {
  if (report.trace.empty()) return;
  page.heading("What is known");
  for (const auto& line : report.trace) page.text("  ", plain_line(line));
}

}  // namespace oomdoctor::terminal
