// The fitted curve as a chart shows it.
#include "catch.h"
#include "curves.h"
#include "growth/growth.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

TEST_CASE("a curve follows the values and continues to the end of the forecast", "[curve]") {
  const Trend trend = analyse_growth(accelerating_run(), {23.69 * GiB, 1000.0});
  REQUIRE(trend.forecast);
  REQUIRE(trend.curve.size() > 10);
  CHECK(trend.curve.front().x == 100);
  CHECK(trend.curve.back().x == Approx(*trend.forecast->step_high).margin(0.01));
  for (std::size_t i = 0; i < trend.curve.size(); ++i) {
    const CurvePoint& p = trend.curve[i];
    CHECK(p.low <= p.y);
    CHECK(p.y <= p.high);
    if (i > 0) CHECK(p.x > trend.curve[i - 1].x);
  }
  // The interval is wider beyond the values than between them.
  const CurvePoint &middle = trend.curve[trend.curve.size() / 2], &end = trend.curve.back();
  CHECK(end.high - end.low > 2 * (middle.high - middle.low));
}

TEST_CASE("a curve extends at most one window beyond the values", "[curve]") {
  const Trend trend = analyse_growth(accelerating_run(), {500.0 * GiB, {}});
  REQUIRE(trend.forecast);
  CHECK(trend.curve.back().x <= 900 + 800 + 0.01);
}

TEST_CASE("a series that counts its steps anew has no curve: the fit's steps are not the printed ones", "[curve]") {
  Series series = accelerating_run();
  const auto points = series.buckets();
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const Bucket& b : points) series.add(b.x, 0, b.y);
  CHECK(analyse_growth(series).curve.empty());
}

TEST_CASE("a curve with jumps has enough points to look steep", "[curve]") {
  const auto points = [](const Curve& curve) { return trend_of(180, curve, 0.02).curve.size(); };
  CHECK(points([](int, double t) { return 18 + 6 * t; }) == 25);
  CHECK(points([](int, double t) { return t < 0.4 ? 18.0 : 21.5; }) == 97);
  CHECK(points([](int i, double) { return 18 + 0.4 * (i % 8); }) == 97);
}
