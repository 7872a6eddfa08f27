// The input rate from a plain file and from archives, in bytes of text. The file is in the page cache, and the pieces
// have the size that the scanner uses.
#include "text/source.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "packed.h"

namespace oomdoctor {
namespace {

constexpr std::size_t text_size = std::size_t{64} << 20;
constexpr std::size_t piece = std::size_t{1} << 20;

/// Compresses about as well as a training log: 5:1 with gzip.
const std::string& text() {
  static const std::string made = [] {
    std::string lines;
    unsigned chance = 1;
    for (std::size_t i = 0; lines.size() < text_size; ++i) {
      chance = chance * 1664525 + 1013904223;
      lines += fmt::format("2024-05-01 12:{:02}:{:02},{:03} INFO worker {} fetched shard {} in 0.{:04} s\n",
                           i / 6000 % 60, i / 100 % 60, chance >> 22, chance >> 28, i, chance >> 16 & 0x1FFF);
    }
    return lines;
  }();
  return made;
}

void read_file(benchmark::State& state, const std::string& content) {
  const auto path = std::filesystem::temp_directory_path() / ("oomdoctor-bench-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << content;
  std::size_t bytes = 0;
  TextBuffer block;
  for (auto _ : state) {
    Source source = Source::open(path.string());
    for (bool more = true; more; block.restart({})) {
      more = source.read(block, piece);
      bytes += block.size();
      benchmark::DoNotOptimize(block.text().data());
    }
  }
  std::filesystem::remove(path);
  if (bytes != text().size() * static_cast<std::size_t>(state.iterations())) state.SkipWithError("text is missing");
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void plain_file(benchmark::State& state) { read_file(state, text()); }
void gzip_file(benchmark::State& state) { read_file(state, testing::gzipped(text())); }
void zstd_file(benchmark::State& state) { read_file(state, testing::zstandard(text())); }

BENCHMARK(plain_file)->Unit(benchmark::kMillisecond);
BENCHMARK(gzip_file)->Unit(benchmark::kMillisecond);
BENCHMARK(zstd_file)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace oomdoctor
