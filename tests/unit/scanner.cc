#include "fold/scanner.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "catch.h"
#include "scans.h"
#include "text_forms.h"

namespace oomdoctor {
namespace {

using testing::scan_text;
using testing::torch_message;
using testing::words_of;

constexpr std::size_t block = 1 << 20;  ///< bytes that the scanner reads at a time

/// Lines without events, at least `size` bytes in total; the last line pads to the size.
std::string filler(std::size_t size, i64& lines) {
  static const std::string line = "nothing of note happened here today\n";
  std::string out;
  lines = 0;
  for (; out.size() + 2 * line.size() < size; ++lines) out += line;
  out += std::string(size - out.size() - 1, '.') + "\n";
  ++lines;
  return out;
}

std::string failed_run_log() {
  return "step 10 | loss 2.1 | allocated 30.000 GiB\nstep 20 | loss 2.0 | allocated 30.500 GiB\n"
         "Traceback (most recent call last):\n"
         "  File \"/home/u/train.py\", line 97, in main\n    loss = step(batch)\n"
         "  File \"/home/u/train.py\", line 40, in step\n    loss.backward()\n" +
         torch_message() + "\nscancel: done\nKilled\n";
}

}  // namespace

TEST_CASE("the scanner reads a log to its end", "[scanner]") {
  const ScanResult found = scan_text(failed_run_log());
  REQUIRE(found.incidents.size() >= 1);
  const Incident& incident = found.incidents[0];
  CHECK(incident.evidence.span.first_line == 8);
  CHECK(incident.oom.request->count == 2 * GiB);
  CHECK(incident.oom.frames.size() == 2);
  CHECK(incident.when.step == 20);
  CHECK(incident.origin.device == 0);
  CHECK(found.first_step == 10);
  CHECK(found.last_step == 20);
  REQUIRE(found.series.size() == 1);
  CHECK(found.series[0].n == 2);
  CHECK(found.inputs[0].lines == 10);
}

TEST_CASE("block boundaries change nothing", "[scanner]") {
  const std::string text = failed_run_log();
  const std::string expected = words_of(scan_text(text));
  i64 lines_after = 0;
  const std::string after = filler(block / 4, lines_after);
  for (std::size_t cut = 0; cut <= text.size(); cut += 61) {
    i64 before = 0;
    const std::string padded = filler(block - cut, before) + text + after;
    CAPTURE(cut);
    const ScanResult found = scan_text(padded);
    CHECK(words_of(found, before) == expected);
    CHECK(found.inputs[0].lines == before + 10 + lines_after);
  }
}

TEST_CASE("a message wrapped across the end of a block is one message", "[scanner]") {
  std::string wrapped = std::string(200, '=') + '\n';  // the log as a whole was not wrapped by a console
  const std::string message = torch_message();
  for (std::size_t at = 0; at < message.size(); at += 80) wrapped += message.substr(at, 80) + "\n";
  const std::string expected = words_of(scan_text(wrapped));
  REQUIRE(scan_text(wrapped).incidents.size() == 1);
  i64 lines_after = 0;
  const std::string after = filler(block / 4, lines_after);
  for (std::size_t cut = 0; cut <= wrapped.size(); cut += 40) {
    i64 before = 0;
    const std::string padded = filler(block - cut, before) + wrapped + after;
    CAPTURE(cut);
    CHECK(words_of(scan_text(padded), before) == expected);
  }
}

TEST_CASE("a message with an anchor on both sides of a block boundary is reported once", "[scanner]") {
  const std::string text =
      "RuntimeError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
      "Currently allocated     : 22.50 GiB\nRequested               : 2.00 GiB\n"
      "Device limit            : 23.69 GiB\nFree (according to CUDA): 16.00 MiB\n"
      "PyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n";
  const ScanResult whole = scan_text(text);
  REQUIRE(whole.incidents.size() == 1);
  i64 lines_after = 0;
  const std::string after = filler(block / 4, lines_after);
  const std::string expected = words_of(scan_text(text + after));
  for (std::size_t cut = 0; cut <= text.size(); cut += 30) {
    i64 before = 0;
    CAPTURE(cut);
    const std::string padded = filler(block - cut, before) + text + after;
    CHECK(words_of(scan_text(padded), before) == expected);
  }
}

TEST_CASE("the same message a block later is an occurrence", "[scanner]") {
  i64 lines = 0;
  const std::string between = filler(2 * block, lines);
  const ScanResult found = scan_text(torch_message() + "\n" + between + torch_message() + "\n");
  REQUIRE(found.incidents.size() == 1);
  REQUIRE(found.incidents[0].occurrences.size() == 1);
  CHECK(found.incidents[0].occurrences[0].span.first_line == lines + 2);
}

TEST_CASE("lines are counted as editors and grep count them", "[scanner]") {
  struct Count {
    std::string text;
    i64 lines;
  };
  for (const Count& c : {Count{"", 0}, Count{"a", 1}, Count{"a\n", 1}, Count{"a\nb", 2}, Count{"a\r\nb\r\n", 2},
                         Count{"1%\r2%\r3%\n", 1}, Count{"\n\n\n", 3}, Count{"a\r", 1}}) {
    CAPTURE(c.text);
    CHECK(scan_text(c.text).inputs[0].lines == c.lines);
  }
}

TEST_CASE("Windows line ends give the same lines", "[scanner]") {
  const std::string text = failed_run_log();
  const std::string expected = words_of(scan_text(text));
  std::string other;
  for (const char c : text) other += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(words_of(scan_text(other)) == expected);
  CHECK(words_of(scan_text(text.substr(0, text.size() - 1))) == expected);
}

TEST_CASE("a line end at the end of a block counts once", "[scanner]") {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string text =
        std::string(block - 2 + shift, 'x') + "\r\n" + std::string(block / 2, 'y') + "\r\nlast\r\n";
    CAPTURE(shift);
    CHECK(scan_text(text).inputs[0].lines == 3);
  }
  std::string many;
  while (many.size() < 3 * block) many += "0123456789abcde\r\n";
  CHECK(scan_text(many).inputs[0].lines == static_cast<i64>(many.size() / 17));
}

TEST_CASE("a single line of megabytes", "[scanner]") {
  const std::string text = std::string(2'500'000, 'x') + " " + torch_message() + " " + std::string(2'500'000, 'y');
  const ScanResult found = scan_text(text);
  REQUIRE(found.incidents.size() == 1);
  CHECK(found.incidents[0].evidence.span.first_line == 1);
  CHECK(found.incidents[0].evidence.excerpt.size() <= Evidence::max_excerpt);
  CHECK(found.incidents[0].oom.request->count == 2 * GiB);
  CHECK(found.inputs[0].lines == 1);
  CHECK(found.inputs[0].bytes == static_cast<i64>(text.size()));
}

TEST_CASE("a file, a text and its encodings give the same result", "[scanner]") {
  const std::string text = failed_run_log();
  const std::string expected = words_of(scan_text(text));
  const auto path = std::filesystem::temp_directory_path() / ("oomdoctor-scan-" + std::to_string(::getpid()) + ".log");
  std::ofstream(path, std::ios::binary) << text;
  std::vector<Source> sources;
  sources.push_back(Source::open(path.string()));
  CHECK(words_of(testing::scan_sources(std::move(sources))) == expected);
  std::filesystem::remove(path);

  CHECK(words_of(scan_text("\xEF\xBB\xBF" + text)) == expected);
  const std::u32string wide(text.begin(), text.end());
  for (const bool big : {false, true}) {
    const ScanResult found = scan_text(testing::utf16(wide, big, true));
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0].text.find(big ? "utf-16be" : "utf-16le") != std::string::npos);
    ScanResult plain = found;
    plain.notes.clear();
    CHECK(words_of(plain) == expected);
  }
}

TEST_CASE("colours and runs of NUL bytes change nothing", "[scanner]") {
  const std::string text = failed_run_log();
  const ScanResult expected = scan_text(text);
  std::string coloured;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    coloured += "\x1b[31m" + text.substr(at, end - at) + "\x1b[0m\n";
    at = end + 1;
  }
  CHECK(words_of(scan_text(coloured)) == words_of(expected));
  CHECK(words_of(scan_text(std::string(4096, '\0') + text)) == words_of(expected));
}

/// Rows are read without a search for anchors. A line between them, and a header that comes again, must be found all
/// the same. Here the rows themselves contain an anchor: the name of the GPU.
TEST_CASE("a failure and a new header between the rows of a table are found", "[scanner]") {
  const std::string columns = "timestamp, name, index, memory.used [MiB], memory.total [MiB]\n";
  const std::string others = "timestamp, index, name, memory.total [MiB], memory.used [MiB]\n";
  std::string text = columns;
  i64 seconds = 0;
  const auto clock = [&] { return fmt::format("2025/03/01 10:{:02}:{:02}.000", seconds / 60, seconds % 60); };
  for (; seconds < 700; ++seconds) text += clock() + ", NVIDIA A100-SXM4-80GB, 0, 41000 MiB, 81920 MiB\n";
  text += torch_message() + "\n";
  for (; seconds < 1400; ++seconds) text += clock() + ", NVIDIA A100-SXM4-80GB, 0, 41000 MiB, 81920 MiB\n";
  text += others;
  for (; seconds < 1500; ++seconds) text += clock() + ", 0, NVIDIA A100-SXM4-80GB, 81920 MiB, 41000 MiB\n";

  const ScanResult found = scan_text(text);
  REQUIRE(found.incidents.size() == 1);
  CHECK(found.incidents[0].evidence.span.first_line == 702);
  CHECK(found.incidents[0].oom.request->count == 2 * GiB);
  REQUIRE(found.series.size() == 1);
  CHECK(found.series[0].n == 1500);
  CHECK(found.series[0].max_value == 41000.0 * MiB);
  CHECK(found.series[0].min_value == 41000.0 * MiB);
  CHECK(found.inputs[0].lines == 1503);
}

/// Only its rows show the unit of the upper one. Those of the lower one show that its index counts rows.
TEST_CASE("a table that only its rows make known is read above another one", "[scanner]") {
  std::string text = "\"Time\",\"GPU 0 memory used\",\"GPU 0 memory total\"\n";
  for (int minute = 10; minute < 22; ++minute) text += fmt::format("\"2025-04-08 09:{}:00\",9310,24564\n", minute);
  text += "index,timestamp,memory.used [MiB],memory.total [MiB]\n";
  for (int row = 0; row < 40; ++row)
    text += fmt::format("{},2025/04/08 10:00:{}.120,{} MiB,81920 MiB\n", row, 10 + row, 20480 + row);
  const ScanResult found = scan_text(text);
  REQUIRE(found.series.size() == 2);
  CHECK(found.series[0].n == 12);
  CHECK(found.series[0].last_value == 9310.0 * MiB);
  CHECK(found.series[1].n == 40);
  CHECK(found.series[1].last_value == 20519.0 * MiB);
}

TEST_CASE("only steps that are continued over epochs are renumbered", "[scanner]") {
  const ScanResult found = scan_text(
      "Epoch 1:   0%|          | 0/100 [00:00<?, ?it/s, mem=5.0 GB]\n"
      "Epoch 1:  50%|#####     | 50/100 [00:10<00:10,  5.0it/s, mem=5.0 GB]\n"
      "step 5 gpu mem 8.00 GB\nstep 6 gpu mem 8.00 GB\n");
  for (const Series& series : found.series) {
    CAPTURE(series.label);
    CHECK(series.first_x >= 0);
  }
}

TEST_CASE("what is no image of a step is none", "[scanner]") {
  const auto images = [](const std::string& line) {
    const ScanResult found = scan_text(line + "\n");
    return std::count_if(found.series.begin(), found.series.end(),
                         [](const Series& s) { return s.metric == Metric::input_length; });
  };
  CHECK(images("step 40 image batch shape (4, 3, 640, 480)") == 1);
  CHECK(images("step 40 attention_mask shape (4, 1, 2048, 2048)") == 0);
}

TEST_CASE("a leak is claimed only where the log claims one", "[scanner]") {
  const auto claims = [](const std::string& line) {
    return scan_text(line + "\n").find_remark("text/leak_claimed") != nullptr;
  };
  CHECK(claims("VRAM delta: +38.1MB   Leak detected!"));
  for (const char* line : {"leak detected: False", "No CUDA leak detected", "memory leak present: 0"}) {
    CAPTURE(line);
    CHECK_FALSE(claims(line));
  }
}

TEST_CASE("a limit of one process is no shortage of the Mac", "[scanner]") {
  const auto failures = [](const std::string& reason) {
    return scan_text("kernel: memorystatus: killing_specific_process pid 5 [mdworker_shared] (" + reason + " 10) 4KB\n")
        .incidents.size();
  };
  CHECK(failures("vm-pageshortage") == 1);
  CHECK(failures("per-process-limit") == 0);
  CHECK(failures("highwater") == 0);
}

TEST_CASE("vmstat's unit is that of the first page", "[scanner]") {
  const std::string header =
      "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
      " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n";
  const ScanResult found = scan_text(
      header +
      " 2  0      0 9911212 811204 2044190    0    0     0    12  512  804 12  1 87  0  0 2025-02-01 12:00:00\n" +
      header + " 2  0      0 91212 1204 20190    0    0     0    12  512  804 12  1 87  0  0 2025-02-01 12:01:00\n");
  REQUIRE(found.series.size() == 1);
  CHECK(found.series[0].last_value == (91212 + 1204 + 20190) * 1024.0);  // KiB, however little is left
}

TEST_CASE("a time limit of Grid Engine may be written as a clock", "[scanner]") {
  const auto failures = [](const std::string& limit) {
    return scan_text(
               "==============================================================\n"
               "hard_resources     h_rt=" +
               limit + "\nfailed       0\nexit_status  137\nru_wallclock 3600.0\n")
        .incidents.size();
  };
  CHECK(failures("24:00:00") == 1);
  CHECK(failures("86400") == 1);
  CHECK(failures("01:00:00") == 0);
}

TEST_CASE("billions of parameters are no bytes", "[scanner]") {
  const auto request = [](const std::string& amount) {
    const ScanResult found = scan_text("RuntimeError: out of memory: needed for " + amount + ", 3 GB free\n");
    REQUIRE(found.incidents.size() == 1);
    return found.incidents[0].oom.request ? found.incidents[0].oom.request->count : 0;
  };
  CHECK(request("7 B parameters") == 0);
  CHECK(request("70B weights") == 0);
}

TEST_CASE("the columns of a dashboard are host RAM by whole words only", "[scanner]") {
  const auto metric_of = [](const std::string& name) {
    std::string text = "\"Time\",\"" + name + "\"\n";
    for (int i = 0; i < 12; ++i) text += fmt::format("2025-03-01 10:{:02}:00,{}.50 GiB\n", i, 4 + i % 2);
    const ScanResult found = scan_text(text);
    return found.series.empty() ? std::string("none") : std::string(to_string(found.series.front().metric));
  };
  CHECK(metric_of("worker-3") == to_string(Metric::host_used));
  CHECK(metric_of("framebuffer") != to_string(Metric::host_used));
  CHECK(metric_of("threads-model") != "none");
  CHECK(metric_of("disk read") == "none");
}

TEST_CASE("each source has its own line numbers", "[scanner]") {
  std::vector<Source> sources;
  sources.push_back(Source::of_text("a.log", "quiet\n" + torch_message("0") + "\n"));
  sources.push_back(Source::of_text("b.log", "quiet\nquiet\n" + torch_message("1", "4.00") + "\n"));
  const ScanResult found = testing::scan_sources(std::move(sources));
  REQUIRE(found.incidents.size() == 2);
  CHECK(found.incidents[0].evidence.span.source == 0);
  CHECK(found.incidents[0].evidence.span.first_line == 2);
  CHECK(found.incidents[1].evidence.span.source == 1);
  CHECK(found.incidents[1].evidence.span.first_line == 3);
  CHECK(found.inputs[1].path == "b.log");
  CHECK(found.coverage.lines == 5);
}

}  // namespace oomdoctor
