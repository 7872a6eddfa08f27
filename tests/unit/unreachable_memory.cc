#include "facts/unreachable_memory.h"

#include <array>
#include <random>

#include "catch.h"
#include "cpu_time.h"
#include "made_cases.h"

namespace oomdoctor {
namespace {

using namespace testing;

constexpr i64 min_points = 8;

/// The definition: the last series of each kind among all that may share rank and GPU with `s`.
double by_definition(const ScanResult& scan, const Series& s) {
  const Series *device = nullptr, *reserved = nullptr, *peak = nullptr;
  const auto agree = [](const std::optional<int>& a, const std::optional<int>& b) { return !a || !b || a == b; };
  for (const Series& other : scan.series) {
    if (other.n < min_points || !agree(other.origin.rank, s.origin.rank) ||
        !agree(other.origin.device, s.origin.device))
      continue;
    if (other.metric == Metric::used) device = &other;
    if (other.metric == Metric::reserved) reserved = &other;
    if (other.metric == Metric::max_allocated && other.kind == SeriesKind::reset_maximum && other.n == s.n)
      peak = &other;
  }
  const bool counter = s.metric == Metric::allocated || s.metric == Metric::reserved;
  double bytes = 0;
  if (counter && device != nullptr && reserved != nullptr)
    bytes += std::max(0.0, device->last_value - reserved->last_value);
  if (s.metric == Metric::allocated && peak != nullptr) bytes += std::max(0.0, peak->last_value - s.last_value);
  return bytes;
}

ScanResult series_of_chance(std::mt19937& engine) {
  const auto below = [&](unsigned n) { return static_cast<int>(engine() % n); };
  const auto perhaps = [&](unsigned n) { return below(3) == 0 ? std::nullopt : std::optional(below(n)); };
  constexpr std::array metrics{Metric::allocated, Metric::reserved, Metric::used, Metric::max_allocated,
                               Metric::host_rss};
  ScanResult scan;
  for (int left = 1 + below(12); left > 0; --left) {
    Series s = ramp(metrics[engine() % metrics.size()], below(40) * gib, 0.1 * gib, 7 + below(3));
    s.kind = below(2) == 0 ? SeriesKind::reset_maximum : SeriesKind::gauge;
    s.origin.rank = perhaps(3);
    s.origin.device = perhaps(2);
    scan.series.push_back(std::move(s));
  }
  return scan;
}

}  // namespace

TEST_CASE("a counter cannot reach what other processes use", "[unreachable_memory]") {
  ScanResult scan;
  scan.series = {ramp(Metric::allocated, 10 * gib, 0, 20), ramp(Metric::reserved, 12 * gib, 0, 20),
                 ramp(Metric::used, 15 * gib, 0, 20)};
  const UnreachableMemory unreachable(scan, min_points);
  CHECK(unreachable.bytes_for(scan.series[0]) == 3 * gib);
  CHECK(unreachable.bytes_for(scan.series[1]) == 3 * gib);
  CHECK(unreachable.bytes_for(scan.series[2]) == 0);
}

TEST_CASE("the last series that may share rank and GPU counts", "[unreachable_memory]") {
  std::mt19937 engine(7);
  int positive = 0;
  for (int round = 0; round < 3000; ++round) {
    const ScanResult scan = series_of_chance(engine);
    const UnreachableMemory unreachable(scan, min_points);
    for (const Series& s : scan.series) {
      CHECK(unreachable.bytes_for(s) == by_definition(scan, s));
      positive += unreachable.bytes_for(s) > 0;
    }
  }
  CHECK(positive > 1000);
}

TEST_CASE("a series costs the same among a hundred as among ten thousand", "[unreachable_memory]") {
  constexpr int few = 100, many = 10'000;
  const auto seconds_of_each = [](int ranks_named, int count) {
    ScanResult scan;
    for (int i = 0; i < count; ++i) {
      Series s = ramp(i % 2 == 0 ? Metric::allocated : Metric::reserved, (10 + i % 3) * gib, 0, 8);
      s.summarise();  // fitting growth would hide everything else; a scan keeps the values of few series
      if (ranks_named > 0) s.origin.rank = i / 2;
      if (ranks_named < 2) s.label = "part " + std::to_string(i / 2);
      scan.series.push_back(std::move(s));
    }
    return cpu_seconds([&] {
             for (int again = 0; again < many / count; ++again) analyse(scan, {});
           }) /
           many;
  };
  for (const int ranks_named : {0, 1, 2}) {
    const double among_many = seconds_of_each(ranks_named, many), among_few = seconds_of_each(ranks_named, few);
    CAPTURE(ranks_named, among_many, among_few);
    CHECK(among_many < 4 * among_few);
  }
}

}  // namespace oomdoctor
