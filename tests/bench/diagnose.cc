// The waiting time of a user: the start on a tiny log, and the rate on long ones. The benchmark generates the long
// logs: a quiet one (no line of any format, by far the usual case), and one in which every line is a step with a memory
// value (the worst case).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "oomdoctor/diagnose.h"

namespace oomdoctor {
namespace {

constexpr std::size_t long_log = std::size_t{64} << 20;

std::string repeated(std::string (*line)(std::size_t)) {
  std::string text;
  for (std::size_t i = 0; text.size() < long_log; ++i) text += line(i);
  return text;
}

std::string quiet_line(std::size_t i) {
  return fmt::format("2024-05-01 12:00:00,123 INFO worker {} fetched shard {} in 0.31 s\n", i % 16, i);
}

std::string step_line(std::size_t i) {
  return fmt::format("step {} | loss 2.13 | allocated {}.{} GiB | reserved 31.5 GiB\n", i, 20 + i % 7, i % 10);
}

void analyse(benchmark::State& state, const std::string& text) {
  const std::vector<LogSource> sources = {{.path = "bench.log", .memory = text}};
  for (auto _ : state) benchmark::DoNotOptimize(diagnose(sources));
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

void short_log(benchmark::State& state) {
  std::ifstream file(OOMDOCTOR_SOURCE_DIR "/samples/stories/leak.log", std::ios::binary);
  analyse(state, {std::istreambuf_iterator<char>(file), {}});
}
void quiet_log(benchmark::State& state) { analyse(state, repeated(quiet_line)); }
void step_log(benchmark::State& state) { analyse(state, repeated(step_line)); }

BENCHMARK(short_log)->Unit(benchmark::kMillisecond);
BENCHMARK(quiet_log)->Unit(benchmark::kMillisecond);
BENCHMARK(step_log)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace oomdoctor
