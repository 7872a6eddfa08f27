// Runs that did not fail, from their log to the verdict.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "render/terminal.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "samples.h"

using namespace oomdoctor;

namespace {

/// One line for each step i from 1 to n.
template <class Line>
Report report_of(int n, Line line, const std::string& header = "") {
  std::string log = header.empty() ? "" : header + "\n";
  for (int i = 1; i <= n; ++i) log += line(i) + "\n";
  return diagnose({{"train.log", log}});
}

const ReportSeries& series_of(const Report& report, std::string_view metric) {
  const auto found = std::find_if(report.series.begin(), report.series.end(),
                                  [&](const ReportSeries& s) { return s.metric == metric; });
  REQUIRE(found != report.series.end());
  return *found;
}

std::string leaking(int i) { return fmt::format("step {} | loss 2.1 | allocated {:.3f} GiB", i * 10, 8 + 0.1 * i); }

double full_at(const Report& report) {
  REQUIRE(report.series.front().trend.forecast);
  return report.series.front().trend.forecast->step;
}

}  // namespace

TEST_CASE("a leak is a risk long before the memory is full", "[live]") {
  std::string log = testing::read_file(testing::source_folder() / "samples/stories/leak.log");
  std::size_t end = 0;
  for (int line = 0; line < 120; ++line) end = log.find('\n', end) + 1;
  const Report report = diagnose({{"leak.log", log.substr(0, end)}});
  CHECK(report.verdict.outcome == Outcome::at_risk);
  CHECK(report.verdict.cause == "leak");
  CHECK(full_at(report) == Approx(1282).margin(2));  // 79.15 GiB of the A100 on line 2
}

TEST_CASE("the capacity comes from any line that names it", "[live]") {
  CHECK(full_at(report_of(40, leaking, "Using device: NVIDIA GeForce RTX 3090 (24268 MiB)")) == Approx(1570).margin(5));
  CHECK(full_at(report_of(40, leaking, "device: cuda:0 Tesla T4")) == Approx(656).margin(5));
  CHECK(full_at(report_of(40, [](int i) {
          return fmt::format("step {} | loss 2.1 | GPU mem: {:.2f}/24.00 GiB", i * 10, 8 + 0.1 * i);
        })) == Approx(1600).margin(5));
  CHECK(full_at(report_of(40, [](int i) {
          const double used = 30 + 0.1 * i;
          return fmt::format(
              "[titan] 2026-03-01 10:00:00,000 - root - INFO - step: {}  loss:  2.1  memory: {:.2f}GiB({:.2f}%)",
              i * 10, used, used / 0.8);
        })) == Approx(5000).margin(20));
}

TEST_CASE("PyTorch's counters miss the memory outside PyTorch and the peak inside a step", "[live]") {
  const double alone = full_at(report_of(40, leaking, "GPU 0: NVIDIA A40, total memory 40.00 GiB"));
  CHECK(alone == Approx(3200).margin(10));
  // PyTorch never gets 3 GiB of the GPU.
  std::string log = "GPU 0: NVIDIA A40, total memory 40.00 GiB\n",
              csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 1; i <= 40; ++i) {
    log += leaking(i) + fmt::format(" | reserved {:.3f} GiB\n", 8.5 + 0.1 * i);
    csv += fmt::format("2025/02/01 12:{:02}:{:02}.104, 0, {:.0f} MiB, 40960 MiB\n", i / 6, i % 6 * 10,
                       1024 * (11.5 + 0.1 * i));
  }
  const Report both = diagnose({{"smi.csv", csv}, {"train.log", log}});
  const ReportSeries& counter = series_of(both, "allocated");
  REQUIRE(counter.trend.forecast);
  CHECK(counter.trend.forecast->step == Approx(alone - 300).margin(20));
  const auto with_peak = [](int i) {
    return fmt::format(
        "[2024-05-11 10:00:01,220] [INFO] [utils.py:800:see_memory_usage] after step {}\n"
        "[2024-05-11 10:00:01,221] [INFO] [utils.py:801:see_memory_usage] MA {:.2f} GB         Max_MA {:.2f} GB  "
        "       CA {:.2f} GB         Max_CA 20 GB ",
        i * 10, 8 + 0.1 * i, 12 + 0.1 * i, 13 + 0.1 * i);
  };
  const Report peaks = report_of(40, with_peak, "GPU 0: NVIDIA A40, total memory 40.00 GiB");
  const ReportSeries& allocated = series_of(peaks, "allocated");
  REQUIRE(allocated.trend.forecast);
  CHECK(allocated.trend.forecast->step == Approx(alone - 400).margin(20));  // 4 GiB higher inside a step
  CHECK(allocated.trend.forecast->capacity_bytes == 40ll << 30);
}

TEST_CASE("growth with an unknown capacity is a risk, too", "[live]") {
  const Report report = report_of(40, leaking);
  CHECK(report.verdict.outcome == Outcome::at_risk);
  CHECK(report.verdict.headline.find("--capacity") != std::string::npos);
  // Values without step or time may be from the set-up.
  const Report setup = report_of(7, [](int i) { return fmt::format("memory allocated: {}.00 GiB", 4 * i); });
  CHECK(setup.verdict.outcome == Outcome::no_oom);
}

TEST_CASE("a relation between several series is reported", "[live]") {
  const auto relation = [](const Report& report, std::string_view metric) {
    return relation_words(report, series_of(report, metric));
  };
  const auto cache = [](int i) {
    return fmt::format("step {} allocated 20.{}0 GiB reserved {:.2f} GiB", i, i % 3, 24 + 0.2 * i);
  };
  CHECK(relation(report_of(50, cache), "reserved") == "allocated memory does not grow: PyTorch's cache fragments");
  const auto host = [](int i) {
    return fmt::format("Step {}: Allocated: 900.00 MB, Reserved: 1000.00 MB, CPU: {:.2f} MB", i, 2100 + 60.0 * i);
  };
  CHECK(relation(report_of(50, host), "host_rss") == "GPU memory does not grow: the leak is in host RAM");
  const auto ranks = [](int i) {
    std::string lines;
    for (int r = 0; r < 4; ++r)
      lines += fmt::format("[rank{}] step {} allocated {:.2f} GiB\n", r, i, 20 + (r == 3 ? 0.1 * i : 0));
    return lines;
  };
  const Report four = report_of(50, ranks);
  const auto third = std::find_if(four.series.begin(), four.series.end(), [](const auto& s) { return s.rank == 3; });
  REQUIRE(third != four.series.end());
  CHECK(relation_words(four, *third) == "only rank 3 of 4 grows");
}

TEST_CASE("nearly full memory is reported without any trend", "[live]") {
  const auto level = [](int i) {
    return fmt::format("2025/02/01 12:{:02}:{:02}.104, 0, {} MiB, 46068 MiB", i / 60, i % 60, i < 5 ? 410 : 44810);
  };
  const Report report = report_of(50, level, "timestamp, index, memory.used [MiB], memory.total [MiB]");
  CHECK(report.verdict.outcome == Outcome::no_oom);
  const auto note = std::find_if(report.notes.begin(), report.notes.end(), [](const auto& n) { return n.brief; });
  REQUIRE(note != report.notes.end());
  CHECK(note->text == "GPU 0 was 97% full at its peak, 2025-02-01 12:00:05: 1.23 GiB of 44.99 GiB free");
  CHECK(note->severity == "note");
  REQUIRE(note->location);
  CHECK(note->location->line == 6);
}

TEST_CASE("each nearly full memory has one note, the fullest first", "[live]") {
  std::string log = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 0; i < 20; ++i)
    for (const int gpu : {0, 1, 2})
      log += fmt::format("2025/02/01 12:00:{:02}.10{}, {}, {} MiB, 24000 MiB\n", i, gpu, gpu,
                         gpu == 0   ? 22200
                         : gpu == 1 ? 21500
                                    : 23500);
  const Report report = diagnose({{"gpus.csv", log}});
  std::vector<std::string> levels;
  for (const ReportNote& note : report.notes)
    if (note.brief) levels.push_back(note.text.substr(0, note.text.find(" at its peak")));
  CHECK(levels == std::vector<std::string>{"GPU 2 was 98% full", "GPU 0 was 93% full"});
  const std::string text = terminal_text(report, {});
  CHECK(text.find("GPU memory used, GPU 2") != std::string::npos);
  CHECK(text.find("GPU 0 was 93% full") != std::string::npos);
}

TEST_CASE("a share that a monitor prints shows a nearly full memory, too", "[live]") {
  const Report report = report_of(20, [](int i) { return fmt::format("step {} | mem 23.50 GB / 24.00 GB", i); });
  REQUIRE(!report.notes.empty());
  CHECK(report.notes.back().text == "mem was 98% full at its peak, step 1: 0.50 GiB of 24 GiB free");
}

TEST_CASE("a series that gives its memory back says so", "[live]") {
  const auto value = [](int i) {
    return fmt::format("2025/02/01 12:00:{:02}.104, 0, {} MiB, 46068 MiB", i, i < 5 ? 410 : i < 30 ? 30810 : 12);
  };
  const Report report = report_of(50, value, "timestamp, index, memory.used [MiB], memory.total [MiB]");
  CHECK(report.series.front().trend.why == "released at second 29: back to 12 MiB");
  const std::string text = terminal_text(report, {});
  CHECK(text.find("410 → 12 MiB, max 30.09 GiB (67% of 44.99 GiB)") != std::string::npos);
  CHECK(text.find("released at second 29") != std::string::npos);
}

TEST_CASE("memory that rose and was freed again does not rise", "[live]") {
  const std::vector<double> used{163.1, 173.9, 173.9, 173.9, 173.9, 173.9, 163.1, 815.4, 1869.8, 1971.2, 3.0, 3.0, 3.0};
  const auto row = [&](int i) {
    const double value = used[std::min(used.size(), static_cast<std::size_t>(i)) - 1];
    return fmt::format("2024-12-11 06:57:{:02},server,{}", 2 * i - 2, value);
  };
  const Report report = report_of(28, row, "timestamp,container,mem_usage (MiB)");
  REQUIRE(!report.series.empty());
  CHECK(report.series.front().trend.why.find("rises") == std::string::npos);
}

TEST_CASE("a series of what is left shows its lowest value", "[live]") {
  const auto row = [](int i) {
    return fmt::format(" 0  0      0 {} 204800 1048576    0    0     0     2    0    0  1  0 99  0  0",
                       i > 10 && i < 14 ? 4194304 : 25165824 + 64 * (i % 5));
  };
  const std::string names = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st";
  const std::string text = terminal_text(report_of(40, row, names), {});
  CHECK(text.find(", max ") == std::string::npos);
  CHECK(text.find("5.20 GiB") != std::string::npos);
}

TEST_CASE("a rise that may be only the load is no leak", "[live]") {
  const auto shard = [](int i) { return fmt::format("weights part {}/14 | gpu mem {:.1f} GB", i, 1.9 * i); };
  std::string log;
  for (int i = 1; i <= 11; ++i) log += shard(i) + "\n";
  log += "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB\n";
  const Report report = diagnose({{"train.log", log}});
  CHECK(report.verdict.outcome == Outcome::oom);
  REQUIRE(!report.causes.empty());
  CHECK(report.causes.front().cause != "leak");
  REQUIRE(!report.series.empty());
  CHECK(report.series.front().trend.shape == "too_short");
  // The same rise with steps, or with an epoch on each line, is the growth of a program at work.
  const auto leaks = [](const Report& of) { return !of.series.empty() && of.series.front().trend.leak; };
  CHECK(leaks(report_of(25, [](int i) { return fmt::format("step {} memory {:.1f} GB", i, 1.9 * i); })));
  CHECK(leaks(report_of(25, [](int i) {
    return fmt::format("[EPOCH {}] Allocated: {}.00 MB, Reserved: 9000.00 MB", i, 120 + 290 * i);
  })));
}

TEST_CASE("five values that rise are not called noise", "[live]") {
  const Report report = report_of(5, [](int i) { return fmt::format("step {} gpu memory {} GB", i, 6 + i); });
  REQUIRE(!report.series.empty());
  CHECK(report.series.front().trend.why == "rises by 57% over 5 values: too few to distinguish a leak from a warm-up");
}

TEST_CASE("series that are zero throughout are hidden, short ones are shown", "[live]") {
  const Report zero = report_of(30, [](int i) { return fmt::format("step {} loss 1 allocated 0.00 GiB", i); });
  CHECK(zero.series.size() == 1);
  CHECK(sort_series(zero).empty());
  const Report short_report =
      report_of(4, [](int i) { return fmt::format("step {} loss 1 gpu mem {}.50 GiB", i * 100, 6 + i + (i == 4)); });
  CHECK(short_report.series.front().trend.why ==
        "rises by 53% over 4 values: too few to distinguish a leak from a warm-up");
}

TEST_CASE("a dead run prints no forecast that its death contradicts", "[live]") {
  const Report report =
      diagnose({{"leak.log", testing::read_file(testing::source_folder() / "samples/stories/leak.log")}});
  CHECK(report.verdict.outcome == Outcome::oom);
  for (const ReportSeries& series : report.series) {
    CHECK(forecast_words(report, series).empty());
    if (!series.trend.forecast) continue;
    CHECK(series.trend.forecast->step_low <= 1240);
    CHECK(series.trend.forecast->step_high.value_or(1e9) >= 1240);
  }
}
