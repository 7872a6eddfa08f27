// The content of plots: ranges, ticks, colours, marks, and no lost peak after thinning.
#include "render/plot.h"

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

Plot only_plot(const Report& report) {
  const auto plots = make_plots(report);
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

TEST_CASE("a fatal leak: values in GiB, the capacity and the failure visible, no forecast", "[plot]") {
  const Plot plot = only_plot(samples::fatal());
  CHECK(plot.unit == "GiB");
  CHECK(plot.lines.back().points.front().y == Approx(15.4));
  REQUIRE(plot.capacity);
  CHECK(*plot.capacity == Approx(23.69));
  CHECK(plot.top > *plot.capacity);
  REQUIRE(plot.marks.size() == 1);
  CHECK(plot.marks.front().kind == PlotMark::failure);
  CHECK(plot.marks.front().x == 1000);
  CHECK(plot.marks.front().text == "OOM, step 1000");
  CHECK(plot.marks.front().place == "line 2001");
  CHECK_FALSE(plot.forecast);
  for (const double tick : plot.y_ticks) CHECK(tick == std::round(tick));
}

TEST_CASE("the refused request is drawn on top of the last value", "[plot]") {
  Report report = samples::fatal();
  const Plot plot = only_plot(report);
  REQUIRE(plot.request);
  CHECK(plot.request->x == 1000);
  CHECK(plot.request->from == Approx(21.4));
  CHECK(plot.request->to == Approx(22.9));
  CHECK(plot.request->size == "+1.50 GiB");
  report.incidents[0].requested_bytes = samples::gib(4000);
  CHECK(only_plot(report).top < 40);  // a request many times the GPU's size does not flatten the curve
  report.incidents[0].rank = 1;
  report.series[0].rank = 0;
  CHECK_FALSE(only_plot(report).request);
}

TEST_CASE("a fit is drawn where it differs from the values, and beyond them while the run continues", "[plot]") {
  Report report = samples::fatal();
  report.series[0].trend.forecast->capacity_bytes = samples::gib(23.69);
  CHECK(only_plot(report).fit.empty());
  report.verdict.outcome = Outcome::at_risk;
  const Plot plot = only_plot(report);
  REQUIRE(plot.forecast);
  CHECK(plot.right >= 1016);
  REQUIRE(plot.fit.size() == 1);
  CHECK(plot.fit.front().back().x > 900);
  CHECK(plot.bands.back().name == "forecast");
  CHECK(plot.bands.back().left == 900);
  for (auto& p : report.series[0].trend.curve) p.y *= 1.2;
  CHECK(only_plot(report).fit.front().front().x == 100);
}

TEST_CASE("common words of all lines label the axis, the others label the lines", "[plot]") {
  const std::vector<ReportPoint> points{{1, gib}, {2, gib}, {3, gib}};
  ReportSeries first = series_of("used", points), second = first;
  first.device = 0, second.device = 1;
  Plot plot = only_plot(with_series({first, second}));
  CHECK(plot.y_name == "GPU memory used (GiB)");
  CHECK(plot.lines[0].label == "GPU 1");
  CHECK(plot.lines[1].label == "GPU 0");
  plot = only_plot(with_series({first, series_of("allocated", points)}));
  CHECK(plot.y_name == "GPU memory (GiB)");
  CHECK(plot.lines[0].label == "allocated");
}

TEST_CASE("the clock is read between the dated values, with seconds or days where the range needs them", "[plot]") {
  Plot plot;
  CHECK(clock_text(plot, 5).empty());
  plot.clock = {{10, 1741080730}, {20, 1741080760}, {30, 1741081000}};  // 2025-03-04 09:32:10, 40, 09:36:40
  CHECK(clock_text(plot, 10) == "09:32:10");
  CHECK(clock_text(plot, 15) == "09:32:25");
  CHECK(clock_text(plot, 25) == "09:34:40");
  CHECK(clock_text(plot, 30) == "09:36:40");
  CHECK(clock_text(plot, 9).empty());
  CHECK(clock_text(plot, 31).empty());
  plot.clock.back().y += 3600;
  CHECK(clock_text(plot, 10) == "09:32");
  plot.clock.back().y += 86400;
  CHECK(clock_text(plot, 10) == "03-04 09:32");
}

TEST_CASE("a capacity far above growth is only named, and the second axis still has its shares", "[plot]") {
  Report report = samples::at_risk();
  CHECK_FALSE(make_plots(report).front().capacity_above);
  report.series[0].trend.forecast->capacity_bytes = samples::gib(178);
  const Plot plot = make_plots(report).front();
  CHECK(plot.capacity_above);  // 178 GiB would flatten the line
  CHECK(plot.top < 40);
  CHECK(plot.share_ticks.back() < 25);
  CHECK_FALSE(plot.forecast);
  CHECK(plot.right < 1000 * 5);
}

TEST_CASE("the capacity of the input is drawn without a failure, unless the GPUs differ in size", "[plot]") {
  ReportSeries series = series_of("used", {{1, 9 * gib}, {2, 10 * gib}, {3, 10 * gib}});
  series.trend.capacity_bytes = samples::gib(40);
  const Plot plot = only_plot(with_series({series}));
  CHECK(plot.capacity == Approx(40));
  CHECK_FALSE(plot.capacity_above);
  CHECK(plot.top > 40);
  CHECK(plot.share_ticks == std::vector<double>{0, 20, 40, 60, 80, 100});
  ReportSeries other = series;
  other.id = "other";
  other.device = 7;
  other.trend.capacity_bytes = samples::gib(80);
  CHECK_FALSE(only_plot(with_series({series, other})).capacity);
}

TEST_CASE("a report without series has no plot, and two values are no line", "[plot]") {
  CHECK(make_plots(samples::handled()).empty());
  CHECK(make_plots(with_series({series_of("allocated", {{1, gib}, {2, gib}})})).empty());
  CHECK(make_plots(with_series({series_of("allocated", {{1, gib}, {1, 2 * gib}, {1, gib}})})).empty());
}

TEST_CASE("only growth of an already large series does not start at zero", "[plot]") {
  ReportSeries series = series_of("allocated", {{1, 30 * gib}, {2, 31 * gib}, {3, 31 * gib}});
  CHECK(only_plot(with_series({series})).bottom == 0);
  series.trend.leak = true;
  CHECK(only_plot(with_series({series})).bottom > 20);
  const Plot rising = only_plot(with_series({series_of("allocated", {{1, 3 * gib}, {2, 31 * gib}, {3, 31 * gib}})}));
  CHECK(rising.bottom == 0);
  const Plot flat = only_plot(with_series({series_of("allocated", {{1, 3 * gib}, {2, 3 * gib}, {3, 3 * gib}})}));
  CHECK(flat.top - flat.bottom > 0.1);
}

TEST_CASE("falling steps give no axis: values are drawn in their order", "[plot]") {
  const Plot plot =
      only_plot(with_series({series_of("allocated", {{1, gib}, {2, gib}, {3, gib}, {1, gib}, {2, gib}})}));
  const auto& points = plot.lines.front().points;
  CHECK(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
  CHECK(plot.x_name != "step");
}

TEST_CASE("steps beyond the precision of a double have few ticks, not infinitely many", "[plot]") {
  const Plot plot = only_plot(with_series({series_of("allocated", {{1e17, gib}, {1e17 + 16, gib}, {1e17 + 32, gib}})}));
  CHECK(plot.x_ticks.size() < 20);
  CHECK(plot.left < plot.right);
}

TEST_CASE("live memory and cache keep their colours, other series get the rest", "[plot]") {
  const std::vector<ReportPoint> points{{1, gib}, {2, gib}, {3, gib}};
  const Plot plot = only_plot(
      with_series({series_of("used", points), series_of("reserved", points), series_of("allocated", points)}));
  for (const auto& line : plot.lines) {
    if (line.name == "allocated") CHECK(line.colour == 0);
    if (line.name == "reserved") CHECK(line.colour == 1);
    if (line.name == "GPU memory used") CHECK(line.colour == 2);
  }
}

TEST_CASE("one of many ranks has a colour, and the peaks of all survive the thinning", "[plot]") {
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

TEST_CASE("GPU memory and host memory have separate plots", "[plot]") {
  const std::vector<ReportPoint> points{{1, gib}, {2, gib}, {3, gib}};
  const auto plots = make_plots(with_series({series_of("allocated", points), series_of("host_rss", points)}));
  REQUIRE(plots.size() == 2);
  CHECK(plots[0].title == "GPU memory");
  CHECK(plots[1].title == "Host memory");
}
