#include "model/series.h"

#include <algorithm>
#include <limits>

#include "catch.h"

using namespace oomdoctor;

namespace {

i64 values_in(const Series& series) {
  i64 sum = 0;
  for (const Bucket& bucket : series.buckets()) sum += bucket.n;
  return sum;
}

}  // namespace

TEST_CASE("a short series keeps every value") {
  Series series;
  for (const double y : {3.0, 5.0, 5.0, 2.0}) series.add(static_cast<double>(series.n) * 10, 100, y);
  REQUIRE(series.buckets().size() == 4);
  CHECK(series.n == 4);
  CHECK(series.first_value == 3);
  CHECK(series.last_value == 2);
  CHECK(series.max_value == 5);
  CHECK(series.max_x == 10);
  CHECK(series.min_value == 2);
  CHECK(series.falls == 1);
  CHECK(series.plateaus == 1);
  CHECK(series.interval == 10);
  CHECK(series.buckets()[3].x == 30);
  CHECK(series.buckets()[3].t == 100);
}

TEST_CASE("a long series stays bounded, exact at its ends and unbiased between") {
  Series series;
  const int count = 100000;
  for (int i = 0; i < count; ++i) series.add(i, 0, i == 77777 ? 1e9 : 2.0 * i);
  CHECK(series.n == count);
  CHECK(series.buckets().size() <= Series::max_buckets);
  CHECK(series.buckets().size() > Series::max_buckets / 4);
  CHECK(values_in(series) == count);
  CHECK(series.first_value == 0);
  CHECK(series.last_value == 2.0 * (count - 1));
  CHECK(series.max_value == 1e9);
  CHECK(series.max_x == 77777);
  double mean_x = 0;
  bool kept = false;
  for (const Bucket& bucket : series.buckets()) {
    mean_x += bucket.x * static_cast<double>(bucket.n) / count;
    CHECK(bucket.low <= bucket.y);
    CHECK(bucket.high >= bucket.y);
    kept = kept || (bucket.high == 1e9 && bucket.x_high == 77777);
  }
  CHECK(mean_x == Approx((count - 1) / 2.0));
  CHECK(kept);
}

TEST_CASE("a falling step begins a run and runs are never joined") {
  Series series;
  for (int run = 0; run < 3; ++run)
    for (int i = 0; i < 9000; ++i) series.add(i, 0, run);
  int restarts = 0;
  for (const Bucket& bucket : series.buckets()) {
    restarts += bucket.restart ? 1 : 0;
    CHECK(bucket.low == bucket.high);
  }
  CHECK(restarts == 2);
  CHECK(series.falls == 0);
  CHECK(values_in(series) == 27000);
}

TEST_CASE("a counter that falls all the time stays bounded, too") {
  Series series;
  for (int i = 0; i < 300000; ++i) series.add(-i, 0, i);
  CHECK(series.buckets().size() <= Series::max_buckets);
  CHECK(series.n == 300000);
  CHECK(series.buckets().back().y == 299999);
}

TEST_CASE("a thinned series keeps its latest runs if there are too many") {
  Series series;
  for (int i = 0; i < 100; ++i) series.add(-i, 0, i);
  series.thin(10);
  REQUIRE(series.buckets().size() == 10);
  CHECK(series.buckets().front().y == 90);
  CHECK(series.buckets().back().y == 99);
  CHECK(series.n == 100);
}

TEST_CASE("the same line printed twice counts but weighs once") {
  Series series;
  for (const double y : {1.0, 1.0, 4.0}) series.add(y < 2 ? 1 : 2, 0, y);
  CHECK(series.n == 3);
  CHECK(series.buckets().size() == 2);
  CHECK(series.plateaus == 0);
}

TEST_CASE("values that are not numbers are left out") {
  Series series;
  series.add(1, 0, std::numeric_limits<double>::quiet_NaN());
  series.add(std::numeric_limits<double>::infinity(), 0, 1);
  CHECK(series.n == 0);
  CHECK(series.buckets().empty());
}

TEST_CASE("another reading of the unit changes every value and no step") {
  Series series;
  series.quantum = 0.5;
  for (int i = 0; i < 5; ++i) series.add(i, 0, i + 1);
  series.rescale(2);
  CHECK(series.quantum == 1);
  CHECK(series.first_value == 2);
  CHECK(series.max_value == 10);
  CHECK(series.buckets()[2].y == 6);
  CHECK(series.buckets()[2].high == 6);
  CHECK(series.last_x == 4);
}

TEST_CASE("metrics and kinds have the names of the report") {
  CHECK(to_string(Metric::allocated) == "allocated");
  CHECK(to_string(Metric::max_reserved) == "max_reserved");
  CHECK(to_string(Metric::host_rss) == "host_rss");
  CHECK(to_string(SeriesKind::running_maximum) == "running_maximum");
  CHECK(to_string(SeriesKind::sampled_gauge) == "sampled_gauge");
}
