// The pass over all bytes, which dominates the run time, with the anchors of all shipped parsers: bytes per second, and
// how much it passes on. `candidates` pass the vector loop, `fingerprints` pass the hash of four bytes, `hits` are
// anchors; each per kilobyte.
#include "text/prefilter.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "scan/anchors.h"

namespace oomdoctor {
namespace {

constexpr std::size_t block = std::size_t{1} << 20;  ///< as the scanner reads; fits the L2 cache

void scan(benchmark::State& state, const std::string& text, const PrefilterPlan& plan) {
  const Anchors anchors = collect_anchors(all_parsers());
  const Prefilter prefilter(anchors.text, anchors.fold_case, plan);
  std::vector<AnchorHit> hits;
  for (auto _ : state) {
    hits.clear();
    prefilter.scan(text, 0, text.size(), hits);
    benchmark::DoNotOptimize(hits.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  PrefilterWork work;
  hits.clear();
  prefilter.scan(text, 0, text.size(), hits, &work);
  const double kilobytes = static_cast<double>(text.size()) / 1000;
  state.counters["anchors"] = static_cast<double>(anchors.text.size());
  state.counters["candidates"] = static_cast<double>(work.candidates) / kilobytes;
  state.counters["fingerprints"] = static_cast<double>(work.fingerprints) / kilobytes;
  state.counters["hits"] = static_cast<double>(hits.size()) / kilobytes;
}

std::string quiet_text() {
  std::string text;
  for (std::size_t i = 0; text.size() < block; ++i)
    text += fmt::format("2024-05-01 12:00:00,123 INFO worker {} fetched shard {} in 0.31 s\n", i % 16, i);
  return text;
}

/// The logs of samples/, one after the other: they contain far more events than a real log.
std::string dense_text() {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::recursive_directory_iterator(OOMDOCTOR_SOURCE_DIR "/samples"))
    if (file.path().extension() == ".log") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    text.append(std::istreambuf_iterator<char>(in), {});
  }
  return text.substr(0, block);
}

void prefilter_quiet(benchmark::State& state) { scan(state, quiet_text(), shipped_prefilter_plan()); }
void prefilter_dense(benchmark::State& state) { scan(state, dense_text(), shipped_prefilter_plan()); }
void prefilter_dense_unplanned(benchmark::State& state) { scan(state, dense_text(), {}); }

void make(benchmark::State& state, const PrefilterPlan& plan) {
  const Anchors anchors = collect_anchors(all_parsers());
  for (auto _ : state) benchmark::DoNotOptimize(Prefilter(anchors.text, anchors.fold_case, plan).tables());
}
void make_prefilter(benchmark::State& state) { make(state, shipped_prefilter_plan()); }
void make_prefilter_unplanned(benchmark::State& state) { make(state, {}); }

BENCHMARK(prefilter_quiet)->Unit(benchmark::kMicrosecond);
BENCHMARK(prefilter_dense)->Unit(benchmark::kMicrosecond);
BENCHMARK(prefilter_dense_unplanned)->Unit(benchmark::kMicrosecond);
BENCHMARK(make_prefilter)->Unit(benchmark::kMicrosecond);
BENCHMARK(make_prefilter_unplanned)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace oomdoctor
