// Invariants of the terminal report: it fits, ends with the verdict and hides nothing important.
#include "render/terminal.h"

#include <algorithm>

#include <fmt/format.h>

#include "catch.h"
#include "lines.h"
#include "oomdoctor/diagnose.h"
#include "report/utf8.h"
#include "sample_reports.h"
#include "samples.h"

using namespace oomdoctor;
using testing::lines_of;

namespace {

RenderOptions view(int width, bool color = false, bool verbose = false) {
  RenderOptions made;
  made.width = width;
  made.color = color;
  made.verbose = verbose;
  return made;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("no line exceeds the width", "[terminal]") {
  for (const Report& report :
       {samples::fatal(), samples::handled(), samples::healthy(), samples::at_risk(), samples::hostile()})
    for (const int width : {40, 60, 80, 100, 140})
      for (const bool verbose : {false, true})
        for (const auto& line : lines_of(terminal_text(report, view(width, verbose, verbose)))) {
          INFO(width << ": " << line);
          CHECK(count_columns(line) <= width);
        }
}

TEST_CASE("the short report fits 28 lines of 100 columns and names what it leaves out", "[terminal]") {
  Report report = samples::fatal();
  for (int more = 0; more < 3; ++more) report.fixes.push_back(report.fixes.back());
  const auto lines = lines_of(terminal_text(report));
  CHECK(lines.size() <= 28);
  const auto rule =
      std::find_if(lines.begin(), lines.end(), [](const auto& line) { return contains(line, "-v shows"); });
  REQUIRE(rule != lines.end());
  CHECK(contains(*rule, "-v shows the evidence and 3 more fixes;"));
  CHECK_FALSE(contains(terminal_text(report, view(100, false, true)), "-v shows"));
}

TEST_CASE("the verdict comes last: cause, fixes with their commands, and the evidence", "[terminal]") {
  const auto lines = lines_of(terminal_text(samples::fatal()));
  const auto verdict =
      std::find_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("OUT OF MEMORY  "); });
  REQUIRE(verdict != lines.end());
  CHECK(*verdict == "OUT OF MEMORY  Memory leak: each step keeps memory (92%)");
  CHECK(verdict[1].starts_with(" 1. Add up the number, not the tensor"));
  CHECK(verdict[2] == "      running_loss += loss.item()");
  CHECK(std::any_of(verdict, lines.end(), [](const auto& line) { return line.starts_with(" Fixed when: "); }));
}

TEST_CASE("a verdict alone is the headline, which names the location", "[terminal]") {
  RenderOptions quiet;
  quiet.quiet = true;
  const std::string text = terminal_text(samples::fatal(), quiet);
  CHECK(text.starts_with("OUT OF MEMORY  GPU 0 ran out of memory at step 1000"));
  CHECK(contains(text, "(train.log:2001)"));
  CHECK_FALSE(contains(text, "1. "));
}

TEST_CASE("only the verbose report gives reasons for the causes after the first", "[terminal]") {
  Report report = samples::fatal();
  report.causes.resize(1);
  for (const char* name : {"second", "third", "fourth", "fifth", "sixth"}) {
    ReportCause& cause = report.causes.emplace_back(report.causes.front());
    cause.cause = cause.title = name;
    cause.probability = 0.05;
    cause.because.resize(1);
    cause.because[0].text = std::string("reason of the ") + name;
    cause.against = cause.because;
  }
  for (const bool verbose : {false, true}) {
    const std::string text = terminal_text(report, view(100, false, verbose));
    for (const char* name : {"second", "fourth", "sixth"}) {
      CHECK(contains(text, std::string("(") + name + ")") == verbose);
      CHECK(contains(text, std::string("reason of the ") + name) == verbose);
    }
  }
}

TEST_CASE("the caret is under the number, after text of any width", "[terminal]") {
  Report report = samples::fatal();
  report.incidents[0].location =
      samples::cited(7, "rank 0 \t\x1b[1m Größe 内存 CUDA out of memory. Tried to allocate 1.50 GiB here", "1.50 GiB");
  const auto lines = lines_of(terminal_text(report, view(100, false, true)));
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const auto at = lines[i].find("1.50 GiB here");
    if (at == std::string::npos || !lines[i].starts_with("  7 ")) continue;
    const auto caret = lines[i + 1].find('^');
    REQUIRE(caret != std::string::npos);
    CHECK(count_columns(std::string_view(lines[i]).substr(0, at)) ==
          count_columns(std::string_view(lines[i + 1]).substr(0, caret)));
    CHECK(contains(lines[i + 1], "^^^^^^^^ requested"));
    return;
  }
  FAIL("the cited line was not printed");
}

TEST_CASE("the caret points to the requested number, whatever the reader marked", "[terminal]") {
  Report report = samples::fatal();
  const auto verbose = [](const Report& of) { return terminal_text(of, view(100, false, true)); };
  auto& location = report.incidents[0].location;
  location.column = 0;
  location.end_column = static_cast<int>(location.excerpt.size());
  CHECK(verbose(report) == verbose(samples::fatal()));
  report.incidents[0].requested_bytes.reset();
  CHECK_FALSE(contains(verbose(report), "^^"));
  report.incidents[0].requested_bytes = 7 * GiB;
  CHECK_FALSE(contains(verbose(report), "^^"));
  location = samples::cited(2, "Step 20: CUDA OOM", "20");
  CHECK_FALSE(contains(verbose(report), "^^"));
  location = samples::cited(2, "at most 20.13 GiB are allowed", "20.13 GiB");
  CHECK(contains(verbose(report), "       ^^^^^^^^^\n"));
}

TEST_CASE("a reason is not printed if the page already shows its numbers", "[terminal]") {
  Report report = samples::fatal();
  report.causes[0].because = {{{"trend.slope"}, "memory grows by 7.59 MiB per step", 5, {}},
                              {{"model.states"}, "the states alone take 30.25 GiB", 4, {}}};
  const std::string text = terminal_text(report);
  CHECK_FALSE(contains(text, "memory grows by 7.59 MiB"));
  CHECK(contains(text, "Why: the states alone take 30.25 GiB"));
}

TEST_CASE("a survived failure without a known cause needs no fix", "[terminal]") {
  Report report = samples::handled();
  report.fixes.clear();
  const std::string text = terminal_text(report);
  CHECK(contains(text, "OOM CAUGHT, RUN CONTINUED  1 OOM caught (rank1.log:301). Nothing to fix."));
  CHECK_FALSE(contains(text, "Won't help"));
  CHECK_FALSE(contains(text, "To narrow it down"));
}

TEST_CASE("a last run that ended otherwise comes first, and its end is shown once with its place", "[terminal]") {
  const Report report = diagnose(
      {{"train.log", testing::read_file(testing::source_folder() / "samples/several_runs/last_is_a_bug.log")}});
  const std::string text = terminal_text(report, view(100));
  CHECK(text.starts_with(
      "error: the last run ended with `ValueError: unknown optimizer` (train.log:14); an earlier run (1 of\n"
      "  2) ran out of memory (train.log:7)\nearlier: GPU 0 ran out of memory while loading the model\n"));
  CHECK(contains(
      text,
      "\nNOT A MEMORY FAILURE  the last run ended with `ValueError: unknown optimizer`\n For the earlier run:\n"));
  CHECK_FALSE(contains(text, "2 runs in this log"));
}

TEST_CASE("advice that this log does not suggest is only in the verbose report", "[terminal]") {
  Report report = samples::fatal();
  report.held_back = {{"tea", "Tea", "It has no memory."}, {"coffee", "Coffee", "It is hot.", true}};
  CHECK(contains(terminal_text(report), "Won't help: Tea"));
  CHECK_FALSE(contains(terminal_text(report), "Coffee"));
  CHECK(contains(terminal_text(report, view(100, false, true)), "Won't help: Coffee"));
}

TEST_CASE("a series over time has seconds as its unit", "[terminal]") {
  Report report = samples::at_risk();
  report.series[0].x_unit = "second";
  const std::string text = terminal_text(report);
  CHECK(contains(text, "+7.59 MiB per second since second 200 (±0.44)"));
  CHECK(contains(text, "full at second 7600"));
}

TEST_CASE("a flat series shows its peak if that is far above its level", "[terminal]") {
  Report report = samples::healthy();
  REQUIRE_FALSE(report.series.empty());
  report.series.resize(1);
  ReportSeries& series = report.series[0];
  series.trend.shape = "flat";
  series.first_value = series.last_value = 2.0 * (1 << 30);
  series.max_value = 2.5 * (1 << 30);
  CHECK_FALSE(contains(terminal_text(report), ", max "));
  series.max_value = 19.0 * (1 << 30);
  CHECK(contains(terminal_text(report, view(140)), ", max 19 GiB"));
}

TEST_CASE("a mark beyond the end of the line, or inside a character, is harmless", "[terminal]") {
  Report report = samples::fatal();
  for (const int column : {-5, 0, 1, 2, 5000})
    for (const int end : {-9, 0, 1, 3, 6000}) {
      report.incidents[0].location.excerpt = "ä内x";
      report.incidents[0].location.column = column;
      report.incidents[0].location.end_column = end;
      CHECK(contains(terminal_text(report, view(100, false, true)), "ä内x"));
    }
}

TEST_CASE("without colour there is no escape sequence, and with colour only those of oomdoctor", "[terminal]") {
  for (const Report& report : {samples::fatal(), samples::hostile()}) {
    CHECK_FALSE(contains(terminal_text(report, view(100, false, true)), "\x1b"));
    std::string colored = terminal_text(report, view(100, true, true));
    for (auto at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b', at + 1)) {
      const auto end = colored.find('m', at);
      REQUIRE(end != std::string::npos);
      const std::string code = colored.substr(at, end - at + 1);
      INFO(colored.substr(at + 1, 20));
      const std::vector<std::string> ours = {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"};
      CHECK(std::count(ours.begin(), ours.end(), code) == 1);
    }
    CHECK_FALSE(contains(colored, "\x07"));
    CHECK_FALSE(contains(colored, "\xe2\x80\xae"));
  }
}

TEST_CASE("a log without any recognized line is not called healthy", "[terminal]") {
  Report report = samples::healthy();
  report.coverage.claimed = 0;
  report.verdict.outcome = Outcome::unrecognised;
  report.verdict.headline = "no known format in 1,203 lines";
  report.verdict.retry = {"unknown", ""};
  const std::string text = terminal_text(report);
  CHECK(contains(text, "NOTHING RECOGNISED  no known format in 1,203 lines"));
  CHECK(contains(text, "oomdoctor list formats"));
  CHECK_FALSE(contains(text, "Run again"));
  CHECK_FALSE(contains(text, "NO SIGN"));
}

TEST_CASE("an undecided verdict names both candidates", "[terminal]") {
  const std::string text = terminal_text(samples::handled());
  CHECK(contains(text, "cause unclear\n --> rank1.log:301"));
  CHECK(contains(text, "Cause unclear\n  44% ████▍      Evaluation keeps its outputs on the device\n"));
  CHECK(contains(text, "  38% ███▊       One sample is far larger than the others\n"));
}

TEST_CASE("the verbose report of a job with many ranks shows those that matter", "[terminal]") {
  std::string log = "run: batch_size=16 seq_len=2048\n";
  for (int step = 1; step <= 40; ++step)
    for (int rank = 0; rank < 64; ++rank)
      log += fmt::format("[rank{0}]: step {1} allocated {2:.2f} GiB reserved {3:.2f} GiB\n", rank, 10 * step,
                         20 + (rank == 17 ? 0.3 * step : 0.01 * (step * 7 % 5)), 40.0);
  log +=
      "[rank17]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity "
      "of "
      "47.50 GiB of which 130.00 MiB is free. Including non-PyTorch memory, this process has 47.37 GiB memory in use. "
      "Of "
      "the allocated memory 46.50 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but "
      "unallocated.\n";
  const std::string text = terminal_text(diagnose({{"train.log", log}}), view(100, false, true));
  CHECK(lines_of(text).size() <= 120);
  CHECK(contains(text, "126 more series, none of them growing"));
  CHECK(contains(text, "  rank 17  20.30 → 32 GiB"));
  CHECK(contains(text, "60 more ranks, max 20.04 GiB"));
}
