// The result of a scan depends neither on the block boundaries nor on the number of threads.
#include <random>

#include "catch.h"
#include "fold/scanner.h"
#include "samples.h"
#include "scan/anchors.h"
#include "serialize/partial.h"

namespace oomdoctor {
namespace {

using testing::law_samples;
using testing::read_file;

/// All samples in a row, in random order, with endless lines in between.
std::string all_samples(unsigned seed) {
  std::mt19937 engine(seed);
  auto logs = law_samples();
  std::shuffle(logs.begin(), logs.end(), engine);
  std::string text;
  for (const auto& log : logs) {
    text += read_file(log);
    if (engine() % 40 != 0) continue;
    std::string endless;
    const std::size_t size = 1000 + engine() % 300'000;
    for (std::size_t i = 0; endless.size() < size; ++i)
      endless += "{\"step\": " + std::to_string(i) + ", \"allocated_gb\": " + std::to_string(i % 80) + ".25}, ";
    text += endless + (engine() % 2 == 0 ? "\n" : "\r");
  }
  return text;
}

/// Tables of several kinds, one after the other and nested in each other, with prose and rows before any header.
std::string tables_of_chance(unsigned seed) {
  std::mt19937 engine(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(engine() % n); };
  const std::vector<std::string> headers{
      "timestamp, index, name, memory.used [MiB], memory.total [MiB]",
      "timestamp, index, name, memory.free [MiB], memory.total [MiB]",
      "name, memory.used [MiB]",
      "# gpu     fb   bar1   ccpm",
      "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size",
      "device,VRAM Total Memory (B),VRAM Total Used Memory (B)"};
  std::string text;
  double second = 0;
  for (unsigned part = 0; part < 60; ++part) {
    const std::string kind = headers[below(static_cast<unsigned>(headers.size()))];
    if (below(5) != 0) text += kind + (below(2) == 0 ? "\n" : "\r\n");
    for (unsigned row = 0, rows = 1 + below(below(4) == 0 ? 1200 : 20); row < rows; ++row) {
      const std::string card = std::to_string(row % 3), amount = std::to_string(1000 + below(40000));
      const auto clock = static_cast<unsigned>(second += 0.25);
      const std::string time = "2025/02/01 " + std::to_string(10 + clock / 3600 % 10) + ":" +
                               std::to_string(10 + clock / 60 % 50) + ":" + std::to_string(10 + clock % 50) + ".104";
      const std::vector<std::string> lines{
          time + ", " + card + ", NVIDIA A40, " + amount + " MiB, 46068 MiB",
          "NVIDIA A40, " + amount + " MiB",
          "    " + card + "   " + amount + "      4      0",
          "       " + std::to_string(row) + "/99      6." + amount +
              "G    0.05113    0.03921    0.02215        118        640: 100% 40/40 [00:11<00:00]",
          "card" + card + ",68702699520," + amount + "0000",
          "Step " + std::to_string(row) + ": allocated 3.5 GB",
          "Sat Feb  1 12:00:" + std::to_string(10 + row % 50) + " UTC 2025",
          kind,
          ""};
      const std::size_t usual = kind.starts_with("name")     ? 1
                                : kind.starts_with('#')      ? 2
                                : kind.starts_with(' ')      ? 3
                                : kind.starts_with("device") ? 4
                                                             : 0;
      text += lines[below(8) != 0 ? usual : below(static_cast<unsigned>(lines.size()))] + "\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("blocks and threads change nothing", "[law]") {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  for (const std::string& text : {all_samples(1), all_samples(2), tables_of_chance(3), tables_of_chance(4)}) {
    const auto read = [&](std::size_t jobs, std::size_t block) {
      Source source = Source::of_text("all.log", text);
      return partial_line({"all.log", ""}, scanner.scan(source, {.jobs = jobs, .block_bytes = block}));
    };
    const std::string expected = read(1, 1 << 20);
    for (const std::size_t jobs : {1u, 2u, 5u})
      for (const std::size_t block : {std::size_t{1} << 14, std::size_t{99'991}, std::size_t{1} << 18, text.size()}) {
        CAPTURE(text.size(), jobs, block);
        const std::string found = read(jobs, block);
        const auto differ = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
        const auto at = static_cast<std::size_t>(differ.first - found.begin());
        CHECK(found.substr(at - std::min<std::size_t>(at, 300), 600) ==
              expected.substr(at - std::min<std::size_t>(at, 300), 600));
      }
  }
}

TEST_CASE("a table below another one begins with its header, wherever a block begins", "[law]") {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  const std::string tables =
      "# gpu    pwr  gtemp  mtemp     sm    mem\n"
      "# Idx      W      C      C      %      %\n"
      "    0    140     55      -     97     31\n"
      "# gpu         pid   type     fb   ccpm    command\n"
      "# Idx           #    C/G     MB     MB    name\n"
      "    0        4711     C    1804      0    python\n";
  constexpr std::size_t block = 1 << 14, step = 16;  // bytes
  const std::string filler = "nothing is said here\n";
  for (std::size_t ahead = 0; ahead < tables.size() + filler.size(); ahead += step) {
    std::string text;
    while (text.size() + ahead < block) text += filler;
    text += tables;
    while (text.size() < 3 * block) text += filler;
    Source source = Source::of_text("all.log", text);
    const ScanResult found = scanner.scan(source, {.jobs = 1, .block_bytes = block});
    CAPTURE(ahead);
    REQUIRE(found.series.size() == 1);
    CHECK(found.series[0].origin.pid == 4711);
  }
}

TEST_CASE("a header is one, even if it may be a row without values of the table above", "[law]") {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  std::string prose;
  while (prose.size() < 40'000) prose += "nothing is said here\n";
  std::string endless = "[";
  while (endless.size() < 50'000) endless += "{\"step\": 4, \"lr\": 0.01}, ";
  const std::string csv =
      "timestamp,gpu,memory.used [MiB],memory.total [MiB]\n"
      "2025/06/03 11:06:40.000,0,411 MiB,81920 MiB\n"
      "2025/06/03 11:06:55.017,0,30110 MiB,81920 MiB\n";
  const std::string processes = "Name     Id WorkingSet64\n----     -- ------------\npython 7016   1854668800\n";
  const std::string busy = "name, utilization.gpu [%]\nNVIDIA A40, 41 %\nNVIDIA A40, 43 %\n";
  const std::string used = "name, memory.used [MiB]\nNVIDIA A40, 411 MiB\nNVIDIA A40, 30110 MiB\n";
  for (const auto& [above, below] : {std::pair(processes, csv), std::pair(busy, used)})
    for (const std::string& between : {std::string(), std::string("\n"), prose, endless + "\n"}) {
      const std::string text = prose + above + between + below + prose;
      for (const std::size_t jobs : {1u, 2u, 5u})
        for (const std::size_t block : {std::size_t{1} << 12, std::size_t{1} << 14, text.size()}) {
          Source source = Source::of_text("all.log", text);
          const ScanResult found = scanner.scan(source, {.jobs = jobs, .block_bytes = block});
          CAPTURE(above, between.size(), jobs, block);
          CHECK(std::count_if(found.series.begin(), found.series.end(), [](const Series& series) {
                  return series.metric == Metric::used && series.n == 2 && series.last_value == 30110.0 * MiB;
                }) == 1);
        }
    }
}

TEST_CASE("no header is a row with values of any table", "[law]") {
  std::size_t tried = 0;
  for (const Parser* parser : all_parsers())
    for (const Table& table : parser->tables) {
      Layout layout;
      if (!table.header(table.example_header, layout)) continue;
      const auto rows = table.rows(layout);
      for (const Parser* other : all_parsers())
        for (const Table& below : other->tables) {
          CAPTURE(table.name, below.name);
          CHECK_FALSE(rows->read(below.example_header, RowsRead::with_values));
          ++tried;
        }
    }
  CHECK(tried > 1000);
}

TEST_CASE("a header whose rows showed more opens the same table on any thread", "[law]") {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  std::string text;
  for (int part = 0; part < 40; ++part) {
    const bool other = part % 2 == 1;
    text += other ? "step,gpu_mem_mb\n" : "step,gpu_mem_mb,rss\n";
    for (int row = 0; row < 400; ++row)
      text += std::to_string(400 * part + row) + "," + std::to_string(5000 + row) + (other ? "\n" : ",4000000123\n");
  }
  const auto read = [&](std::size_t jobs, std::size_t block) {
    Source source = Source::of_text("all.log", text);
    return partial_line({"all.log", ""}, scanner.scan(source, {.jobs = jobs, .block_bytes = block}));
  };
  const std::string expected = read(1, 1 << 20);
  for (const std::size_t jobs : {1u, 2u, 5u})
    for (const std::size_t block : {std::size_t{1} << 12, std::size_t{1} << 14}) {
      CAPTURE(jobs, block);
      CHECK((read(jobs, block) == expected));
    }
}

TEST_CASE("a log that grows gives the result of the whole, wherever its pieces end", "[law]") {
  static const Scanner scanner(all_parsers(), shipped_prefilter_plan());
  std::mt19937 engine(5);
  for (std::string text : {all_samples(1), all_samples(2), tables_of_chance(3)}) {
    while (text.size() < 4 * GrowingScan::needed_bytes) text += std::string(text);
    Source whole = Source::of_text("all.log", text);
    const std::string expected = partial_line({"all.log", ""}, scanner.scan(whole));
    std::size_t written = 0, taken = 0;
    GrowingScan scan(scanner, Source::of_reader("all.log", [&](char* buffer, std::size_t size) {
                       size = std::min(size, written - taken);
                       std::memcpy(buffer, text.data() + taken, size);
                       taken += size;
                       return size;
                     }));
    std::size_t blocks = 0;
    while (written < text.size()) {
      written = std::min(text.size(), written + 1 + engine() % 300'000);
      for (; written - taken >= GrowingScan::needed_bytes; ++blocks) scan.advance();
    }
    CHECK(blocks > 8);
    CHECK((partial_line({"all.log", ""}, scan.finish()) == expected));
  }
}

}  // namespace oomdoctor
