// Memory over time: one sparkline for each series, what shape it has, how fast it grows, when it is full.
#include <fmt/format.h>

#include <algorithm>
#include <set>

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

/// "15.40 → 21.40 GiB, 9 values, steps 100 to 900  [line 212, 1811]", "15.40 GiB, printed once  [line 212]"
std::string range_text(const Report& report, const ReportSeries& of) {
  if (of.n == 1)
    return value_text(of, of.max_value) + ", printed once  [" + plain_line(short_places(report, {of.first}, 1)) + "]";
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
  std::string text = fmt::format("{}: {} a {}", shape_words(trend.shape), estimate_text(trend.slope), unit);
  if (trend.acceleration.low > 0)
    text += fmt::format(", rising by {} each {}", estimate_text(trend.acceleration), unit);
  if (trend.onset_step) text += fmt::format(", since {} {}", unit, step_text(*trend.onset_step));
  return text;
}

/// What the course is. Two values have none, and levels are told better than named.
std::string course_text(const Page& page, const ReportSeries& series) {
  const ReportTrend& trend = series.trend;
  const std::string why = plain_line(trend.why);
  if (is_growth(trend)) return page.paint.bold(growth_text(series));
  if (trend.shape == "too_short" || why.empty() || why.starts_with(trend.shape)) return shape_words(trend.shape);
  return trend.shape == "step" ? why : shape_words(trend.shape) + page.paint.dim(" · " + why);
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

/// Values that were printed once have no course. Many of them (every rank at every moment) are one line: the largest.
constexpr std::ptrdiff_t many_single_values = 4;

bool is_single(const ReportSeries& series) { return series.n == 1; }

std::string singles_text(const Report& report) {
  const ReportSeries* largest = nullptr;
  std::set<int> ranks;
  std::int64_t count = 0;
  for (const ReportSeries& series : report.series) {
    if (!is_single(series)) continue;
    ++count;
    if (series.rank) ranks.insert(*series.rank);
    const bool held = !series.metric.starts_with("host") && series.metric != "free" && series.unit != "%";
    if (held && (largest == nullptr || series.max_value > largest->max_value)) largest = &series;
  }
  std::string text = plural(count, "value was", "values were") + " printed once";
  if (ranks.size() > 1) text += fmt::format(", by {} ranks", ranks.size());
  if (largest != nullptr)
    text += fmt::format("; the largest is {}, {}  [{}]", value_text(*largest, largest->max_value),
                        series_title(report, *largest), plain_line(short_places(report, {largest->first}, 1)));
  return text;
}

}  // namespace

void add_series(Page& page, const Report& report) {
  if (report.series.empty()) return;
  const int cells = std::clamp(page.width() / 5, 8, 24);
  const auto order = by_weight(report);
  const bool fold =
      std::count_if(order.begin(), order.end(), [](const auto* s) { return is_single(*s); }) >= many_single_values;
  int name_width = 0, spark_width = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 4); ++i) {
    if (fold && is_single(*order[i])) continue;
    name_width = std::max(name_width, columns_of(series_title(report, *order[i])));
    spark_width = std::max(spark_width, columns_of(sparkline(order[i]->points, cells)));
  }
  page.heading("Memory over the run");
  if (fold && is_single(*order.front())) page.text("  ", singles_text(report), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ReportSeries& series = *order[i];
    const int place = i == 0 ? 0 : i == 1 ? 4 : i < 4 ? 7 : Item::only_verbose;
    const int drop = fold && is_single(series) ? Item::only_verbose : place;
    if (fold && is_single(series) && i > 0 && !is_single(*order[i - 1])) page.text("  ", singles_text(report), 4);
    const std::string first = fmt::format("  {}  ", pad(series_title(report, series), name_width));
    page.text(first + pad(sparkline(series.points, cells), spark_width) + "  ", range_text(report, series), drop);
    if (is_single(series)) continue;
    page.text("    ", course_text(page, series), is_growth(series.trend) ? drop : drop + 1);
    if (series.trend.forecast) page.text("    ", forecast_text(series), drop);
  }
}

void add_trace(Page& page, const Report& report) {
  if (report.trace.empty()) return;
  page.heading("What is known");
  for (const auto& line : report.trace) page.text("  ", plain_line(line));
}

}  // namespace oomdoctor::terminal
