// What is drawn: ranges, ticks, colours, marks, and that thinning loses no peak.
#include "report/plot.h"

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

Plot only_plot(const Report& report) {
  const auto plots = plots_of(report);
  REQUIRE(plots.size() == 1);
  return plots.front();
}

Report with_series(std::vector<ReportSeries> series) {
  Report report = samples::healthy();
  report.series = std::move(series);
  return report;
}

ReportSeries series_of(const std::string& metric, std::vector<ReportPoint> points) {
  ReportSeries series = samples::healthy().series.front();
  series.rank.reset();
  series.metric = metric;
  series.n = static_cast<std::int64_t>(points.size());
  series.points = std::move(points);
  series.max_value = 0;
  for (const auto& p : series.points) series.max_value = std::max(series.max_value, p.y);
  return series;
}

const double gib = static_cast<double>(GiB);

}  // namespace

TEST_CASE("a fatal leak: values in GiB, the capacity, the failure and the forecast in sight", "[plot]") {
  const Plot plot = only_plot(samples::fatal());
  CHECK(plot.unit == "GiB");
  CHECK(plot.lines.back().points.front().y == Approx(15.4));
  REQUIRE(plot.capacity);
  CHECK(*plot.capacity == Approx(23.69));
  CHECK(plot.top > *plot.capacity);
  REQUIRE(plot.marks.size() == 1);
  CHECK(plot.marks.front().kind == PlotMark::failure);
  CHECK(plot.marks.front().x == 1000);
  REQUIRE(plot.forecast);
  CHECK(plot.right >= 1016);
  for (const double tick : plot.y_ticks) CHECK(tick == std::round(tick));
}

TEST_CASE("what lies far ahead is left to the words", "[plot]") {
  const Plot plot = plots_of(samples::at_risk()).front();
  CHECK_FALSE(plot.capacity);  // 79 GiB would press the line flat
  CHECK_FALSE(plot.forecast);
  CHECK(plot.right < 1000 * 5);
}

TEST_CASE("a report without series has no plot, and two values are no line", "[plot]") {
  CHECK(plots_of(samples::handled()).empty());
  CHECK(plots_of(with_series({series_of("allocated", {{1, gib}, {2, gib}})})).empty());
  CHECK(plots_of(with_series({series_of("allocated", {{1, gib}, {1, 2 * gib}, {1, gib}})})).empty());
}

TEST_CASE("growth of what is large already is not drawn from zero, all else is", "[plot]") {
  ReportSeries series = series_of("allocated", {{1, 30 * gib}, {2, 31 * gib}, {3, 31 * gib}});
  CHECK(only_plot(with_series({series})).bottom == 0);
  series.trend.leak = true;
  CHECK(only_plot(with_series({series})).bottom > 20);
  const Plot rising = only_plot(with_series({series_of("allocated", {{1, 3 * gib}, {2, 31 * gib}, {3, 31 * gib}})}));
  CHECK(rising.bottom == 0);
  const Plot flat = only_plot(with_series({series_of("allocated", {{1, 3 * gib}, {2, 3 * gib}, {3, 3 * gib}})}));
  CHECK(flat.top - flat.bottom > 0.1);
}

TEST_CASE("steps that fall make no axis: values are drawn in their order", "[plot]") {
  const Plot plot =
      only_plot(with_series({series_of("allocated", {{1, gib}, {2, gib}, {3, gib}, {1, gib}, {2, gib}})}));
  const auto& points = plot.lines.front().points;
  CHECK(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
  CHECK(plot.x_name != "step");
}

TEST_CASE("steps that a double cannot count have few ticks, not endless ones", "[plot]") {
  const Plot plot = only_plot(with_series({series_of("allocated", {{1e17, gib}, {1e17 + 16, gib}, {1e17 + 32, gib}})}));
  CHECK(plot.x_ticks.size() < 20);
  CHECK(plot.left < plot.right);
}

TEST_CASE("live memory and cache keep their colours, others get what is left", "[plot]") {
  const std::vector<ReportPoint> points{{1, gib}, {2, gib}, {3, gib}};
  const Plot plot = only_plot(
      with_series({series_of("used", points), series_of("reserved", points), series_of("allocated", points)}));
  for (const auto& line : plot.lines) {
    if (line.name == "allocated") CHECK(line.colour == 0);
    if (line.name == "reserved") CHECK(line.colour == 1);
    if (line.name == "device memory used") CHECK(line.colour == 2);
  }
}

TEST_CASE("of many ranks one is in colour, and their peaks survive the thinning", "[plot]") {
  std::vector<ReportSeries> all;
  for (int rank = 0; rank < 100; ++rank) {
    std::vector<ReportPoint> points;
    for (int i = 0; i < 400; ++i) points.push_back({static_cast<double>(i), (i == 123 ? 9 : 2) * gib});
    all.push_back(series_of("allocated", points));
    all.back().rank = rank;
  }
  const Plot plot = only_plot(with_series(all));
  CHECK(plot.lines.size() == 64);
  CHECK(plot.not_drawn == 36);
  CHECK_FALSE(plot.lines.back().faint);
  for (const auto& line : plot.lines) {
    CHECK(line.points.size() <= (line.faint ? 80U : 400U));
    CHECK(std::any_of(line.points.begin(), line.points.end(), [](const auto& p) { return p.y == 9; }));
  }
}

TEST_CASE("device and host memory are apart", "[plot]") {
  const std::vector<ReportPoint> points{{1, gib}, {2, gib}, {3, gib}};
  const auto plots = plots_of(with_series({series_of("allocated", points), series_of("host_rss", points)}));
  REQUIRE(plots.size() == 2);
  CHECK(plots[0].title == "GPU memory");
  CHECK(plots[1].title == "Host memory");
}
