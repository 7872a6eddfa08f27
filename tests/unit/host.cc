// Host memory: the component that set the limit, the owner of each number, and the words for both.
#include "catch.h"
#include "facts/analysis.h"
#include "report/incident_words.h"

namespace oomdoctor {
namespace {

Incident death(Agent agent, const std::string& form, const std::string& process = "") {
  Incident incident;
  incident.oom.kind = OomKind::host;
  incident.oom.agent = agent;
  incident.oom.message_format = form;
  incident.oom.process_name = process;
  return incident;
}

Incident death(Agent agent, OomTrait trait, const std::string& form = "") {
  Incident incident = death(agent, form);
  incident.oom.traits = {trait};
  return incident;
}

Facts facts_of(const Incident& incident, const ScanResult& scan = {}) {
  Facts facts;
  host_facts(scan, incident, facts);
  return facts;
}

std::string text_of(const Facts& facts, std::string_view name) {
  const Fact* fact = facts.find(name);
  return fact == nullptr ? "" : std::get<std::string>(fact->value);
}

std::string numbers(Oom oom, double process, double limit, double capacity = 0, double free = 0) {
  const auto size = [](double gib) {
    return gib > 0 ? std::optional(Bytes{static_cast<i64>(gib * static_cast<double>(GiB)), 0}) : std::nullopt;
  };
  oom.kind = OomKind::host;
  oom.process = size(process);
  oom.limit = size(limit);
  oom.capacity = size(capacity);
  oom.free = size(free);
  return decisive_numbers(oom, {}).text;
}

}  // namespace

TEST_CASE("the message or the path of the cgroup names the component that set the limit", "[host]") {
  CHECK(text_of(facts_of(death(Agent::scheduler, "lsf")), "host.manager") == "lsf");
  CHECK(text_of(facts_of(death(Agent::scheduler, "moab")), "host.manager") == "torque");
  CHECK(text_of(facts_of(death(Agent::cgroup, "docker-inspect")), "host.manager") == "docker");
  CHECK(text_of(facts_of(death(Agent::cgroup, "oom-killer")), "host.manager").empty());
  ScanResult scan;
  scan.settings["memory_manager"] = {"kubernetes", {}};
  CHECK(text_of(facts_of(death(Agent::cgroup, "oom-killer"), scan), "host.manager") == "kubernetes");
  CHECK(text_of(facts_of(death(Agent::kernel, "oom-killer"), scan), "host.manager").empty());
}

TEST_CASE("a node that ran out of memory did not reach a job limit", "[host]") {
  for (const OomTrait trait : {OomTrait::evicted, OomTrait::whole_node}) {
    const Facts facts = facts_of(death(Agent::scheduler, trait));
    CHECK(facts.is_true("host.kernel_kill"));
    CHECK_FALSE(facts.is_true("host.limit_kill"));
    CHECK(facts.is_true("host.evicted") == (trait == OomTrait::evicted));
  }
  CHECK(facts_of(death(Agent::kubernetes, "oomkilled")).is_true("host.limit_kill"));
  CHECK(facts_of(death(Agent::kernel, OomTrait::some_nodes)).is_true("host.some_nodes"));
}

TEST_CASE("the container engine's status overrides a bare signal only", "[host]") {
  ScanResult scan;
  scan.remark_counts["container/not_killed"] = 1;
  CHECK(facts_of(death(Agent::signal, "sigkill"), scan).is_true("host.denied"));
  CHECK_FALSE(facts_of(death(Agent::kernel, "oom-killer"), scan).is_true("host.denied"));
  CHECK_FALSE(facts_of(death(Agent::signal, "sigkill")).is_true("host.denied"));
}

TEST_CASE("heaps, address spaces and mappings are not host memory", "[host]") {
  const Facts heap = facts_of(death(Agent::cpu_allocator, OomTrait::heap, "java-heap"));
  CHECK(text_of(heap, "host.heap") == "java-heap");
  CHECK_FALSE(heap.is_true("host.allocation_failed"));
  CHECK(facts_of(death(Agent::cpu_allocator, "java-native")).is_true("host.allocation_failed"));
  CHECK(facts_of(death(Agent::scheduler, OomTrait::virtual_limit)).is_true("host.virtual_limit"));
  CHECK(facts_of(death(Agent::cpu_allocator, OomTrait::mapping_refused)).is_true("host.mapping_refused"));
}

TEST_CASE("only the name of a process shows whether it ran Python", "[host]") {
  for (const std::string name : {"python3.11", "pt_main_thread", "ray::train", "train.py"})
    CHECK(facts_of(death(Agent::kernel, "oom-killer", name)).is_true("host.python"));
  const Facts perl = facts_of(death(Agent::kernel, "oom-killer", "perl"));
  REQUIRE(perl.find("host.python") != nullptr);
  CHECK_FALSE(perl.is_true("host.python"));
  CHECK(facts_of(death(Agent::kubernetes, "evicted", "trainer")).find("host.python") == nullptr);
  CHECK(facts_of(death(Agent::slurm, "slurm-limit")).find("host.python") == nullptr);
}

TEST_CASE("each number names its owner", "[host]") {
  Oom victim, job, sampled;
  victim.process_name = "python";
  sampled.traits = {OomTrait::sampled};
  CHECK(numbers(victim, 3, 16) == "3 GiB in python, at the limit of 16 GiB");
  CHECK(numbers(victim, 2, 0, 64, 3) == "61 GiB of 64 GiB in use, 2 GiB in python");
  CHECK(numbers(victim, 2, 0, 64) == "2 GiB in python, on a machine with 64 GiB");
  CHECK(numbers(job, 17, 16) == "17 GiB used of 16 GiB allowed");
  CHECK(numbers(job, 0, 16) == "the limit of 16 GiB was reached");
  CHECK(numbers(job, 9, 0) == "9 GiB in use");
  CHECK(numbers(job, 0, 0).empty());
  CHECK(numbers(sampled, 1, 16) == "the limit of 16 GiB was reached");
  CHECK(numbers(sampled, 1, 0) == "1 GiB in the last sample");
}

TEST_CASE("an exceeded limit has no chart of its parts", "[host]") {
  Incident job = death(Agent::scheduler, "pbs");
  job.oom.limit = Bytes{16 * GiB, 0};
  job.oom.process = Bytes{17 * GiB, 0};
  CHECK_FALSE(build_account(job));
  job.oom.process = Bytes{15 * GiB, 0};
  REQUIRE(build_account(job));
  CHECK(build_account(job)->unexplained.count == GiB);
}

}  // namespace oomdoctor
