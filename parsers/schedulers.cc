// Batch systems and cluster managers that kill for memory: LSF, PBS, Grid Engine, HTCondor, YARN, Ray, Dask, AWS Batch.
//
// Each prints what was used and what was allowed on the line itself, LSF in the summary below it. Sizes are binary in
// all of them. A job that ran out of time is no failure of memory.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom base(std::string_view format) {
  Oom oom;
  oom.kind = OomKind::host;
  oom.agent = Agent::scheduler;
  oom.message_format = std::string(format);
  return oom;
}

void used_and_limit(Sink& sink, std::string_view format, std::string_view used, std::string_view limit) {
  Oom oom = base(format);
  if (!used.empty()) oom.process = read_size(used);
  if (!limit.empty()) oom.limit = read_size(limit);
  sink.oom(std::move(oom));
}

std::string dense(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t') out.push_back(c);
  return out;
}

void lsf(const Match& m, Sink& sink) {
  Oom oom = base("lsf");
  m.cursor.forward(30, [&](const Line& line) {
    const std::string text = dense(line.text);
    if (text.starts_with("MaxMemory:")) oom.process = size_after(text, "MaxMemory:");
    if (text.starts_with("TotalRequestedMemory:")) oom.limit = size_after(text, "TotalRequestedMemory:");
    return !text.starts_with("MaxSwap");
  });
  sink.oom(std::move(oom));
}

void pbs(const Match& m, Sink& sink) {
  if (m[1] == "walltime" || m[1] == "cput") return sink.remark("run/time_limit");
  const bool whole = m[2].ends_with('b') && m[3].ends_with('b');  // a number cut off by the console has no unit
  if (m[1].find("mem") != std::string_view::npos) used_and_limit(sink, "pbs", whole ? m[2] : "", whole ? m[3] : "");
}

void grid_engine(const Match& m, Sink& sink) { used_and_limit(sink, "grid-engine", m[1], m[2]); }

void condor(const Match& m, Sink& sink) {
  Oom oom = base("htcondor");
  oom.limit = read_bytes(m[1], "MiB");
  if (m.has(2)) oom.process = read_bytes(m[2], "MiB");
  sink.oom(std::move(oom));
}

void yarn(const Match& m, Sink& sink) { used_and_limit(sink, "yarn", m[1], m[2]); }

/// "memory used=9.01GB … was running was 28.50GB / 30.00GB": of the task that was killed, and of its node.
void ray(const Match& m, Sink& sink) {
  Oom oom = base("ray");
  const std::string_view text = m.after().substr(0, 1200);
  oom.process = size_after(text, "memoryused=");
  if (const std::size_t slash = text.find("GB/"); slash != text.npos) oom.capacity = read_size(text.substr(slash + 3));
  sink.oom(std::move(oom));
}

/// The store has its own bound: no limit of the host, and nothing was killed.
void object_store(const Match& m, Sink& sink) {
  Oom oom = base("ray-object-store");
  oom.kind = OomKind::shared_memory;
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
}

void dask(const Match& m, Sink& sink) {
  Where where;
  if (m.has(1)) where.pid = leading_integer(m[1]);
  sink.at(where);
  sink.oom(base("dask"));
}

void without_numbers(const Match& m, Sink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(base("scheduler"));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void tell_ray_monitor(const Match& m, Sink& sink) {
  Oom oom = base("ray");
  oom.capacity = read_size(dense(m[1]));
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked({.name = "schedulers/lsf",
             .anchor = "TERM_MEMLIMIT",
             .regex = R"(^ {0,8}TERM_MEMLIMIT: job killed after reaching LSF memory usage limit)",
             .example = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
             .emit = lsf,
             .source = "IBM Spectrum LSF: its job report"}),
    checked({.name = "schedulers/pbs",
             .anchor = "PBS: job killed",
             .regex = R"(PBS: job killed: (\w{3,10}) (\d{1,15}(?:[kmg]?b)?) exceeded limit (\d{1,15}(?:[kmg]?b)?))",
             .captures = 3,
             .example = "=>> PBS: job killed: mem 8402048kb exceeded limit 8388608kb",
             .emit = pbs,
             .source = "OpenPBS: src/resmom"}),
    checked(
        {.name = "schedulers/grid_engine",
         .anchor = "exceeds job hard limit",
         .regex =
             R"~(exceeds job hard limit "(?:h_vmem|h_rss|s_vmem)" of queue "[^"\r\n]{1,80}" \((\d{1,15})(?:\.\d{1,6})? > limit:(\d{1,15})(?:\.\d{1,6})?\))~",
         .captures = 2,
         .example = "job 4711.1 exceeds job hard limit \"h_vmem\" of queue \"all.q@node7\" (4298932224.00000 > "
                    "limit:4294967296.00000) - "
                    "sending SIGKILL",
         .emit = grid_engine,
         .source = "Grid Engine: its execution daemon"}),
    checked(
        {.name = "schedulers/condor",
         .anchor = "gone over",
         .second_anchor = "megabytes",
         .regex =
             R"(Jobhasgoneover(?:cgroup)?memorylimitof(\d{1,9})megabytes\.(?:(?:Peakusage|Lastmeasuredusage):(\d{1,9})megabytes)?)",
         .captures = 2,
         .reach = Reach::message,
         .example = "Job has gone over memory limit of 4096 megabytes. Peak usage: 4500 megabytes.",
         .emit = condor,
         .source = "HTCondor: its job log"}),
    checked(
        {.name = "schedulers/yarn_container",
         .anchor = "killed by YARN",
         .second_anchor = "physical memory used",
         .regex =
             R"(ContainerkilledbyYARNforexceeding(?:physical)?memorylimits\.([\d.]{1,10}[KMGT]?B)of([\d.]{1,10}[KMGT]?B)(?:physical|virtual)memoryused)",
         .captures = 2,
         .reach = Reach::message,
         .example = "Container killed by YARN for exceeding memory limits. 6.1 GB of 6 GB physical memory used.",
         .emit = yarn,
         .source = "spark: org/apache/spark/deploy/yarn/YarnAllocator.scala"}),
    checked(
        {.name = "schedulers/yarn_node",
         .anchor = "memory limit",
         .second_anchor = "Current usage",
         .regex =
             R"(isrunning(?:beyond(?:the)?'?(?:physical|PHYSICAL)'?memorylimits?|[\d]{1,15}Bbeyondthe'PHYSICAL'memorylimit)\.Currentusage:)"
             R"(([\d.]{1,10}[KMGT]?B)of([\d.]{1,10}[KMGT]?B)physicalmemoryused)",
         .captures = 2,
         .reach = Reach::message,
         .example = "Container [pid=28914,containerID=container_17_01_000002] is running beyond physical memory "
                    "limits. Current usage: "
                    "6.1 GB of 6 GB physical memory used; 8.0 GB of 12.6 GB virtual memory used. Killing container.",
         .emit = yarn,
         .source = "hadoop: ContainersMonitorImpl.java"}),
    checked({.name = "schedulers/ray",
             .anchor = "running low on memory",
             .second_anchor = "killed due to the",
             .regex = R"(Taskwaskilledduetothenoderunninglowonmemory)",
             .reach = Reach::message,
             .example = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
             .emit = ray,
             .source = "ray: python/ray/exceptions.py"}),
    checked(
        {.name = "schedulers/ray_monitor",
         .anchor = "RayOutOfMemoryError",
         .regex =
             R"(RayOutOfMemoryError: More than \d{1,3}% of the memory on node \S{1,80} is used \([\d.]{1,10} / ([\d.]{1,10} GB)\))",
         .captures = 1,
         .example = "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node node7 is used (61.02 "
                    "/ 64.0 GB).",
         .emit = tell_ray_monitor,
         .source = "ray: python/ray/_private/memory_monitor.py"}),
    checked(
        {.name = "schedulers/notebook",
         .anchor = "available",
         .regex =
             R"(Your (?:notebook tried to allocate more memory than is available\. It has restarted|session crashed after using all available RAM))",
         .example = "Your notebook tried to allocate more memory than is available. It has restarted.",
         .emit = without_numbers,
         .source = "Kaggle notebooks: real logs"}),
    checked({.name = "schedulers/ray_node",
             .anchor = "memory pressure (OOM)",
             .regex = R"([1-9]\d{0,5} Workers \(tasks / actors\) killed due to memory pressure \(OOM\))",
             .example = "2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to "
                        "other reasons at node",
             .emit = without_numbers,
             .source = "ray: src/ray/raylet/node_manager.cc"}),
    checked({.name = "schedulers/dask",
             .anchor = "memory budget",
             .regex = R"(Worker [^\r\n(]{0,80}(?:\(pid=(\d{1,10})\) )?exceeded \d{1,3}% memory budget)",
             .captures = 1,
             .example = "distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:41157 (pid=2231) exceeded 95% "
                        "memory budget. Restarting...",
             .emit = dask,
             .source = "distributed: distributed/worker_memory.py"}),
    checked(
        {.name = "schedulers/ray_object_store",
         .anchor = "because it is full",
         .regex =
             R"(Failed to put object \w{1,80} in object store because it is full\. Object size is (\d{1,18}) bytes)",
         .captures = 1,
         .example = "ray.exceptions.ObjectStoreFullError: Failed to put object 00ab in object store because it is "
                    "full. Object size is 1073741824 bytes.",
         .emit = object_store,
         .source = "ray: python/ray/exceptions.py"}),
    checked({.name = "schedulers/aws_batch",
             .anchor = "due to memory usage",
             .regex = R"(OutOfMemoryError: Container killed due to memory usage)",
             .example = "OutOfMemoryError: Container killed due to memory usage",
             .emit = without_numbers,
             .source = "AWS Batch and ECS: the reason of a stopped task"}),
};

}  // namespace

extern const Parser schedulers;
const Parser schedulers{
    .name = "schedulers", .title = "Batch systems and cluster managers", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
