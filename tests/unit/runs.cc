// Several runs in one log: the start and the end of each, and the run that the verdict is about.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "report/incident_words.h"
#include "report/words.h"

using namespace oomdoctor;

namespace {

std::string steps(int first, int last, double gib = 20) {
  std::string text;
  for (int i = first; i <= last; i += 10) text += fmt::format("step {} | loss 2.1 | allocated {:.2f} GiB\n", i, gib);
  return text;
}

const std::string trace =
    "Traceback (most recent call last):\n  File \"/home/user/project/train.py\", line 88, in <module>\n    main()\n";
const std::string oom =
    trace +
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of "
    "39.39 GiB of which 118.00 MiB is free.\n";
const std::string bug = trace + "ValueError: unknown optimizer\n";
const std::string died = "train.sh: line 9: exit code 1\n";

Report report_of(const std::string& log) { return diagnose({{"train.log", log}}); }
Outcome outcome_of(const std::string& log) { return report_of(log).verdict.outcome; }

}  // namespace

TEST_CASE("a report names the end of the run if it was not a memory failure", "[runs]") {
  const Report ended = report_of(steps(10, 100) + bug);
  CHECK(ended.verdict.outcome == Outcome::ended_otherwise);
  REQUIRE(ended.verdict.end);
  CHECK(ended.verdict.end->kind == "exception");
  CHECK(ended.verdict.end->location.line == 14);
  CHECK(ended.verdict.headline == "the run ended with `ValueError: unknown optimizer` (train.log:14) at step 100");
  CHECK(ended.verdict.cause.empty());
  CHECK(ended.fixes.empty());
  // The exception was logged, and the program continued.
  CHECK(outcome_of(steps(10, 100) + bug + steps(110, 200)) == Outcome::no_oom);
  // The report of another process's death explains nothing.
  CHECK(outcome_of(steps(10, 100) + trace + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n") ==
        Outcome::no_oom);
  // The exception of the failure itself is not a separate end.
  CHECK(outcome_of(steps(10, 100) + oom) == Outcome::oom);
}

TEST_CASE("an error of the device is named, and an Xid quoted from the driver's message on", "[runs]") {
  const Report lost = report_of(steps(10, 100) +
                                "[88120.4] NVRM: Xid (PCI:0000:65:00): 79, pid=40417, name=python3, GPU has fallen "
                                "off the bus.\n");
  CHECK(lost.verdict.headline ==
        "the run ended with the loss of a GPU on its bus (Xid 79): `GPU has fallen off the bus.` (train.log:11) at "
        "step 100");
  const Report busy = report_of("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n");
  CHECK(busy.verdict.outcome == Outcome::ended_otherwise);
  const Report other = report_of(steps(10, 100) + "NVRM: Xid (PCI:0000:65:00): 120, GSP task fault\n");
  CHECK(other.verdict.headline ==
        "the run ended with an Xid error of the GPU: `GSP task fault` (train.log:11) at step 100");
}

TEST_CASE("an unexplained kill is a possible OOM, a kernel's report is a failure", "[runs]") {
  CHECK(outcome_of(steps(10, 100) + "Killed\n") == Outcome::possible_oom);
  CHECK(outcome_of(steps(10, 100) + "Killed\nkernel: Out of memory: Killed process 4410 (python) total-vm:70214412kB, "
                                    "anon-rss:64411020kB, file-rss:812kB, shmem-rss:0kB\n") == Outcome::oom);
}

TEST_CASE("the verdict is about the last run", "[runs]") {
  const Report two = report_of(steps(10, 100) + oom + died + steps(10, 60) + bug);
  CHECK(two.verdict.outcome == Outcome::ended_otherwise);
  REQUIRE(two.runs.size() == 2);
  CHECK(two.runs[0].outcome == Outcome::oom);
  CHECK(two.runs[1].first_line == 16);
  CHECK(
      two.verdict.headline ==
      "the last run ended with `ValueError: unknown optimizer` (train.log:25) at step 60; an earlier run (1 of 2) ran "
      "out of memory (train.log:14)");
  // The command line of the same program begins a run, whatever else the log shows.
  const std::string command = "$ python train.py --batch-size ";
  const Report started = report_of(command + "32\n" + steps(10, 10) + oom + command + "16\n" + bug);
  CHECK(started.verdict.outcome == Outcome::ended_otherwise);
  CHECK(started.runs.size() == 2);
  CHECK(report_of(command + "32\n" + steps(10, 10) + oom + "$ python upload.py\n").runs.empty());

  const Report again = report_of(steps(10, 300) + oom + died + "batch_size: 64\n" + steps(10, 10) + oom);
  CHECK(again.verdict.outcome == Outcome::oom);
  CHECK(again.verdict.incident == "incident-2");
  CHECK(again.incidents[1].step == 10);
  CHECK_FALSE(again.incidents[1].follows);

  // The last run has no end yet. Until it gets further, the verdict is about the run before it.
  CHECK(outcome_of(steps(10, 300) + oom + died + steps(10, 60)) == Outcome::oom);
  const Report further = report_of(steps(10, 100) + oom + died + steps(10, 400));
  CHECK(further.verdict.outcome == Outcome::handled_oom);
  CHECK(further.fixes.empty());
}

TEST_CASE("ranks of one job and retried batches are no separate runs", "[runs]") {
  std::string ranks;
  for (int rank = 0; rank < 4; ++rank)
    for (int i = 10; i <= 50; i += 10) ranks += fmt::format("[rank{}] step {} allocated 20.00 GiB\n", rank, i);
  CHECK(report_of(ranks + "[rank3]: " + bug + "[rank0] step 60 allocated 20.00 GiB\n").runs.empty());
  CHECK(report_of(steps(10, 100) + oom + steps(100, 200)).runs.empty());
  std::string epochs;
  for (int epoch = 0; epoch < 3; ++epoch) epochs += steps(10, 100);
  CHECK(report_of(epochs + bug).runs.empty());
}

TEST_CASE("a rank with a refused request of its own is no consequence of another rank", "[runs]") {
  const auto refused = [](int rank, const char* asked) {
    return fmt::format(
        "[rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of "
        "39.39 "
        "GiB of which 118.00 MiB is free.\n",
        rank, asked, rank);
  };
  const Report ranks = report_of(refused(0, "512.00 MiB") + refused(1, "514.00 MiB") + refused(2, "516.00 MiB"));
  REQUIRE(ranks.incidents.size() == 3);
  CHECK(following_words(ranks, ranks.incidents[0], 3) ==
        std::vector<std::string>{"the same on 3 of 3 ranks, at lines 2 and 3"});
}

TEST_CASE("steps and memory that fall back to the start begin a run", "[runs]") {
  const auto growing = [](int last, double from, double rate, const char* front = "") {
    std::string text;
    for (int i = 1; i <= last; ++i) text += fmt::format("{}step {} allocated {:.2f} GiB\n", front, i, from + rate * i);
    return text;
  };
  const Report two = report_of(growing(40, 8, 0.2) + growing(30, 6, 0.001));
  REQUIRE(two.runs.size() == 2);
  CHECK(two.runs[1].first_line == 41);
  REQUIRE(two.series.size() == 2);
  CHECK(two.series[0].n == 40);
  CHECK(two.series[1].n == 30);
  CHECK(two.series[1].run == 2);
  CHECK(two.verdict.outcome == Outcome::no_oom);  // the last run does not grow

  // Memory that is freed at the end of each epoch, and memory that stays, are of one run.
  CHECK(report_of(growing(40, 8, 0.2) + growing(40, 8, 0.2)).runs.empty());
  CHECK(report_of(growing(40, 8, 0.2) + growing(40, 16, 0.2)).runs.empty());
  // The folds of a cross-validation count their epochs anew as well, in one process.
  const std::string fold = growing(20, 8, 0.2, "epoch 0 ") + growing(20, 12, 0.2, "epoch 1 ");
  CHECK(report_of(fold + fold).runs.empty());
  CHECK(report_of(fold + growing(20, 6, 0.001, "epoch 0 ")).runs.size() == 2);
}

TEST_CASE("a few rising values are reported", "[runs]") {
  const Report report = report_of(steps(10, 10, 5) + steps(20, 20, 9) + steps(30, 30, 14) + steps(40, 40, 20));
  CHECK(report.verdict.headline.find("rises by 300% over 4 values") != std::string::npos);
}
