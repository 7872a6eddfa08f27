#include "growth/growth.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "cpu_time.h"
#include "curves.h"
#include "growth/samples.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

TEST_CASE("nine values that accelerate until a GPU of 24 GB is full") {
  const Trend trend = analyse_growth(accelerating_run(), {23.69 * GiB, 1000.0});
  CHECK(trend.leak);
  CHECK(trend.shape == Shape::accelerating);
  CHECK(trend.model == "quadratic");
  CHECK(trend.confidence > 0.9);
  CHECK(trend.slope.value == Approx(7.42e6).epsilon(0.001));
  CHECK(trend.acceleration.value == Approx(13920).margin(5));
  CHECK(trend.acceleration.high - trend.acceleration.value == Approx(920).margin(10));
  CHECK(trend.acceleration.low > 0);
  REQUIRE(trend.forecast);
  CHECK(trend.forecast->step == Approx(993.6).margin(1));
  CHECK(trend.forecast->step_low > 950);
  CHECK(trend.forecast->step_low < 990);
  REQUIRE(trend.forecast->step_high);
  CHECK(*trend.forecast->step_high >= 1000);
  CHECK(*trend.forecast->step_high < 1030);
  CHECK_FALSE(trend.forecast->beyond_data);
  CHECK(trend.why.find("grows by 7.07 MiB per step since step 100") != std::string::npos);
  CHECK(trend.models.front().first == "quadratic");
  CHECK(trend.models.size() > 5);
}

TEST_CASE("the step at which nine accelerating values cross a capacity") {
  const auto full_at = [](double capacity) {
    const Trend trend = analyse_growth(accelerating_run(), {capacity * GB, {}});
    REQUIRE(trend.forecast);
    CHECK(trend.forecast->step_low <= trend.forecast->step);
    CHECK(trend.forecast->step_high.value_or(1e9) >= trend.forecast->step);
    CHECK(trend.forecast->beyond_data == (trend.forecast->step > 1700));
    return trend.forecast->step;
  };
  CHECK(full_at(24.5) == Approx(926).margin(0.5));
  CHECK(full_at(25.0) == Approx(963).margin(0.5));
  CHECK(full_at(25.66) == Approx(1009).margin(0.5));
  CHECK(full_at(26) == Approx(1032).margin(0.5));
  CHECK(full_at(30) == Approx(1275).margin(0.5));
  CHECK(full_at(40) == Approx(1741).margin(0.5));
  // A GPU of 24 GB, from the smallest to the largest part of it that is left for a program.
  CHECK(full_at(23.64 * GiB / GB) == Approx(990).margin(0.5));
  CHECK(full_at(23.99 * GiB / GB) == Approx(1016).margin(0.5));
}

TEST_CASE("jitter of half a print step does not change the verdict") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Noise source(seed);
    std::vector<double> values;
    for (const double y : {18.2, 18.5, 18.9, 19.4, 20.1, 20.9, 21.8, 22.9, 24.2})
      values.push_back((y + 0.1 * (source.uniform() - 0.5)) * GB);
    const Trend trend = analyse_growth(series_of(values, 0.001 * GB, 100));
    CHECK(trend.leak);
    CHECK(trend.shape == Shape::accelerating);
    CHECK(trend.acceleration.value > 13250);
    CHECK(trend.acceleration.value < 14650);
  }
}

TEST_CASE("leaks of every kind") {
  const auto leaks = [](const Trend& trend, Shape shape) { return trend.leak && trend.shape == shape; };
  for (const int n : {20, 60, 300}) {
    INFO("n = " << n);
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 4 * t; }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + t + 4 * t * t; }, 0.05),
                Shape::accelerating));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 0.3 * std::exp(3 * t); }, 0.03),
                Shape::accelerating));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 6 * std::max(0.0, t - 0.5); }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + 3 * t + 4 * std::max(0.0, t - 0.5); }, 0.05),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int, double t) { return 10 + std::floor(6.99 * t); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [&](int i, double t) { return 10 + 3 * t + (i % (n / 5)) / (n / 5.0); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int i, double t) { return 10 + 4 * t + (i % 13 == 5 ? 5 : 0); }, 0.02),
                Shape::linear));
    CHECK(leaks(trend_of(
                    n, [](int i, double t) { return 10 + 4 * t + std::min(i, 3); }, 0.02),
                Shape::linear));
  }
}

TEST_CASE("series without a leak, and their shapes") {
  const auto is = [](const Trend& trend, Shape shape) { return !trend.leak && trend.shape == shape; };
  for (const int n : {25, 60, 240}) {
    INFO("n = " << n);
    CHECK(is(trend_of(n, [](int, double) { return 10.0; }), Shape::flat));
    CHECK(is(trend_of(
                 n, [](int, double) { return 10.0; }, 0.02),
             Shape::flat));
    CHECK(is(trend_of(
                 n, [](int, double) { return 10.0; }, 0.5),
             Shape::noisy));
    CHECK(is(trend_of(
                 n, [](int i, double) { return 10 + 0.7 * std::min(i, 3); }, 0.01),
             Shape::warmup));
    CHECK(is(trend_of(
                 n, [](int i, double) { return i == 0 ? 4.0 : 10.0; }, 0.01),
             Shape::warmup));
    CHECK(is(trend_of(
                 n, [](int, double t) { return t > 0.4 ? 12.0 : 10.0; }, 0.02),
             Shape::step));
    CHECK(is(trend_of(
                 n, [](int, double t) { return 10 + (t > 0.3) + (t > 0.7); }, 0.02),
             Shape::step));
    CHECK(is(trend_of(
                 n, [](int, double t) { return 10 + 3 * (1 - std::exp(-t / 0.15)); }, 0.02),
             Shape::saturating));
    CHECK(is(trend_of(
                 n, [](int i, double) { return 10 + (i % 12) / 6.0; }, 0.02),
             Shape::sawtooth));
    CHECK(is(trend_of(
                 n, [](int i, double) { return i == 11 ? 15.0 : 10.0; }, 0.02),
             Shape::spike));
    CHECK_FALSE(trend_of(
                    n, [](int, double t) { return 14 - 4 * t; }, 0.02)
                    .leak);
    CHECK_FALSE(trend_of(
                    n, [](int, double t) { return 10 + 4 * std::fmod(2 * t, 1.0); }, 0.02)
                    .leak);
  }
}

TEST_CASE("growth too small to matter is reported, but not as a leak") {
  const Trend trend = trend_of(
      100, [](int, double t) { return 10 + 0.1 * t; }, 0, 1, 80 * GB);
  CHECK_FALSE(trend.leak);
  CHECK(trend.why.find("is less than 1% of the capacity") != std::string::npos);
  CHECK(trend_of(
            100, [](int, double t) { return 10 + 0.1 * t; }, 0, 1, std::nullopt)
            .leak);
}

TEST_CASE("a noisy series reports the smallest leak that it could hide") {
  const Trend quiet = trend_of(
      60, [](int, double) { return 10.0; }, 0.02);
  const Trend loud = trend_of(
      60, [](int, double) { return 10.0; }, 0.5);
  CHECK(quiet.detectable_slope > 0);
  CHECK(loud.detectable_slope > 5 * quiet.detectable_slope);
  CHECK(loud.slope.low < 0);
  CHECK(loud.slope.high > 0);
}

TEST_CASE("the start of the growth, its period and its jump") {
  const Trend late = trend_of(
      60, [](int i, double) { return 10 + 0.1 * std::max(0, i - 30); }, 0.01);
  REQUIRE(late.onset_step);
  CHECK(*late.onset_step == Approx(300).margin(20));
  const Trend teeth = trend_of(
      96, [](int i, double) { return 10 + (i % 12) / 12.0; }, 0.01);
  REQUIRE(teeth.period);
  CHECK(*teeth.period == Approx(120).margin(2));
  const Trend step = trend_of(
      60, [](int i, double) { return i < 20 ? 10.0 : 12.0; }, 0.01);
  REQUIRE(step.change_points.size() == 1);
  CHECK(step.change_points[0] == Approx(195).margin(1));
}

TEST_CASE("the last run counts, and epochs are one run") {
  Series restarted, calm, released, kept;
  for (Series* series : {&restarted, &calm, &released, &kept}) {
    series->metric = Metric::allocated;
    series->quantum = 0.01 * GB;
  }
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < 25; ++i) {
      restarted.add(i + 7 * run, 0, GB * (run == 1 ? 10 + 0.1 * i : 10));
      calm.add(i + 7 * run, 0, GB * (run == 0 ? 10 + 0.1 * i : 10));
    }
  for (int epoch = 0; epoch < 6; ++epoch)
    for (int i = 1; i <= 20; ++i) {
      released.add(10 * i, 0, GB * (10 + 0.1 * i));
      kept.add(10 * i, 0, GB * (10 + 0.1 * (20 * epoch + i)));
    }
  CHECK(analyse_growth(restarted).leak);
  CHECK_FALSE(analyse_growth(calm).leak);
  CHECK(analyse_growth(released).shape == Shape::sawtooth);
  CHECK(analyse_growth(kept).leak);
}

namespace {

/// Six epochs of 110 steps, logged every ten steps.
Series six_epochs(const std::function<double(int epoch, int step)>& curve, int first = 10) {
  Series series = series_at({}, {}, 0.001 * GB);
  for (int epoch = 0; epoch < 6; ++epoch)
    for (int step = first; step <= 110; step += 10) series.add(step, 0, rounded(GB * curve(epoch, step), 0.001 * GB));
  return series;
}

}  // namespace

TEST_CASE("if epochs restart the count, a position is a printed step and the index of its value") {
  for (const int first : {0, 10}) {
    const Series series = six_epochs([](int, int) { return 10.0; }, first);
    const Samples samples = extract_samples(series, {});
    REQUIRE(samples.epochs_joined);
    const int values = first == 0 ? 12 : 11;
    REQUIRE(samples.points.size() == static_cast<std::size_t>(6 * values));
    for (int i = 0; i < 6 * values; ++i) {
      const Place place = find_position(samples, samples.points.x[static_cast<std::size_t>(i)]);
      CHECK(place.step == first + 10 * (i % values));
      CHECK(place.value == static_cast<std::size_t>(i) + 1);
    }
    CHECK(samples.points.x.back() - samples.ahead() == 110);
    const double between = (samples.points.x[2] + samples.points.x[3]) / 2;
    CHECK(find_position(samples, between).step == first + 25);
    CHECK(find_position(samples, between).value == 4);
    CHECK(find_position(samples, 1e9).value == static_cast<std::size_t>(6 * values));
  }
  const Samples plain = extract_samples(series_of(std::vector<double>(20, 1 * GB)), {});
  CHECK(find_position(plain, 95).step == 95);
  CHECK(find_position(plain, 95).value == 11);
  CHECK(find_position(plain, 9999).step == 9999);
  CHECK(find_position(Samples(), 3).step == 3);
}

TEST_CASE("the words name steps that the log prints") {
  const Trend jumped = analyse_growth(
      six_epochs([](int epoch, int step) { return epoch > 1 || (epoch == 1 && step > 80) ? 14.0 : 10.0; }));
  CHECK(jumped.shape == Shape::step);
  CHECK(jumped.why == "jumps by 3.73 GiB at value 20, step 90, then flat at 13.0 GiB");
  const Trend late =
      analyse_growth(six_epochs([](int epoch, int step) { return 10 + 0.02 * std::max(0, 110 * epoch + step - 270); }));
  CHECK(late.leak);
  CHECK(late.why.find("since value 27, step 50") != std::string::npos);
  CHECK(late.why.find("per step") != std::string::npos);

  // A counter that rarely changes: only the index of the value is known.
  Series still = series_at({}, {}, 0.001 * GB);
  for (int i = 0; i < 40; ++i) still.add(7, 0, GB * (i < 25 ? 10 + 0.001 * (i % 2) : 14 + 0.001 * (i % 2)));
  count_values_of_repeated_steps(still);
  const Trend by_value = analyse_growth(still);
  CHECK(by_value.shape == Shape::step);
  CHECK(by_value.why == "jumps by 3.73 GiB at value 25, then flat at 13.0 GiB");
  // The log prints only times.
  Series timed = series_at({}, {}, 0.001 * GB);
  timed.has_steps = false, timed.has_times = true;
  for (int i = 0; i < 40; ++i) timed.add(2 * i, 2 * i, GB * (10 + 0.1 * i));
  CHECK(analyse_growth(timed).why.find("per second") != std::string::npos);
}

TEST_CASE("the numbers of the trend use the steps that the log prints") {
  const Trend jumped = analyse_growth(
      six_epochs([](int epoch, int step) { return epoch > 1 || (epoch == 1 && step > 80) ? 14.0 : 10.0; }));
  REQUIRE(jumped.change_points.size() == 1);
  CHECK(jumped.change_points[0] == Approx(85).margin(5));
  const auto leak = [](int epoch, int step) { return 10 + 0.02 * std::max(0, 110 * epoch + step - 270); };
  const Trend late = analyse_growth(six_epochs(leak), {24 * GB, {}});
  REQUIRE(late.onset_step);
  CHECK(*late.onset_step == Approx(50).margin(5));
  // Value 14 + 6 at the end of six epochs: 290 further steps of 0.02 after the printed 110.
  REQUIRE(late.forecast);
  CHECK(late.forecast->step == Approx(110 + (24 - leak(5, 110)) / 0.02).margin(15));
}

TEST_CASE("values after the failure are ignored") {
  Series series;
  series.metric = Metric::allocated;
  series.quantum = 0.01 * GB;
  for (int i = 0; i < 40; ++i) series.add(i, 0, GB * (i < 30 ? 10 + 0.2 * i : 3));
  CHECK(analyse_growth(series, {20 * GB, 29.0}).leak);
  const Trend trend = analyse_growth(series, {20 * GB, {}});  // without a failure, the fall is the end of the work
  CHECK(trend.leak);
  CHECK(trend.stages.back().kind == StageKind::release);
  CHECK(trend.stages.back().first_step == 30);
}

TEST_CASE("free memory is read upside down") {
  Series left;
  left.metric = Metric::free;
  left.quantum = 0.01 * GB;
  for (int i = 0; i < 40; ++i) left.add(i, 0, GB * (10 - 0.1 * i));
  const Trend trend = analyse_growth(left);
  CHECK(trend.leak);
  CHECK(trend.slope.value == Approx(-0.1 * GB));
  REQUIRE(trend.forecast);
  CHECK(trend.forecast->step == Approx(100).margin(1));
}

TEST_CASE("a short series is reported as too short, and odd input is no error") {
  CHECK(analyse_growth(Series()).shape == Shape::too_short);
  const Trend four = analyse_growth(series_of({1 * GB, 2 * GB, 3 * GB, 4 * GB}));
  CHECK(four.shape == Shape::too_short);
  CHECK_FALSE(four.leak);
  CHECK_FALSE(four.why.empty());
  const Trend five = analyse_growth(series_of({1 * GB, 2 * GB, 3 * GB, 4 * GB, 5 * GB}));
  CHECK(five.leak);
  CHECK(five.confidence < 0.7);
  CHECK(analyse_growth(series_of(std::vector<double>(50, 0.0))).shape == Shape::flat);
  Series still;
  still.has_steps = true;
  for (int i = 0; i < 30; ++i) still.add(7, 0, GB * i);
  count_values_of_repeated_steps(still);
  CHECK(analyse_growth(still).leak);
  const Trend full = analyse_growth(series_of({5 * GB, 6 * GB, 7 * GB, 8 * GB, 9 * GB, 10 * GB}), {2 * GB, {}});
  REQUIRE(full.forecast);
  CHECK(full.forecast->step == Approx(0).margin(1));
}

TEST_CASE("the work of an analysis grows no faster than the values") {
  const auto seconds = [](int count) {
    Noise source(3);
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(GB * (10 + 0.0003 * i + 0.2 * source.normal()));
    const Series series = series_of(values);
    return testing::cpu_seconds([&] { analyse_growth(series, {40 * GB, {}}); });
  };
  CHECK(seconds(20000) < 8 * seconds(5000));  // between four times, and sixteen times if it grew with the square
}

TEST_CASE("the same series gives the same answer") {
  std::vector<double> values;
  Noise source(3);
  for (int i = 0; i < 20000; ++i) values.push_back(GB * (10 + 0.0003 * i + 0.2 * source.normal()));
  const Series series = series_of(values);
  const Trend first = analyse_growth(series, {40 * GB, {}}), second = analyse_growth(series, {40 * GB, {}});
  CHECK(first.leak);
  CHECK(first.why == second.why);
  REQUIRE(first.forecast);
  CHECK(first.forecast->step_low == second.forecast->step_low);
}

TEST_CASE("the words call no end flat that is not") {
  // Two short jobs after a long idle time: each law averages over what is not level.
  Series jobs = series_at({}, {}, 0.001 * GB);
  jobs.has_steps = false;
  for (int i = 0; i < 600; ++i) {
    const double size = i % 97 < 9 ? 6.5 : i > 540 ? 7.5 - 0.004 * (i % 40) : 0.9 + 0.6 * ((i / 23) % 3);
    jobs.add(i, i, GB * size);
  }
  CHECK(analyse_growth(jobs).why.find("then flat") == std::string::npos);

  // Jobs with long pauses have no usual level.
  Series pauses = series_at({}, {}, 0.001 * GB);
  pauses.has_steps = false;
  for (int i = 0; i < 600; ++i) pauses.add(i, i, i % 37 < 15 ? GB * (4 + 0.01 * (i % 5)) : 0);
  CHECK(analyse_growth(pauses).why.find("around 0 bytes") == std::string::npos);

  // A monitor started before the job: its memory is there at the second value, whatever a law says.
  Series job = series_at({}, {}, 0.001 * GB);
  job.has_steps = false, job.has_times = true;
  for (int i = 0; i < 130; ++i) job.add(60 * i, 60 * i, i == 0 ? 0 : GB * (i > 40 && i < 62 ? 0.55 : 1.8));
  CHECK(analyse_growth(job).why == "rises by 1.68 GiB until second 60, then flat at 1.68 GiB");

  // A job of 11 GiB, then nothing: a context of 3 MiB at the end makes no trend. The monitor runs faster at the end.
  Series idle = series_at({}, {}, static_cast<double>(MiB));
  idle.has_steps = false, idle.has_times = true;
  for (int i = 0; i < 11; ++i) idle.add(60 * i, 60 * i, i >= 1 && i < 4 ? 11'950.0 * MiB : 0);
  for (int i = 0; i < 90; ++i) idle.add(683 + i / 10, 683 + i / 10, i < 33 ? 0 : 3.0 * MiB);
  CHECK(analyse_growth(idle).why == "varies between 0 bytes and 11.67 GiB, no trend");
}

TEST_CASE("growth far below the largest process of a list is no leak") {
  Series small = series_at({}, {}, 0.001 * GB);
  small.has_steps = false, small.has_times = true;
  for (int i = 0; i < 40; ++i) small.add(60 * i, 60 * i, GB * (1 + 0.004 * i));
  CHECK(analyse_growth(small).leak);
  GrowthOptions beside;
  beside.largest_process = 60 * GB;
  CHECK_FALSE(analyse_growth(small, beside).leak);
}

TEST_CASE("a rise that no law describes is not an absence of a trend", "[growth]") {
  // Steps of unequal heights and lengths, up to the last value.
  Series steps = series_at({}, {}, static_cast<double>(MiB), Metric::used, SeriesKind::sampled_gauge);
  steps.has_steps = false, steps.has_times = true;
  int x = 0;
  for (const auto& [count, level] :
       {std::pair{2, 3}, {3, 71}, {3, 104}, {22, 112}, {8, 640}, {3, 742}, {4, 836}, {2, 944}})
    for (int i = 0; i < count; ++i, x += 10) steps.add(x, x, level * static_cast<double>(MiB));
  CHECK(analyse_growth(steps).why ==
        "rises by 941 MiB, unevenly, up to the end; the log does not show whether it continues");
}

TEST_CASE("a fall that comes back in each cycle is not a release", "[growth]") {
  Series cycles = series_at({}, {}, static_cast<double>(MiB));
  cycles.has_steps = false, cycles.has_times = true;
  const std::vector<int> cycle{512,   512,   7900,  18400, 2100,  9900, 20900, 47300, 47300,
                               47300, 38100, 38100, 38100, 38100, 8200, 8200,  10900, 10900};
  for (int i = 0; i < 54; ++i)
    cycles.add(i, i, cycle[static_cast<std::size_t>(i) % cycle.size()] * static_cast<double>(MiB));
  CHECK(analyse_growth(cycles).release.empty());
}
