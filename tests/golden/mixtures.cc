// Logs with several writers, composed from lines of the samples. Lines of one writer stay together, and lines of
// different writers stay separate.
#include <algorithm>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {
namespace {

using Lines = std::vector<std::string>;

/// The lines of a sample that contain `word`, at most `most`.
Lines lines_of(const std::string& sample, const std::string& word, std::size_t most = 1000) {
  const std::string text = testing::read_file(testing::source_folder() / "samples" / sample);
  Lines out;
  for (std::size_t at = 0; at < text.size() && out.size() < most;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find(word) != line.npos) out.push_back(line);
    at = end + 1;
  }
  return out;
}

/// One line of each in turn, as processes that share a file write them.
std::string interleaved(const std::vector<Lines>& writers) {
  std::string out;
  bool any = true;
  for (std::size_t i = 0; any; ++i) {
    any = false;
    for (const Lines& lines : writers)
      if (i < lines.size()) out += lines[i] + '\n', any = true;
  }
  return out;
}

std::string joined(const Lines& lines) { return interleaved({lines}); }

Report read(const std::string& text) { return diagnose({{"train.log", text}}); }

std::vector<ReportSeries> series_of(const Report& report, const std::string& metric) {
  std::vector<ReportSeries> out;
  std::copy_if(report.series.begin(), report.series.end(), std::back_inserter(out),
               [&](const ReportSeries& s) { return s.metric == metric; });
  return out;
}

Lines detectron2() { return lines_of("healthy/detectron2.log", "max_mem"); }
Lines torchtitan() { return lines_of("healthy/torchtitan_flat.log", "memory:"); }
Lines prints() { return lines_of("stories/leak.log", "| allocated", 60); }

}  // namespace

TEST_CASE("three writers in one file: three series, each with its own steps", "[golden]") {
  const Report r = read(interleaved({detectron2(), prints(), torchtitan()}));
  REQUIRE(series_of(r, "max_allocated").size() == 1);
  CHECK(series_of(r, "max_allocated")[0].n == static_cast<std::int64_t>(detectron2().size()));
  CHECK(series_of(r, "max_allocated")[0].last_step == 899);
  REQUIRE(series_of(r, "allocated").size() == 1);
  CHECK(series_of(r, "allocated")[0].n == static_cast<std::int64_t>(prints().size()));
  CHECK(series_of(r, "allocated")[0].last_step == 600);
  REQUIRE(series_of(r, "max_reserved").size() == 1);
  CHECK(series_of(r, "max_reserved")[0].n == static_cast<std::int64_t>(torchtitan().size()));
  CHECK(r.incidents.empty());
}

// Both print a maximum of the allocated memory. One never resets it, the other resets it at each line, so a common
// series would be meaningless.
TEST_CASE("two frameworks with the same metric stay separate", "[golden]") {
  const Lines mmengine = lines_of("healthy/mmengine_reset.log", "memory:");
  const Report r = read(interleaved({detectron2(), mmengine}));
  REQUIRE(series_of(r, "max_allocated").size() == 2);
  CHECK(series_of(r, "max_allocated")[0].n == static_cast<std::int64_t>(detectron2().size()));
  CHECK(series_of(r, "max_allocated")[1].n == static_cast<std::int64_t>(mmengine.size()));
}

TEST_CASE("ranks without a tag share a series, and their differences are no growth", "[golden]") {
  std::string text;
  for (int step = 0; step < 40; ++step)
    for (int rank = 0; rank < 4; ++rank)
      text += "step " + std::to_string(step) + " | loss 2.1 | allocated " + std::to_string(5 + 3 * rank) + ".00 GiB\n";
  const Report r = read(text);
  REQUIRE(r.series.size() == 1);
  CHECK(r.series[0].n == 160);
  CHECK_FALSE(r.series[0].trend.leak);
  CHECK(r.verdict.outcome != Outcome::oom);
}

TEST_CASE("ranks with a tag have one series each", "[golden]") {
  Lines first, second;
  for (const std::string& line : prints()) {
    first.push_back("[rank0]: " + line);
    second.push_back("[rank1]: " + line);
  }
  const Report r = read(interleaved({first, second}));
  const std::vector<ReportSeries> allocated = series_of(r, "allocated");
  REQUIRE(allocated.size() == 2);
  CHECK(allocated[0].rank != allocated[1].rank);
  CHECK(allocated[0].n == allocated[1].n);
}

TEST_CASE("a restart inside one file: two failures, a series for each run", "[golden]") {
  const std::string once = testing::read_file(testing::source_folder() / "samples" / "stories" / "leak.log");
  const Report r = read(once + "[supervisor] attempt 2 of 3\n" + once);
  CHECK(r.verdict.outcome == Outcome::oom);
  CHECK(r.incidents.size() == 2);
  const std::vector<ReportSeries> allocated = series_of(r, "allocated");
  REQUIRE(allocated.size() == 2);
  for (const ReportSeries& of : allocated) CHECK(of.n == 124);
}

TEST_CASE("source code of the program in the middle of its log yields nothing", "[golden]") {
  const std::string file =
      testing::read_file(testing::source_folder() / "samples" / "healthy" / "words_program_source.log");
  const std::string source = file.substr(0, file.find("step 20 |"));
  const Lines lines = prints();
  const Lines head(lines.begin(), lines.begin() + 30), tail(lines.begin() + 30, lines.end());
  const Report r = read(joined(head) + source + joined(tail));
  REQUIRE(series_of(r, "allocated").size() == 1);
  CHECK(series_of(r, "allocated")[0].n == static_cast<std::int64_t>(prints().size()));
  CHECK(r.incidents.empty());
}

TEST_CASE("lines glued to a progress bar are read, and redrawings of the bar are not lines", "[golden]") {
  std::string text;
  const Lines lines = prints();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string place = std::to_string(10 * (i + 1));
    text += "\rEpoch 0:   1%|1         | " + place + "/9000 [00:10<03:20,  3.10it/s, loss=0.6]" + lines[i] + "\n";
  }
  const Report r = read(text);
  REQUIRE(series_of(r, "allocated").size() == 1);
  CHECK(series_of(r, "allocated")[0].n == static_cast<std::int64_t>(prints().size()));
  CHECK(series_of(r, "allocated")[0].last_step == 600);
}

TEST_CASE("GPU monitor, trainer and kernel in one file: one death on the host, and the series of the GPU", "[golden]") {
  const Lines monitor = {"2025/03/04 09:12:34.001, 0, 4012 MiB, 24564 MiB",
                         "2025/03/04 09:12:44.001, 0, 4012 MiB, 24564 MiB"};
  const std::string kernel =
      "[81234.567] Memory cgroup out of memory: Killed process 28914 (python) total-vm:2418296kB, anon-rss:2048512kB, "
      "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4832kB oom_score_adj:998\n";
  const Report r = read(interleaved({prints(), monitor}) + kernel + "Killed\n");
  CHECK(r.verdict.outcome == Outcome::oom);
  REQUIRE(r.incidents.size() == 1);
  CHECK(r.incidents[0].kind == "host");
  CHECK(r.incidents[0].agent == "cgroup");
  CHECK(series_of(r, "allocated").at(0).n == static_cast<std::int64_t>(prints().size()));
}

}  // namespace oomdoctor
