#include "fold/incident_dedup.h"

#include <array>

#include "catch.h"
#include "fold/scanner.h"
#include "scans.h"

namespace oomdoctor {
namespace {

ScanResult scan_text(const std::string& text) {
  static const Scanner scanner(all_parsers());
  std::vector<Source> sources;
  sources.push_back(Source::of_text("log", text));
  return scanner.scan(sources);
}

const std::string shell = "run.sh: line 28: 66899 Killed                  python train.py\n";
const std::string slurm =
    "slurmstepd: error: Detected 1 oom_kill event in StepId=5521.batch. Some of the step tasks have been OOM Killed.\n";

std::string kernel(const std::string& pid, const std::string& rss) {
  return "Memory cgroup out of memory: Killed process " + pid + " (python) total-vm:47368124kB, anon-rss:" + rss +
         "kB, file-rss:0kB\n";
}

}  // namespace

TEST_CASE("shell, scheduler and kernel report one death, and the kernel's report gives its position",
          "[same_failure]") {
  const ScanResult c = scan_text(shell + slurm + kernel("66899", "4194304") + slurm);
  REQUIRE(c.incidents.size() == 1);
  CHECK(c.incidents[0].evidence.span.first_line == 3);
  CHECK(c.incidents[0].oom.agent == Agent::cgroup);
  CHECK(c.incidents[0].oom.process->count == 4 * GiB);
  CHECK(c.incidents[0].occurrences.size() == 3);
}

TEST_CASE("a less trusted report does not move the incident and fills its gaps", "[same_failure]") {
  const ScanResult c = scan_text(
      slurm + "State: OUT_OF_MEMORY (exit code 0)\nMemory Utilized: 31.87 GB\nMemory Efficiency: 99.59% of 32.00 GB\n");
  REQUIRE(c.incidents.size() == 1);
  CHECK(c.incidents[0].evidence.span.first_line == 1);
  REQUIRE(c.incidents[0].oom.limit);
  CHECK(c.incidents[0].oom.limit->count == 32 * GiB);
}

TEST_CASE("two victims are two deaths, even with the same words", "[same_failure]") {
  CHECK(scan_text(kernel("100", "4194304") + kernel("101", "4194304")).incidents.size() == 2);
  CHECK(scan_text(kernel("100", "4194304") + kernel("100", "4194304")).incidents.size() == 1);
}

TEST_CASE("the kernel's victims within a second are one death", "[same_failure]") {
  const auto scanned = [](const std::string& between, const std::string& second) {
    return scan_text("[  100.100000] " + kernel("100", "4194304") + between + "[  " + second + "] " +
                     kernel("101", "1048576"));
  };
  const ScanResult sweep = scanned("", "100.900000");
  REQUIRE(sweep.incidents.size() == 1);
  CHECK(sweep.incidents[0].occurrences.size() == 1);
  CHECK(scanned("", "102.200000").incidents.size() == 2);
  CHECK(scanned("", "099.900000").incidents.size() == 2);
  CHECK(scanned("loss is 1.25\nloss is 1.25\nloss is 1.25\n", "100.900000").incidents.size() == 2);
}

TEST_CASE("a call of the OOM killer without its victim is a separate death", "[same_failure]") {
  const std::string call = "java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n";
  CHECK(scan_text("[  100.1] " + call + "[  100.2] " + kernel("100", "4194304")).incidents.size() == 1);
  CHECK(scan_text("[  100.2] " + kernel("100", "4194304") + "[  900.1] " + call).incidents.size() == 2);
  CHECK(scan_text("[  100.1] " + call + "[ 1900.2] " + kernel("100", "4194304")).incidents.size() == 2);
}

TEST_CASE("two reports may be of one kill only if both report a death, of one kind of memory", "[same_failure]") {
  const auto report = [](Agent agent, OomKind kind = OomKind::host, const std::string& message_format = "") {
    Oom oom;
    oom.agent = agent, oom.kind = kind, oom.message_format = message_format;
    return oom;
  };
  const auto same = [](const Oom& old, const Oom& now, std::optional<i64> old_pid = {}, std::optional<i64> pid = {}) {
    Incident incident;
    incident.oom = old, incident.origin.pid = old_pid;
    Origin where;
    where.pid = pid;
    return may_be_same_kill(incident, now, where);
  };
  const Oom by_kernel = report(Agent::kernel), by_shell = report(Agent::signal), by_slurm = report(Agent::slurm);
  CHECK(same(by_kernel, by_shell));
  CHECK(same(by_kernel, by_slurm, 100, 200));  // different processes of one tree
  CHECK_FALSE(same(by_kernel, report(Agent::cuda_allocator)));
  CHECK_FALSE(same(report(Agent::cuda_allocator), by_kernel));
  CHECK_FALSE(same(by_kernel, report(Agent::signal, OomKind::device)));
  CHECK_FALSE(same(by_kernel, by_kernel, 100, 200));
  CHECK_FALSE(same(by_kernel, report(Agent::cgroup), 100, 200));
  CHECK(same(by_kernel, by_kernel, 100, 100));
  CHECK(same(by_kernel, by_kernel, 100));
  CHECK(same(by_shell, by_shell, {}, 100));
  const Oom call = report(Agent::kernel, OomKind::host, "oom-killer-invoked");
  CHECK_FALSE(same(by_kernel, call));
  CHECK_FALSE(same(call, by_kernel));
  CHECK(same(by_shell, call));
}

TEST_CASE("reports without a victim that are far apart are two deaths", "[same_failure]") {
  std::string quiet;
  for (int i = 0; i < 70; ++i) quiet += "loss is 1.25 at the moment\n";
  CHECK(scan_text("Killed\n" + quiet + "Killed\n").incidents.size() == 2);
  CHECK(scan_text("Killed\nKilled\n").incidents.size() == 1);
}

TEST_CASE("a kill after a cancellation is not a memory failure", "[same_failure]") {
  CHECK(
      scan_text("slurmstepd: error: *** JOB 9 ON a CANCELLED AT 2024-05-27T21:42:11 ***\nKilled\n").incidents.empty());
}

TEST_CASE("numbers contradict each other only beyond their rounding", "[same_failure]") {
  Oom a, b;
  a.request = Bytes{512 * MiB, MiB / 200};
  b.request = Bytes{512 * MiB - 1000, 0};
  b.limit = Bytes{8 * GiB, 0};
  CHECK(complement(a, b));
  b.request = Bytes{500 * MiB, 0};
  CHECK_FALSE(complement(a, b));
  b.request.reset();
  fill_gaps(a, b);
  CHECK(a.request->count == 512 * MiB);
  CHECK(a.limit->count == 8 * GiB);
}

TEST_CASE("a report without numbers in unknown words may be about any memory", "[same_failure]") {
  const auto about = [](OomKind kind, bool prose = false, bool numbers = true) {
    Oom oom;
    oom.kind = kind;
    if (prose) oom.traits = {OomTrait::prose};
    if (numbers) oom.request = Bytes{GiB, 0};
    return oom;
  };
  constexpr std::array device{OomKind::device, OomKind::masked, OomKind::pool};
  constexpr std::array host{OomKind::host, OomKind::shared_memory};
  for (const OomKind one : device) {
    for (const OomKind other : device) CHECK(may_be_same_memory(about(one), about(other)));
    for (const OomKind other : host) {
      CHECK_FALSE(may_be_same_memory(about(one), about(other)));
      CHECK_FALSE(may_be_same_memory(about(other), about(one)));
      CHECK_FALSE(may_be_same_memory(about(one), about(other, true)));
      CHECK_FALSE(may_be_same_memory(about(one), about(other, false, false)));
      CHECK(may_be_same_memory(about(one), about(other, true, false)));
      CHECK(may_be_same_memory(about(other, true, false), about(one)));
    }
  }
  for (const OomKind one : host)
    for (const OomKind other : host) CHECK(may_be_same_memory(about(one), about(other)));
}

TEST_CASE("reports of a kill rank by what their reporter saw", "[same_failure]") {
  const auto rank = [](Agent agent, OomKind kind = OomKind::host, bool process = false) {
    Oom oom;
    oom.agent = agent, oom.kind = kind;
    if (process) oom.process = Bytes{GiB, 0};
    return kill_report_rank(oom);
  };
  for (const Agent agent : {Agent::kernel, Agent::cgroup}) {
    CHECK(rank(agent, OomKind::host, true) > rank(agent));
    CHECK(rank(agent) > rank(Agent::slurm));
    CHECK(rank(agent, OomKind::device, true) == 0);
  }
  for (const Agent agent : {Agent::kubernetes, Agent::scheduler, Agent::daemon})
    CHECK(rank(agent) == rank(Agent::slurm));
  CHECK(rank(Agent::slurm) > rank(Agent::worker));
  CHECK(rank(Agent::worker) > rank(Agent::signal));
  CHECK(rank(Agent::signal) > 0);
  CHECK(rank(Agent::library) == 0);
  CHECK(rank(Agent::library, OomKind::shared_memory) == rank(Agent::worker));
  for (const Agent agent : {Agent::cuda_allocator, Agent::tf_bfc, Agent::xla, Agent::driver}) CHECK(rank(agent) == 0);
}

TEST_CASE("which reports come in parts, and which have numbers", "[same_failure]") {
  const auto by = [](Agent agent, const std::string& form = "") {
    Oom oom;
    oom.agent = agent, oom.message_format = form;
    return oom;
  };
  CHECK(of_tensorflow_pool(by(Agent::tf_bfc)));
  CHECK(of_tensorflow_pool(by(Agent::driver, "tf-bfc")));
  CHECK_FALSE(of_tensorflow_pool(by(Agent::xla)));
  for (const Agent agent : {Agent::tf_bfc, Agent::xla, Agent::driver}) CHECK(comes_in_parts(by(agent)));
  CHECK_FALSE(comes_in_parts(by(Agent::cuda_allocator)));
  Oom prose = by(Agent::driver);
  CHECK_FALSE(is_general_form(prose));
  prose.traits = {OomTrait::prose};
  CHECK(is_general_form(prose));
  CHECK_FALSE(has_numbers(Oom{}));
  for (const auto number : {&Oom::request, &Oom::allocated, &Oom::free, &Oom::process, &Oom::limit}) {
    Oom oom;
    oom.*number = Bytes{GiB, 0};
    CHECK(has_numbers(oom));
  }
}

TEST_CASE("equal numbers of two tests are two failures", "[same_failure]") {
  const std::string message = testing::torch_message();
  const std::string a = "FAILED tests/test_pool.py::test_max[cuda] - " + message + "\n";
  const std::string b = "FAILED tests/test_pool.py::test_mean[cuda] - " + message + "\n";
  CHECK(scan_text(a + b).incidents.size() == 2);
  CHECK(scan_text(a + a).incidents.size() == 1);
  CHECK(scan_text("E   " + message + "\n" + a).incidents.size() == 1);
  CHECK(scan_text("E   " + message + "\nE   " + message + "\n" + a + b).incidents.size() == 2);
}

TEST_CASE("of two numbers for the same quantity, the more exact one stays", "[same_failure]") {
  Oom a, b;
  a.request = Bytes{512 * MiB, MiB / 200};
  b.request = Bytes{512 * MiB - 1000, 0};
  fill_gaps(a, b);
  CHECK(a.request == Bytes{512 * MiB - 1000, 0});
  b.request = Bytes{500 * MiB, 0};
  fill_gaps(a, b);
  CHECK(a.request == Bytes{512 * MiB - 1000, 0});
}

TEST_CASE("a bare tensor shape belongs to the pool that refused the request, also on the host", "[same_failure]") {
  const ScanResult c = scan_text(
      "W tensorflow/bfc_allocator.cc:273] Allocator (cuda_host_bfc) ran out of memory trying to allocate 4.00GiB.\n" +
      std::string(2000, '\n') +
      "W tensorflow/op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with shape[512,1024,512,4]\n");
  REQUIRE(c.incidents.size() == 1);
  CHECK(c.incidents[0].oom.kind == OomKind::host);
  CHECK(c.incidents[0].occurrences.size() == 1);
}

}  // namespace oomdoctor
