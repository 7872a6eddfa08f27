#include "render/chart.h"

#include <limits>

#include "catch.h"
#include "report/utf8.h"

using namespace oomdoctor;

TEST_CASE("the length of a bar is its share, to an eighth of a column", "[chart]") {
  CHECK(bar(1, 4) == "████");
  CHECK(bar(0.5, 4) == "██");
  CHECK(bar(0.53125, 4) == "██▏");
  CHECK(bar(0, 4).empty());
  CHECK(bar(1e-9, 4) == "▏");
  CHECK(bar(7, 4) == "████");
  CHECK(bar(-1, 4).empty());
  CHECK(bar(std::numeric_limits<double>::quiet_NaN(), 4).empty());
}

TEST_CASE("each waterfall row starts where the previous one ends, and the rows fill the width", "[chart]") {
  const auto rows = waterfall({0.5, 0.25, 0.25}, 8);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == "████");
  CHECK(rows[1] == "    ██");
  CHECK(rows[2] == "      ██");
}

TEST_CASE("shares too small for a column get a hairline, and no bar exceeds the width", "[chart]") {
  const auto rows = waterfall({0.99, 0.005, 0.005, 0.5}, 10);
  CHECK(rows[1].find("▏") != std::string::npos);
  CHECK(rows[2].find("▏") != std::string::npos);
  for (const auto& row : rows) CHECK(count_columns(row) <= 10);
  CHECK(waterfall({1.0, -0.2}, 5)[1].find("█") == std::string::npos);
}

TEST_CASE("a sparkline keeps peaks and does not amplify noise", "[chart]") {
  std::vector<ReportPoint> rising, peak, level;
  for (int i = 0; i < 8; ++i) rising.push_back({1.0 * i, 1.0 * i});
  CHECK(sparkline(rising, 8) == "▁▂▃▄▅▆▇█");
  for (int i = 0; i < 800; ++i) peak.push_back({1.0 * i, i == 450 ? 9.0 : 1.0});
  CHECK(sparkline(peak, 8) == "▁▁▁▁█▁▁▁");
  std::vector<ReportPoint> from_zero{{0, 0}, {1, 0}};
  for (int i = 2; i < 40; ++i) from_zero.push_back({1.0 * i, 5});
  CHECK(sparkline(from_zero, 8) == "▁███████");  // the first cell has both levels
  for (int i = 0; i < 8; ++i) level.push_back({1.0 * i, 1000.0 + (i % 2)});
  CHECK(sparkline(level, 8) == "▁▁▁▁▁▁▁▁");
}

TEST_CASE("a sparkline draws the values that it can", "[chart]") {
  CHECK(sparkline({}, 8).empty());
  CHECK(sparkline({{3, 5}}, 8) == "▁");
  CHECK(count_columns(sparkline({{0, 1}, {1, 2}, {1000, 3}}, 8)) == 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(sparkline({{0, nan}, {nan, 1}}, 8).empty());
  CHECK(sparkline({{5, 1}, {5, 4}}, 8).size() > 0);
}

TEST_CASE("a sparkline draws nothing where nothing was measured", "[chart]") {
  std::vector<ReportPoint> sessions;
  for (int i = 0; i < 10; ++i) sessions.push_back({1.0 * i, 4});
  for (int i = 0; i < 10; ++i) sessions.push_back({1000.0 + i, 8});
  CHECK(sparkline(sessions, 8) == "▁      █");
}
