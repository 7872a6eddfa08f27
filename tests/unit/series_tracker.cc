// The x axis and the identity of series.
#include "fold/series_tracker.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "catch.h"

namespace oomdoctor {
namespace {

/// Adds values as parsers report them: one line of text each.
class Tracked {
 public:
  struct Place {
    std::optional<double> step = {}, time = {};
    std::optional<i64> stream_step = {};
  };

  void add(double value, const Place& place, const std::string& reader = "free/value", const Origin& origin = {},
           Metric metric = Metric::allocated) {
    Reading reading;
    reading.metric = metric;
    reading.kind = kind;
    reading.value = value;
    reading.quantum = quantum;
    reading.capacity = capacity;
    const std::string text = "allocated";
    const Window window(text);
    LineRef ref;
    ref.line = window.line_around(0, 1);
    ref.line.prefix.time = clock;
    ref.reader = *readers_.insert(reader).first;
    const Cursor cursor(window, ref.line);
    CurrentLine here;
    here.begin(cursor, ref);
    here.at(origin);
    tracker_.begin_line();
    tracker_.add(here, reading, 0, place.step, place.time, place.stream_step);
    tracker_.end_block();
  }

  const std::vector<Series>& all() const { return out_.series; }
  /// The x of each value of the first series.
  std::vector<double> xs() const {
    std::vector<double> out;
    for (const Bucket& bucket : all().at(0).buckets()) out.push_back(bucket.x);
    return out;
  }

  double quantum = 0, capacity = 0;
  SeriesKind kind = SeriesKind::gauge;
  std::optional<double> clock;  ///< that the line prints in front

 private:
  ScanResult out_;
  SeriesTracker tracker_{out_};
  std::set<std::string> readers_;
};

using Xs = std::vector<double>;
constexpr double day = 86400;

}  // namespace

TEST_CASE("a value lies at its step, else at its time, else at its index", "[series_tracker]") {
  Tracked steps, stream, times, indices;
  for (const int i : {0, 1, 2}) {
    steps.add(i, {10.0 * i + 5, 60.0 * i, 3});
    stream.add(i, {{}, 60.0 * i, 4 * i + 1});
    times.add(i, {{}, 1e9 + 60.0 * i, {}});
    indices.add(i, {});
  }
  CHECK(steps.xs() == Xs{5, 15, 25});
  CHECK(stream.xs() == Xs{1, 5, 9});
  CHECK(times.xs() == Xs{0, 60, 120});
  CHECK(indices.xs() == Xs{0, 1, 2});
  CHECK((steps.all()[0].has_steps && !steps.all()[0].has_times));
  CHECK((stream.all()[0].has_steps && !stream.all()[0].has_times));
  CHECK((!times.all()[0].has_steps && times.all()[0].has_times));
  CHECK((!indices.all()[0].has_steps && !indices.all()[0].has_times));
}

TEST_CASE("a step is read or absent, never made up", "[series_tracker]") {
  Tracked within;  // several values of one step
  double value = 0;
  for (const i64 step : {100, 100, 100, 110, 110, 120}) within.add(++value, {{}, {}, step});
  CHECK(within.xs() == Xs{100, 100, 100, 110, 110, 120});
  Tracked restarted;
  for (const i64 step : {100, 110, 10, 20}) restarted.add(to_double(step), {{}, {}, step});
  CHECK(restarted.xs() == Xs{100, 110, 10, 20});
  CHECK(restarted.all()[0].buckets()[2].restart);
  Tracked silent;  // the step counter was reset, and the new run has not printed one yet
  silent.add(1, {7.0, {}, {}});
  silent.add(2, {});
  CHECK(silent.xs() == Xs{7, 7});
}

TEST_CASE("a long pause of a monitor begins another session", "[series_tracker]") {
  const auto sessions = [](SeriesKind kind, const std::vector<double>& moments) {
    Tracked values;
    values.kind = kind;
    for (const double moment : moments) values.add(moment, {{}, 1e9 + moment, {}});
    const auto& buckets = values.all()[0].buckets();
    return 1 + std::count_if(buckets.begin(), buckets.end(), [](const Bucket& b) { return b.restart; });
  };
  CHECK(sessions(SeriesKind::sampled_gauge, {0, 6, 12, 18, 3600, 3606, 3612, 90000}) == 3);
  CHECK(sessions(SeriesKind::sampled_gauge, {0, 6, 12, 18, 500}) == 1);           // too short
  CHECK(sessions(SeriesKind::sampled_gauge, {0, 900, 1800, 2700, 9000}) == 1);    // it is slow
  CHECK(sessions(SeriesKind::sampled_gauge, {0, 6, 400, 406, 5000, 5006}) == 1);  // it writes now and then
  CHECK(sessions(SeriesKind::gauge, {0, 6, 12, 18, 3600, 3606}) == 1);            // a program that works meanwhile
}

TEST_CASE("a clock without a date that falls back has passed midnight", "[series_tracker]") {
  Tracked clock;
  for (const double moment : {day - 10, 5.0, day - 7200, 3.0}) clock.add(1 + moment, {{}, moment, {}});
  CHECK(clock.xs() == Xs{0, 15, day - 7190, day + 13});
  Tracked unordered;  // by less than an hour: lines out of order, and a second recording
  for (const double moment : {100.0, 160.0, 159.0, 90.0, 95.0}) unordered.add(1 + moment, {{}, moment, {}});
  CHECK(unordered.xs() == Xs{0, 60, 59, 0, 5});
  Tracked dated;  // a date that falls back is an earlier moment
  for (const double moment : {1e9, 1e9 + 60, 1e9 + 30, 1e9 - 90, 1e9 - 30}) dated.add(moment, {{}, moment, {}});
  CHECK(dated.xs() == Xs{0, 60, 30, 0, 60});
}

TEST_CASE("a value without a time lies one interval after the value before it", "[series_tracker]") {
  Tracked times;
  times.add(1, {{}, 100.0, {}});
  times.add(2, {{}, 105.0, {}});
  times.add(3, {});
  times.add(4, {});
  CHECK(times.xs() == Xs{0, 5, 10, 15});
}

TEST_CASE("a series that began on the clock stays on it when the log begins to count", "[series_tracker]") {
  Tracked times;
  times.add(1, {{}, 100.0, {}});
  times.clock = 105;
  times.add(2, {});
  times.clock = 130;
  times.add(3, {{}, {}, 7});
  CHECK(times.xs() == Xs{0, 5, 30});
}

TEST_CASE("a step beyond all sense stays at the step before it", "[series_tracker]") {
  Tracked steps;
  for (const double step : {1.0, 2.0, 1e300, 3.0}) steps.add(step, {step, {}, {}});
  CHECK(steps.xs() == Xs{1, 2, 2, 3});
}

TEST_CASE("counters of two parsers are two series, a device has one memory", "[series_tracker]") {
  Tracked tracked;
  for (const int i : {1, 2})
    for (const std::string reader : {"one/a", "one/b", "two/a"}) {
      tracked.add(i, {1.0 * i, {}, {}}, reader);
      tracked.add(i, {1.0 * i, {}, {}}, reader, {}, Metric::used);
    }
  REQUIRE(tracked.all().size() == 3);
  CHECK(tracked.all()[0].n == 4);
  CHECK(tracked.all()[1].metric == Metric::used);
  CHECK(tracked.all()[1].n == 6);
  CHECK(tracked.all()[2].n == 2);
}

TEST_CASE("each rank, process and device has its own series", "[series_tracker]") {
  Tracked tracked;
  const auto origin_of = [](std::optional<int> rank, std::optional<i64> pid, std::optional<int> device) {
    Origin origin;
    origin.rank = rank;
    origin.pid = pid;
    origin.device = device;
    return origin;
  };
  const std::vector<Origin> origins{origin_of({}, {}, {}), origin_of(0, {}, {}), origin_of(1, {}, {}),
                                    origin_of({}, 1, {}),  origin_of({}, 7, {}), origin_of({}, {}, 0),
                                    origin_of({}, {}, 1),  origin_of(1, {}, 1)};
  for (const int i : {1, 2, 3})
    for (const Origin& origin : origins) tracked.add(i, {1.0 * i, {}, {}}, "one/a", origin);
  REQUIRE(tracked.all().size() == origins.size());
  for (const Series& series : tracked.all()) CHECK(series.n == 3);
}

TEST_CASE("a series keeps its finest digits, and the capacity printed with its largest value", "[series_tracker]") {
  Tracked tracked;
  for (const auto& [value, quantum, capacity] :
       {std::tuple{5.0, 10.0, 100.0}, {9.0, 1.0, 200.0}, {7.0, 0.0, 300.0}, {8.0, 5.0, 0.0}}) {
    tracked.quantum = quantum;
    tracked.capacity = capacity;
    tracked.add(value, {value, {}, {}});
  }
  CHECK(tracked.all()[0].quantum == 1);
  CHECK(tracked.all()[0].capacity == 200);
}

}  // namespace oomdoctor
