// Memory over time: one sparkline for each series, what shape it has, how fast it grows, when it is full.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/chart.h"
#include "report/series_words.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

std::string title_of(const Report& report, const ReportSeries& of) {
  constexpr int widest = 32;
  return clip_end(plain_line(series_title(report, of)), widest);
}

/// "15.40 → 21.40 GiB, 9 values, steps 100 to 900  [line 212, 1811]", "15.40 GiB, printed once  [line 212]"
std::string range_text(const Report& report, const ReportSeries& of) {
  if (is_single(of))
    return value_text(of, of.max_value) + ", printed once  [" + plain_line(short_places(report, {of.first}, 1)) + "]";
  std::string text = range_words(of) + ", " + plural(of.n, "value", "values");
  if (of.first_step && of.last_step)
    text += fmt::format(", {}s {} to {}", plain_line(of.x_unit), step_text(*of.first_step), step_text(*of.last_step));
  if (of.first.line > 0) text += "  [" + plain_line(short_places(report, {of.first, of.last}, 2)) + "]";
  return text;
}

std::string course_text(const Page& page, const ReportSeries& series) {
  const CourseWords words = course_words(series);
  const std::string course = plain_line(words.course), because = plain_line(words.because);
  if (is_growth(series.trend)) return page.paint.bold(course);
  return because.empty() ? course : course + page.paint.dim(" · " + because);
}

/// Values that were printed once have no course. Many of them (every rank at every moment) are one line: the largest.
constexpr std::ptrdiff_t many_single_values = 4;

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
                        title_of(report, *largest), plain_line(short_places(report, {largest->first}, 1)));
  return text;
}

}  // namespace

void add_series(Page& page, const Report& report) {
  const auto order = by_weight(report);
  if (order.empty()) return;
  const int cells = std::clamp(page.width() / 5, 8, 24);
  const bool fold =
      std::count_if(order.begin(), order.end(), [](const auto* s) { return is_single(*s); }) >= many_single_values;
  int name_width = 0, spark_width = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 4); ++i) {
    if (fold && is_single(*order[i])) continue;
    name_width = std::max(name_width, columns_of(title_of(report, *order[i])));
    spark_width = std::max(spark_width, columns_of(sparkline(order[i]->points, cells)));
  }
  page.heading("Memory over the run");
  if (fold && is_single(*order.front())) page.text("  ", singles_text(report), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ReportSeries& series = *order[i];
    const int place = i == 0 ? 0 : i == 1 ? 4 : i < 4 ? 7 : Item::only_verbose;
    const int drop = fold && is_single(series) ? Item::only_verbose : place;
    if (fold && is_single(series) && i > 0 && !is_single(*order[i - 1])) page.text("  ", singles_text(report), 4);
    const std::string first = fmt::format("  {}  ", pad(title_of(report, series), name_width));
    page.text(first + pad(sparkline(series.points, cells), spark_width) + "  ", range_text(report, series), drop);
    if (is_single(series)) continue;
    page.text("    ", course_text(page, series), is_growth(series.trend) ? drop : drop + 1);
    if (const std::string full = plain_line(forecast_words(report, series)); !full.empty())
      page.text("    ", full, drop);
  }
}

void add_trace(Page& page, const Report& report) {
  if (report.trace.empty()) return;
  page.heading("What is known");
  for (const auto& line : report.trace) page.text("  ", plain_line(line));
}

}  // namespace oomdoctor::terminal
