// How reports become failures, tested through the scanner.
#include "fold/result_builder.h"

#include "catch.h"
#include "scans.h"

namespace oomdoctor {
namespace {

using testing::scan_text;
using testing::torch_message;

std::string step(int n) { return "step " + std::to_string(n) + " | loss 2.1 | allocated 30.000 GiB\n"; }

std::string traceback(const std::string& message) {
  return "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n    loss.backward()\n" + message +
         "\n";
}

}  // namespace

TEST_CASE("one failure printed three times is one incident", "[case_builder]") {
  const std::string message = torch_message();
  const ScanResult found = scan_text(step(1) + "ERROR: step failed: " + message + "\n" + traceback(message) +
                                     "\nThe above exception was the direct cause of the following exception:\n\n" +
                                     traceback("RuntimeError: worker failed: " + message));
  REQUIRE(found.incidents.size() == 1);
  const Incident& incident = found.incidents[0];
  CHECK(incident.evidence.span.first_line == 2);
  REQUIRE(incident.occurrences.size() == 2);
  CHECK(incident.occurrences[0].span.first_line == 6);
  CHECK(incident.occurrences[1].span.first_line == 13);
  CHECK_FALSE(incident.handled);
  REQUIRE(incident.oom.frames.size() == 1);
  CHECK(incident.oom.frames[0].line == 9);
}

TEST_CASE("the failures A, B and A again are three failures", "[case_builder]") {
  const std::string a = torch_message("0", "2.00") + "\n", b = torch_message("0", "3.00") + "\n";
  const ScanResult found = scan_text(a + b + a);
  REQUIRE(found.incidents.size() == 3);
  CHECK(found.incidents[0].oom.request == found.incidents[2].oom.request);
  CHECK(found.incidents[1].oom.request->count == 3 * GiB);
  CHECK(found.incidents[2].evidence.span.first_line == 3);
}

TEST_CASE("reports of two GPUs may interleave", "[case_builder]") {
  const std::string a = torch_message("0") + "\n", b = torch_message("1", "3.00") + "\n";
  const ScanResult found = scan_text(a + b + a + b);
  REQUIRE(found.incidents.size() == 2);
  CHECK(found.incidents[0].occurrences.size() == 1);
  CHECK(found.incidents[1].occurrences.size() == 1);
  CHECK_FALSE(found.incidents[0].follows);
  CHECK(found.incidents[1].follows == std::size_t{0});
}

TEST_CASE("another rank's failure is a consequence of the first", "[case_builder]") {
  const ScanResult found =
      scan_text("[rank1]: " + torch_message("1", "2.00") + "\n[rank0]: " + torch_message("0", "3.00") + "\n");
  REQUIRE(found.incidents.size() == 2);
  CHECK(found.incidents[0].origin.rank == 1);
  CHECK_FALSE(found.incidents[0].follows);
  CHECK(found.incidents[1].origin.rank == 0);
  CHECK(found.incidents[1].follows == std::size_t{0});
}

TEST_CASE("the same message on two ranks is two failures", "[case_builder]") {
  const ScanResult found = scan_text("[rank0]: " + torch_message() + "\n[rank1]: " + torch_message() + "\n");
  CHECK(found.incidents.size() == 2);
}

TEST_CASE("a log reports what was lost of it", "[case_builder]") {
  const std::string mark = "oomdoctor run 0123456789abcdef: ";
  const std::string lost = mark + "123 bytes of output were lost: No space left on device\n";
  const ScanResult found = scan_text(mark + "output of the command: python train.py\n" + step(1) + lost + step(2) +
                                     lost + mark + "samples of GPU memory were lost: nvidia-smi did not answer\n");
  REQUIRE(found.lost.size() == 3);
  CHECK(found.lost[0].what == "123 bytes of output");
  CHECK(found.lost[0].why == "No space left on device");
  CHECK_FALSE(found.lost[0].only_samples);
  CHECK(found.lost[0].at->span.first_line == 3);
  CHECK(found.lost[1].at->span.first_line == 5);
  CHECK(found.lost[2].only_samples);
  CHECK(found.coverage.claimed == 6);
  CHECK(scan_text(step(1) + lost).lost.empty());  // a line without the mark of the first line is the program's
}

TEST_CASE("lost evidence beyond the limit is counted", "[case_builder]") {
  const std::string mark = "oomdoctor run 0123456789abcdef: ";
  std::string text = mark + "output of the command: python train.py\n";
  for (std::size_t i = 0; i < ScanLimits::lost + 5; ++i)
    text += mark + std::to_string(i) + " bytes of output were lost: Input/output error\n";
  const ScanResult found = scan_text(text);
  CHECK(found.lost.size() == ScanLimits::lost);
  CHECK(found.more_lost == 5);
}

TEST_CASE("progress after a failure shows that the program handled it", "[case_builder]") {
  const ScanResult found = scan_text(step(1) + step(2) + torch_message() + "\n" + step(3) + step(4));
  REQUIRE(found.incidents.size() == 1);
  CHECK(found.incidents[0].handled);
  REQUIRE(found.incidents[0].handled_by);
  CHECK(found.incidents[0].handled_by->span.first_line > 3);
  CHECK(found.incidents[0].when.step == 2);

  const ScanResult died = scan_text(step(1) + step(2) + torch_message() + "\n");
  REQUIRE(died.incidents.size() == 1);
  CHECK_FALSE(died.incidents[0].handled);
}

TEST_CASE("progress of another rank is no proof of survival", "[case_builder]") {
  const auto of = [](const std::string& rank, const std::string& line) { return "[rank" + rank + "]: " + line; };
  const ScanResult found = scan_text(of("0", step(1)) + of("1", step(1)) + of("0", torch_message() + "\n") +
                                     of("1", step(2)) + of("1", step(3)));
  REQUIRE(found.incidents.size() == 1);
  CHECK_FALSE(found.incidents[0].handled);
}

TEST_CASE("the same failure after progress is a new one", "[case_builder]") {
  const std::string message = torch_message() + "\n";
  const ScanResult found = scan_text(step(1) + message + step(2) + message);
  REQUIRE(found.incidents.size() == 2);
  CHECK(found.incidents[0].handled);
  CHECK_FALSE(found.incidents[1].handled);
}

TEST_CASE("progress of a resumed job does not belong to the dead run", "[case_builder]") {
  const ScanResult found = scan_text(step(100) + traceback(torch_message()) +
                                     "Resuming from checkpoint /out/checkpoint-90\n" + step(101) + step(102));
  REQUIRE(found.incidents.size() == 1);
  REQUIRE(found.remark_counts.contains("run/resumed"));
  CHECK_FALSE(found.incidents[0].handled);
}

TEST_CASE("a failure that its run survived stays handled when the job resumes", "[case_builder]") {
  const ScanResult found =
      scan_text(step(1) + torch_message() + "\n" + step(2) + "Resuming from checkpoint /out/checkpoint-2\n" + step(3));
  REQUIRE(found.incidents.size() == 1);
  CHECK(found.incidents[0].handled);
  CHECK(found.incidents[0].handled_by->span.first_line == 3);
}

TEST_CASE("many growing series share one memory limit", "[case_builder]") {
  constexpr int ranks = 30, steps = 3000;
  std::string text;
  for (int i = 0; i < steps; ++i)
    for (int rank = 0; rank < ranks; ++rank) text += "[rank" + std::to_string(rank) + "]: " + step(i);
  const ScanResult found = scan_text(text);
  REQUIRE(found.series.size() == ranks);
  std::size_t buckets = 0;
  for (const Series& series : found.series) {
    CHECK(series.n == steps);
    buckets += series.buckets().size();
  }
  CHECK(buckets <= ScanLimits::buckets / 2);
  CHECK(buckets > ScanLimits::buckets / 8);
}

TEST_CASE("progress in the next input does not belong to the first one", "[case_builder]") {
  std::vector<Source> sources;
  sources.push_back(Source::of_text("a.log", step(1) + torch_message() + "\n"));
  sources.push_back(Source::of_text("b.log", step(2) + step(3)));
  const ScanResult found = testing::scan_sources(std::move(sources));
  REQUIRE(found.incidents.size() == 1);
  CHECK_FALSE(found.incidents[0].handled);
}

TEST_CASE("incidents and occurrences are limited, and the rest is counted", "[case_builder]") {
  std::string same, different;
  for (int i = 0; i < 100; ++i) same += torch_message() + "\n";
  const ScanResult once = scan_text(same);
  REQUIRE(once.incidents.size() == 1);
  CHECK(static_cast<i64>(once.incidents[0].occurrences.size()) + once.incidents[0].more_occurrences == 99);
  CHECK(once.incidents[0].occurrences.size() < 99);
  for (int i = 0; i < 400; ++i) different += torch_message("0", std::to_string(i + 1) + ".00") + "\n";
  const ScanResult many = scan_text(different);
  CHECK(static_cast<i64>(many.incidents.size()) + many.more_incidents == 400);
  CHECK(many.incidents.size() < 400);
}

TEST_CASE("a counter of refusals shows no survival, but work below it does", "[case_builder]") {
  const std::string counted = "| CUDA OOMs: 3            |        cudaMalloc retries: 5         |\n";
  const ScanResult alone = scan_text(step(1) + step(2) + counted);
  REQUIRE(alone.incidents.size() == 1);
  CHECK_FALSE(alone.incidents[0].handled);
  CHECK(alone.incidents[0].more_occurrences == 2);
  CHECK_FALSE(alone.incidents[0].when.step);
  const ScanResult followed = scan_text(step(1) + counted + step(2));
  REQUIRE(followed.incidents.size() == 1);
  CHECK(followed.incidents[0].handled);
}

TEST_CASE("a retry notice refers to the failure above it", "[case_builder]") {
  const std::string notice = "Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.\n";
  const ScanResult died =
      scan_text("Warning: " + notice + "!!! Exception during processing !!! " + torch_message() + "\n");
  REQUIRE(died.incidents.size() == 2);
  CHECK(died.incidents[0].handled);
  CHECK_FALSE(died.incidents[1].handled);

  const ScanResult survived = scan_text(torch_message() + "\nWarning: " + notice);
  REQUIRE(survived.incidents.size() == 1);
  CHECK(survived.incidents[0].handled);

  // A logger prints the exception after the notice.
  const ScanResult logged = scan_text("WARNING: " + notice + traceback(torch_message()));
  REQUIRE(logged.incidents.size() == 1);
  CHECK(logged.incidents[0].handled);
}

TEST_CASE("each notice with the same words is a separate failure", "[case_builder]") {
  const std::string notice = "| WARNING: ran out of memory on GPU #1, skipping batch\n";
  const ScanResult found =
      scan_text("THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory\n" +
                notice + step(8) + step(9) + notice);
  REQUIRE(found.incidents.size() == 2);
  CHECK(found.incidents[0].handled);
  CHECK(found.incidents[1].handled);
  CHECK(found.incidents[1].evidence.span.first_line == 5);
}

TEST_CASE("the head of an exception whose message is nearby is no separate failure", "[case_builder]") {
  const ScanResult replica = scan_text("torch.OutOfMemoryError: no room left\n" + traceback(torch_message()));
  REQUIRE(replica.incidents.size() == 1);
  CHECK(replica.incidents[0].evidence.span.first_line == 5);
  CHECK(scan_text("torch.OutOfMemoryError: no room left\n").incidents.size() == 1);
  CHECK(scan_text("E   torch.OutOfMemoryError: CUDA out of memory.\n").incidents.size() == 1);
  CHECK(scan_text("torch.OutOfMemoryError: Caught OutOfMemoryError in replica 1 on device 1.\n").incidents.empty());
  CHECK(scan_text("    except torch.cuda.OutOfMemoryError: \n").incidents.empty());
}

TEST_CASE("of many failures, the one that ended the run is kept", "[case]") {
  std::string text;
  int at = 0;
  for (int i = 0; i < 400; ++i) {
    text += torch_message("0", "1." + std::to_string(100 + i)) + "\nskipping the batch\n";
    for (int k = 0; k < 3; ++k) text += step(++at);
  }
  const ScanResult survived = scan_text(text);
  CHECK(survived.incidents.size() == ScanLimits::incidents);
  CHECK(survived.more_incidents == 400 - static_cast<i64>(ScanLimits::incidents));
  const ScanResult ended = scan_text(text + traceback(torch_message("0", "7.77")));
  REQUIRE(!ended.incidents.empty());
  CHECK(ended.incidents.front().handled);
  CHECK_FALSE(ended.incidents.back().handled);
  CHECK(std::count_if(ended.incidents.begin(), ended.incidents.end(), [](const auto& i) { return !i.handled; }) == 1);
}

TEST_CASE("series beyond the limit are counted", "[case]") {
  std::string text;
  const int ranks = static_cast<int>(ScanLimits::series) + 40;
  for (int round = 0; round < 2; ++round)
    for (int rank = 0; rank < ranks; ++rank)
      text += "[rank" + std::to_string(rank) + "]: step " + std::to_string(round) + " allocated 3.5 GiB\n";
  const ScanResult c = scan_text(text);
  CHECK(c.series.size() == ScanLimits::series);
  CHECK(c.more_series == 40);
}

TEST_CASE("a repeated line is read again as long as other lines report events", "[case]") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "RuntimeError: out of memory\n";
  const ScanResult same = scan_text(text);
  CHECK(same.incidents.size() == 1);
  CHECK(std::any_of(same.notes.begin(), same.notes.end(),
                    [](const Note& n) { return n.text.ends_with("were counted, but not read again"); }));
  CHECK(same.coverage.claimed == 3000);
  text.clear();
  for (int i = 0; i < 600; ++i) text += torch_message() + "\nskipping the batch\n" + step(i + 1);
  const ScanResult apart = scan_text(text + traceback(torch_message()));
  CHECK(static_cast<i64>(apart.incidents.size()) + apart.more_incidents == 601);
  CHECK_FALSE(apart.incidents.back().handled);
}

TEST_CASE("repeated long context searches get shorter, and the last message is still read in full") {
  std::string log;
  for (int i = 0; i < 20'000; ++i)
    log += "[ 7120.10" + std::to_string(i % 10) + "] Memory cgroup stats for /kubepods/burstable/pod" +
           std::to_string(i % 2) + ":\n";
  log +=
      "Traceback (most recent call last):\n  File \"train.py\", line 88, in training_step\n    loss.backward()\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
      "of "
      "which 1.06 GiB is free.\n";
  const ScanResult scan = testing::scan_text(log);
  const auto& notes = scan.notes;
  CHECK(std::any_of(notes.begin(), notes.end(),
                    [](const Note& n) { return n.text.find("looks at their neighbours were cut") != n.text.npos; }));
  REQUIRE(scan.incidents.size() == 1);
  REQUIRE(scan.incidents[0].oom.frames.size() == 1);
  CHECK(scan.incidents[0].oom.frames[0].line == 88);
}

}  // namespace oomdoctor
