// Batch systems and cluster managers that kill jobs for memory: LSF, PBS, Torque, Moab, Grid Engine, HTCondor, YARN,
// Flux, AWS Batch.
//
// Each prints usage and limit on the line itself; LSF and Torque print them in the summary below. All sizes are binary.
// A limit on virtual memory counts address space, most of which is never used, so it has a separate format name. A job
// that exceeded its time limit is not a memory failure.
#include <algorithm>

#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom scheduler_failure(std::string_view format) { return host_oom(Agent::scheduler, format); }

void emit_usage(EventSink& sink, std::string_view format, std::string_view used, std::string_view limit) {
  Oom oom = scheduler_failure(format);
  if (!used.empty()) oom.process = read_size(used);
  if (!limit.empty()) oom.limit = read_size(limit);
  sink.oom(std::move(oom));
}

void lsf(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("lsf");
  m.cursor.forward(30, [&](const Line& line) {
    const std::string text = dense(line.text);
    if (text.starts_with("MaxMemory:")) oom.process = size_after(text, "MaxMemory:");
    if (text.starts_with("TotalRequestedMemory:")) oom.limit = size_after(text, "TotalRequestedMemory:");
    return !text.starts_with("MaxSwap");
  });
  sink.oom(std::move(oom));
}

void pbs(const Match& m, EventSink& sink) {
  if (m[1] == "walltime" || m[1] == "cput") return sink.remark("run/time_limit");
  if (m[1].find("mem") == std::string_view::npos) return;
  const std::string used = dense(m[2]), limit = dense(m[3]);
  // Torque prints bytes without a unit. If only one of the numbers has a unit, the console truncated the line.
  const bool whole = used.ends_with('b') == limit.ends_with('b');
  emit_usage(sink, m[1].find("vmem") == std::string_view::npos ? "pbs" : "pbs-virtual", whole ? used : "",
             whole ? limit : "");
}

/// Torque's mail contains the usage of each resource, but not which resource exceeded its limit.
void torque(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("torque");
  m.cursor.forward(30, [&](const Line& line) {
    if (const auto used = size_after(line.text, "resources_used.mem=")) oom.process = used;
    return true;
  });
  sink.oom(std::move(oom));
}

void moab(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("moab");
  oom.process = read_bytes(m[1], "MiB");
  oom.limit = read_bytes(m[2], "MiB");
  sink.oom(std::move(oom));
}

/// h_vmem and s_vmem limit address space.
void grid_engine(const Match& m, EventSink& sink) {
  emit_usage(sink, m[1].ends_with("vmem") ? "grid-engine-virtual" : "grid-engine", m[2], m[3]);
}

/// The last measured usage is older than the moment when the job reached the limit. So only a peak is read as usage.
void condor(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("htcondor");
  oom.limit = read_bytes(m[1], "MiB");
  if (m.has(2)) oom.process = read_bytes(m[2], "MiB");
  sink.oom(std::move(oom));
}

void condor_docker(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("htcondor");
  oom.limit = read_bytes(m[1], "MiB");
  sink.oom(std::move(oom));
}

void yarn(const Match& m, EventSink& sink) {
  emit_usage(sink, m[3] == "virtual" ? "yarn-virtual" : "yarn", m[1], m[2]);
}

void yarn_node(const Match& m, EventSink& sink) { emit_usage(sink, "yarn", m[1], m[2]); }
void yarn_virtual(const Match& m, EventSink& sink) { emit_usage(sink, "yarn-virtual", m[1], m[2]); }

/// The node's monitor prints this every three seconds for each container. The first process's id distinguishes the
/// containers.
void yarn_monitor(const Match& m, EventSink& sink) {
  const auto used = read_size(dense(m[2]));
  if (!used) return;
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  Reading r;
  r.metric = Metric::host_rss;
  r.kind = SeriesKind::sampled_gauge;
  r.value = static_cast<double>(used->count);
  r.quantum = static_cast<double>(std::max<i64>(1, 2 * used->slack));
  r.unit = "GB";
  r.label = "container";
  sink.reading(r);
}

/// The peak of the whole shell follows below the line.
void flux(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("flux");
  if (const auto line = find_after(m.cursor, 4, "memory.peak = "))
    oom.process = size_after(dense(line->text), "memory.peak=");
  sink.oom(std::move(oom));
}

void without_numbers(const Match& m, EventSink& sink, std::string_view format) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(scheduler_failure(format));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_notebook(const Match& m, EventSink& sink) { without_numbers(m, sink, "notebook"); }
void emit_aws_batch(const Match& m, EventSink& sink) { without_numbers(m, sink, "aws-batch"); }

/// The mail contains the job's peak some lines above.
void emit_grid_engine_epilog(const Match& m, EventSink& sink) {
  Oom oom = host_oom(Agent::scheduler, "grid-engine-virtual");
  static constexpr std::string_view label = "Max vmem";
  if (const auto line = find_before(m.cursor, 12, label)) {
    const std::string_view value = trimmed(std::string_view(line->text).substr(line->text.find('=') + 1));
    oom.process = read_size(value);
  }
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked({.name = "schedulers/lsf",
             .anchor = "TERM_MEMLIMIT",
             .regex = R"(^ {0,8}TERM_MEMLIMIT: job killed after reaching LSF memory usage limit)",
             .example = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
             .emit = lsf,
             .source = "IBM Spectrum LSF: its job report"}),
    checked(
        {.name = "schedulers/pbs",
         .anchor = "PBS: job killed",
         .regex =
             R"(PBS: job killed: (\w{3,10}) (?:job total )?(\d{1,15}(?: ?[kmg]?b)?) exceeded limit (\d{1,15}(?: ?[kmg]?b)?))",
         .captures = 3,
         .example = "=>> PBS: job killed: mem 8402048kb exceeded limit 8388608kb",
         .emit = pbs,
         .source = "OpenPBS: src/resmom"}),
    checked({.name = "schedulers/grid_engine_epilog",
             .anchor = "enforced h_vmem",
             .regex = R"(execd enforced h_(?:vmem|rss) limit)",
             .example = "failed execd enforced h_vmem limit because:",
             .emit = emit_grid_engine_epilog,
             .source = "Grid Engine: its mail about a job"}),
    checked({.name = "schedulers/torque",
             .anchor = "memory resource limit",
             .regex = R"(^ {0,8}Job exceeded a memory resource limit \(vmem, pvmem, etc\.\))",
             .example = "Job exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted",
             .emit = torque,
             .source = "Torque: its mail about a job"}),
    checked({.name = "schedulers/moab",
             .anchor = "usage hard limit",
             .regex = R"(job \S{1,40} exceeded MEM usage hard limit \((\d{1,9}) > (\d{1,9})\))",
             .captures = 2,
             .example = "job 4711 exceeded MEM usage hard limit (4512 > 4096)",
             .emit = moab,
             .source = "Moab: its mail about a job"}),
    checked(
        {.name = "schedulers/grid_engine",
         .anchor = "exceeds job hard limit",
         .regex =
             R"~(exceeds job hard limit "(h_vmem|h_rss|s_vmem|s_rss)" of queue "[^"\r\n]{1,80}" \((\d{1,15})(?:\.\d{1,6})? > limit:(\d{1,15})(?:\.\d{1,6})?\))~",
         .captures = 3,
         .example = "job 4711.1 exceeds job hard limit \"h_vmem\" of queue \"all.q@node7\" (4298932224.00000 > "
                    "limit:4294967296.00000) - "
                    "sending SIGKILL",
         .emit = grid_engine,
         .source = "Grid Engine: its execution daemon"}),
    checked({.name = "schedulers/condor",
             .anchor = "gone over",
             .second_anchor = "megabytes",
             .regex = R"(Jobhasgoneover(?:cgroup)?memorylimitof(\d{1,9})megabytes\.(?:Peakusage:(\d{1,9})megabytes)?)",
             .captures = 2,
             .reach = Reach::message,
             .example = "Job has gone over memory limit of 4096 megabytes. Peak usage: 4500 megabytes.",
             .emit = condor,
             .source = "HTCondor: its job log"}),
    checked({.name = "schedulers/condor_docker",
             .anchor = "Docker job has gone",
             .regex = R"(Docker job has gone over memory limit of (\d{1,9}) Mb)",
             .captures = 1,
             .example = "Error from slot1@node7: Docker job has gone over memory limit of 4096 Mb",
             .emit = condor_docker,
             .source = "HTCondor: src/condor_starter.V6.1/docker_proc.cpp"}),
    checked(
        {.name = "schedulers/yarn_container",
         .anchor = "killed by YARN",
         .second_anchor = "physical memory used",
         .regex =
             R"(ContainerkilledbyYARNforexceeding(?:physical)?memorylimits\.([\d.]{1,10}[KMGT]?B)of([\d.]{1,10}[KMGT]?B)(physical|virtual)memoryused)",
         .captures = 3,
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
         .emit = yarn_node,
         .source = "hadoop: ContainersMonitorImpl.java"}),
    checked(
        {.name = "schedulers/yarn_virtual",
         .anchor = "virtual memory used",
         .regex =
             R"(isrunning(?:beyondvirtualmemorylimits|\d{1,15}Bbeyondthe'VIRTUAL'memorylimit)\.Currentusage:[\d.]{1,10}[KMGT]?Bof)"
             R"([\d.]{1,10}[KMGT]?Bphysicalmemoryused;([\d.]{1,10}[KMGT]?B)of([\d.]{1,10}[KMGT]?B)virtualmemoryused)",
         .captures = 2,
         .reach = Reach::message,
         .example = "Container [pid=28914,containerID=container_17_01_000002] is running 524288000B beyond the "
                    "'VIRTUAL' memory limit. Current usage: 310.2 MB of 1 GB physical memory used; 2.6 GB of 2.1 GB "
                    "virtual memory used. Killing container.",
         .emit = yarn_virtual,
         .source = "hadoop: ContainersMonitorImpl.java"}),
    checked({.name = "schedulers/yarn_monitor",
             .anchor = "Memory usage of ProcessTree",
             .regex = R"(Memory usage of ProcessTree (\d{1,10}) for container-id \w{1,80}: ([\d.]{1,10} [KMGT]?B) of )"
                      R"([\d.]{1,10} [KMGT]?B physical memory used)",
             .captures = 2,
             .example =
                 "INFO ContainersMonitorImpl: Memory usage of ProcessTree 28914 for container-id "
                 "container_17_01_000002: 5.8 GB of 8 GB physical memory used; 8.9 GB of 16.8 GB virtual memory used",
             .emit = yarn_monitor,
             .source = "hadoop: ContainersMonitorImpl.java"}),
    checked({.name = "schedulers/flux",
             .anchor = "oom: Memory cgroup",
             .regex = R"(flux-shell\[\d{1,6}\]:ERROR:oom:Memorycgroupoutofmemory:killed\d{1,6}tasks?on)",
             .reach = Reach::message,
             .example = "29.475s: flux-shell[0]: ERROR: oom: Memory cgroup out of memory: killed 1 task on node7.",
             .emit = flux,
             .source = "flux-core: src/shell/oom.c"}),
    checked(
        {.name = "schedulers/notebook",
         .anchor = "available",
         .regex =
             R"(Your (?:notebook tried to allocate more memory than is available\. It has restarted|session crashed after using all available RAM))",
         .example = "Your notebook tried to allocate more memory than is available. It has restarted.",
         .emit = emit_notebook,
         .source = "Kaggle notebooks: real logs"}),
    checked({.name = "schedulers/aws_batch",
             .anchor = "due to memory usage",
             .regex = R"(OutOfMemoryError: Container killed due to memory usage)",
             .example = "OutOfMemoryError: Container killed due to memory usage",
             .emit = emit_aws_batch,
             .source = "AWS Batch and ECS: the reason of a stopped task"}),
};

}  // namespace

extern const Parser schedulers;
const Parser schedulers{
    .name = "schedulers", .title = "Batch systems and cluster managers", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
