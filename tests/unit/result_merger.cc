// Several files merged into one case, tested through the scanner: each file is a separate case first.
#include "fold/result_merger.h"

#include <algorithm>

#include "catch.h"
#include "scans.h"

namespace oomdoctor {
namespace {

using testing::torch_message;

ScanResult case_of(const std::string& name, std::string text) {
  static const Scanner scanner(all_parsers());
  Source source = Source::of_text(name, std::move(text));
  return scanner.scan(source);
}

std::string stamp(int minute) {
  return "2025-03-01 12:" + std::to_string(minute / 10) + std::to_string(minute % 10) + ":00 ";
}

std::string step(int n) { return "step " + std::to_string(n) + " | loss 2.1 | allocated 30.000 GiB\n"; }

/// A file of one rank that failed at this minute, with a request of a different size.
std::string failed(int rank, int minute) {
  return step(1) + stamp(minute) + "[rank" + std::to_string(rank) +
         "]: " + torch_message("0", std::to_string(rank + 1) + ".00") + "\n";
}

}  // namespace

TEST_CASE("every location of a merged case names its file", "[joined_case]") {
  const std::string text = "2025-03-01 12:00:00 Saving model checkpoint to /out\nbatch_size: 8\n" + failed(0, 1) +
                           torch_message("0", "1.00") + "\nRun completed\n";
  std::vector<ScanResult> files;
  for (const char* name : {"a.log", "b.log", "c.log"}) {
    files.push_back(case_of(name, text));
    files.back().lose({.what = "the rest", .why = "damage", .at = files.back().incidents.at(0).evidence});
  }
  const ScanResult alone = join({files[0]});
  const ScanResult all = join(files);
  REQUIRE(all.inputs.size() == 3);
  CHECK(all.inputs[2].path == "c.log");
  REQUIRE(alone.incidents.size() == 1);
  REQUIRE(all.incidents.size() == 3);
  REQUIRE(all.series.size() == 3 * alone.series.size());
  for (std::size_t i = 0; i < 3; ++i) {
    const int source = static_cast<int>(i);
    const Incident& incident = all.incidents[i];
    CHECK(incident.evidence.span.source == source);
    CHECK(incident.when.order == (static_cast<i64>(source) << 40 | 4));
    CHECK(all.lost.at(i).at->span.source == source);
    REQUIRE(incident.occurrences.size() == 1);
    CHECK(incident.occurrences[0].span.source == source);
    CHECK(all.series[i * alone.series.size()].first_evidence.span.source == source);
    CHECK(all.series[i * alone.series.size()].last_evidence.span.source == source);
  }
  REQUIRE(all.last_progress);
  CHECK(all.last_progress->span.source == 0);  // the progress of the first failure
  for (const auto& [name, setting] : all.settings) CHECK(setting.evidence.span.source == 2);
  for (const auto& [id, n] : alone.remark_counts) CHECK(all.remark_counts.at(id) == 3 * n);
  CHECK(all.coverage.lines == 3 * alone.coverage.lines);
  CHECK(all.coverage.claimed == 3 * alone.coverage.claimed);
  CHECK(all.progress_lines == alone.progress_lines);
  ScanResult healthy = files[0];
  healthy.incidents.clear();
  CHECK(join({healthy, healthy}).progress_lines == 2 * alone.progress_lines);
}

TEST_CASE("of more incidents than a case keeps, the first failure stays", "[joined_case]") {
  constexpr int files = 300;
  ResultMerger joined;
  for (int rank = 0; rank < files; ++rank)
    joined.add(case_of("rank" + std::to_string(rank) + ".log", failed(rank, rank == 280 ? 1 : 2 + rank % 50)));
  const ScanResult all = joined.take();
  REQUIRE(all.incidents.size() == ScanLimits::incidents);
  CHECK(all.more_incidents == files - static_cast<i64>(ScanLimits::incidents));
  const Incident& first = all.incidents.back();
  CHECK(first.origin.rank == 280);
  CHECK_FALSE(first.follows);
  for (std::size_t i = 0; i + 1 < all.incidents.size(); ++i)
    CHECK(all.incidents[i].follows == all.incidents.size() - 1);
}

TEST_CASE("of a remark in many files, the first and the latest stay", "[joined_case]") {
  ResultMerger joined;
  for (int i = 0; i < 100; ++i) joined.add(case_of(std::to_string(i) + ".log", "Saving model checkpoint to /out\n"));
  const ScanResult all = joined.take();
  REQUIRE(all.remarks.size() == ScanLimits::remarks_per_id);
  CHECK(all.remark_counts.at("phase/checkpoint_save") == 100);
  CHECK(all.remarks[62].evidence.span.source == 62);
  CHECK(all.remarks[63].evidence.span.source == 99);
}

TEST_CASE("of notes about single files, a limited number stays", "[joined_case]") {
  constexpr std::size_t files = ScanLimits::notes + 5;
  ResultMerger joined;
  for (std::size_t i = 0; i < files; ++i) {
    ScanResult file = case_of(std::to_string(i) + ".log", "");
    file.notes = {{Severity::note, "about all files", {}}, {Severity::note, "about file " + std::to_string(i), {}}};
    joined.add(std::move(file));
  }
  const ScanResult all = joined.take();
  const auto count = [&](const std::string& text) {
    return std::count_if(all.notes.begin(), all.notes.end(), [&](const Note& note) { return note.text == text; });
  };
  CHECK(count("about all files") == 1);
  CHECK(count("about file 0") == 1);
  CHECK(count("6 more notes about single files were left out") == 1);
}

TEST_CASE("a later file's setting overrides an earlier one", "[joined_case]") {
  const ScanResult all =
      join({case_of("a.log", "batch_size: 8\n"), case_of("b.log", "batch_size: 4\n"), case_of("c.log", "")});
  REQUIRE(all.settings.contains("batch_size"));
  CHECK(all.settings.at("batch_size").value == "4");
  CHECK(all.settings.at("batch_size").evidence.span.source == 1);
}

TEST_CASE("merging nothing gives an empty case", "[joined_case]") {
  const ScanResult none = join({});
  CHECK(none.inputs.empty());
  CHECK(none.incidents.empty());
  CHECK(none.notes.empty());
}

}  // namespace oomdoctor
