// The trend of a long series: a million values are read into a series, and then judged. A report waits for the
// judgement after its last line, so it has to stay under 60 ms for any shape.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "growth/growth.h"

namespace oomdoctor {
namespace {

constexpr int values = 1'000'000;
constexpr double GB = 1e9;

using Curve = double (*)(int i, double t);

double level(int, double) { return 10; }
double line(int, double t) { return 10 + 8 * t; }
double parabola(int, double t) { return 10 + t + 8 * t * t; }
double plateau(int, double t) { return 10 + 4 * (1 - std::exp(-t / 0.1)); }
double teeth(int i, double t) { return 10 + 4 * t + (i % 60'000) / 30'000.0; }
double stairs(int, double t) { return 10 + std::floor(20 * t); }

Series series_of(Curve curve) {
  std::mt19937_64 engine(7);
  Series series;
  series.metric = Metric::allocated;
  series.has_steps = true;
  series.quantum = 0.001 * GB;
  for (int i = 0; i < values; ++i) {
    const double noise = static_cast<double>(engine() >> 11) / 9007199254740992.0 - 0.5;
    const double value = curve(i, static_cast<double>(i) / values) + 0.2 * noise;
    series.add(i, 0, std::round(value * 1000) * series.quantum);
  }
  return series;
}

void add_a_million_values(benchmark::State& state) {
  for (auto _ : state) {
    Series series;
    for (int i = 0; i < values; ++i) series.add(i, 0, GB * (10 + i % 7));
    benchmark::DoNotOptimize(series);
  }
  state.SetItemsProcessed(values * state.iterations());
}

void growth_of_a_million_values(benchmark::State& state, Curve curve) {
  const Series series = series_of(curve);
  for (auto _ : state) benchmark::DoNotOptimize(analyse_growth(series, {.capacity = 40 * GB, .failure_step = {}}));
}

BENCHMARK(add_a_million_values)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, level, level)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, line, line)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, parabola, parabola)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, plateau, plateau)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, teeth, teeth)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(growth_of_a_million_values, stairs, stairs)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace oomdoctor
