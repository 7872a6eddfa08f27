// Spikes, levels and rhythms, found where the series was made with them.
#include "growth/shapes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "curves.h"

using namespace oomdoctor;

namespace {

using Indices = std::vector<std::size_t>;

/// `value(i)` plus normal noise, at steps 0, 10, 20, …
template <typename Value>
Points made(int n, double noise, Value value, unsigned seed = 1) {
  curves::Noise random(seed);
  Points points;
  for (int i = 0; i < n; ++i) {
    points.x.push_back(10.0 * i);
    points.y.push_back(value(i) + noise * random.normal());
    points.weight.push_back(1);
  }
  points.floor = 1e-3;
  return points;
}

/// Of a law with a rhythm: its period in values.
double period_in_values(const Fit& fit, const Points& points) {
  return fit.theta.at(0) * static_cast<double>(points.size() - 1);
}

}  // namespace

TEST_CASE("a spike leaves its neighbourhood for at most three values", "[shapes]") {
  const auto spiked = [](const Indices& at) {
    return made(60, 0.01, [&](int i) {
      return 20.0 + (std::find(at.begin(), at.end(), static_cast<std::size_t>(i)) != at.end() ? 3.0 : 0.0);
    });
  };
  CHECK(find_spikes(spiked({})).empty());
  CHECK(find_spikes(spiked({17})) == Indices{17});
  CHECK(find_spikes(spiked({17, 18, 19})) == Indices{17, 18, 19});
  CHECK(find_spikes(spiked({12, 40})) == Indices{12, 40});
  CHECK(find_spikes(spiked({17, 18, 19, 20, 21, 22, 23, 24})).empty());  // a level of its own
}

TEST_CASE("a level begins at its first value", "[shapes]") {
  // Chance makes short levels of some noise: a later stage weighs them.
  const auto changes = [](const Points& points) { return level_changes(points, 1.5 * compute_noise(points)); };
  CHECK(changes(made(60, 0.05, [](int) { return 20.0; })).empty());
  CHECK(changes(made(60, 0.05, [](int i) { return i < 25 ? 20.0 : 22.0; })) == Indices{25});
  CHECK(changes(made(60, 0.05, [](int i) { return i < 20 ? 20.0 : i < 45 ? 24.0 : 21.0; })) == Indices{20, 45});
  CHECK(changes(made(20, 0.05, [](int i) { return i == 9 || i == 10 ? 22.0 : 20.0; })) == Indices{9, 11});
}

TEST_CASE("slow movement is no noise", "[shapes]") {
  CHECK(compute_noise(made(400, 0.1, [](int) { return 20.0; })) == Approx(0.1).epsilon(0.15));
  CHECK(compute_noise(made(400, 0.1, [](int i) { return 20 + 0.01 * i; })) == Approx(0.1).epsilon(0.15));
}

TEST_CASE("equal stairs have the distance at which they were built", "[shapes]") {
  for (const int period : {5, 8, 13}) {
    CAPTURE(period);
    const Points points = made(90, 0.03, [&](int i) { return 20 + 0.5 * (i / period); });
    const auto fit = find_staircase(Fitter(points), {});
    REQUIRE(fit);
    CHECK(fit->law == Law::staircase);
    CHECK(period_in_values(*fit, points) == Approx(period).epsilon(0.02));
    CHECK(fit->sigma == Approx(0.03).epsilon(0.3));
    for (int i = 0; i < 90; ++i)
      CHECK(std::abs(fit->at(points.x[static_cast<std::size_t>(i)]) - (20 + 0.5 * (i / period))) < 0.1);
  }
  // A long series is searched around the distance of its changes.
  const Points points = made(700, 0.03, [](int i) { return 20 + 0.5 * (i / 70); });
  Indices changes;
  for (std::size_t i = 70; i < 700; i += 70) changes.push_back(i);
  const auto fit = find_staircase(Fitter(points), changes);
  REQUIRE(fit);
  CHECK(period_in_values(*fit, points) == Approx(70).epsilon(0.01));
  const Points short_stairs = made(7, 0.03, [](int i) { return 20.0 + i / 2; });
  CHECK_FALSE(find_staircase(Fitter(short_stairs), {}));
}

TEST_CASE("regular releases have the period at which they were made", "[shapes]") {
  for (const int period : {7, 12}) {
    CAPTURE(period);
    const Points level = made(90, 0.05, [&](int i) { return 20 + 0.3 * (i % period); });
    const Periodicity found = find_periodicity(Fitter(level), {});
    REQUIRE(found.level);
    CHECK(period_in_values(*found.level, level) == Approx(period).epsilon(0.02));
    CHECK(found.level->sigma < 0.1);

    const Points rising = made(90, 0.05, [&](int i) { return 20 + 0.3 * (i % period) + 0.05 * i; });
    const Periodicity sloping = find_periodicity(Fitter(rising), {});
    REQUIRE(sloping.sloping);
    CHECK(period_in_values(*sloping.sloping, rising) == Approx(period).epsilon(0.02));
    CHECK(sloping.sloping->sigma < 0.1);
    CHECK_FALSE(find_periodicity(Fitter(rising), {}, false).sloping);
  }
}
