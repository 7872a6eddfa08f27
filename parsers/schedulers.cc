// Batch systems and cluster managers that kill jobs for memory: LSF, PBS, Torque, Moab, Grid Engine, HTCondor, YARN,
// Flux, AWS Batch.
//
// Each prints usage and limit on the line itself; LSF and Torque print them in the summary below. All sizes are binary.
// A limit on virtual memory counts address space, most of which is never used, so it has a separate format name. A job
// that exceeded its time limit is not a memory failure.
#include <algorithm>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"
#include "read/table_cells.h"

namespace oomdoctor::parsers::schedulers {
namespace {

Oom scheduler_failure(std::string_view format) { return host_oom(Agent::scheduler, format); }

/// The format of a limit on address space has the suffix "-virtual".
void emit_usage(EventSink& sink, std::string format, bool is_virtual, std::string_view used, std::string_view limit,
                std::string_view advice = "") {
  Oom oom = scheduler_failure(is_virtual ? format + "-virtual" : format);
  if (is_virtual) oom.traits = {OomTrait::virtual_limit};
  if (!used.empty()) oom.process = read_size(used);
  if (!limit.empty()) oom.limit = read_size(limit);
  oom.printed_advice = advice;
  sink.oom(std::move(oom));
}

}  // namespace

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

/// A job that ends at its limit has a line of its own.
void lsf_memory(const Match& m, EventSink& sink) {
  constexpr int summary_lines = 4, report_lines = 12;
  constexpr double nearly_all = 0.95;
  constexpr std::string_view label = "Total Requested Memory :";
  if (find_before(m.cursor, report_lines, "TERM_MEMLIMIT")) return;
  const auto line = find_after(m.cursor, summary_lines, label);
  const auto used = read_size(dense(m[1]));
  if (!line || !used) return;
  const std::string_view text = line->text;
  const std::string requested(trimmed(text.substr(text.find(label) + label.size())));
  const auto limit = read_size(dense(requested));
  if (!limit || used->count > limit->count || to_double(used->count) < nearly_all * to_double(limit->count)) return;
  sink.setting("nearly_requested", std::string(m[1]) + " of the " + requested);
}

void pbs(const Match& m, EventSink& sink) {
  if (m[1] == "walltime" || m[1] == "cput") return sink.remark("run/time_limit");
  if (m[1].find("mem") == std::string_view::npos) return;
  const std::string used = dense(m[2]), limit = dense(m[3]);
  // Torque prints bytes without a unit. If only one of the numbers has a unit, the console truncated the line.
  const bool whole = used.ends_with('b') == limit.ends_with('b');
  const bool is_virtual = m[1].find("vmem") != std::string_view::npos;
  emit_usage(sink, "pbs", is_virtual, whole ? used : "", whole ? limit : "");
}

/// Torque's mail contains the usage of each resource, but not which resource exceeded its limit. New versions also
/// print the requested memory: the usage above it is the reason.
void torque(const Match& m, EventSink& sink) {
  std::optional<Bytes> resident, mapped, requested;
  m.cursor.forward(30, [&](const Line& line) {
    if (const auto used = size_after(line.text, "resources_used.mem=")) resident = used;
    if (const auto used = size_after(line.text, "resources_used.vmem=")) mapped = used;
    if (const auto size = size_after(line.text, "req_information.total_memory.0=")) requested = size;
    return true;
  });
  const auto exceeds = [&](const std::optional<Bytes>& used) {
    return used && requested && used->count > requested->count;
  };
  const bool is_virtual = exceeds(mapped) && !exceeds(resident);
  Oom oom = scheduler_failure(is_virtual ? "torque-virtual" : "torque");
  if (is_virtual) oom.traits = {OomTrait::virtual_limit};
  oom.process = is_virtual ? mapped : resident;
  if (exceeds(oom.process)) oom.limit = requested;
  sink.oom(std::move(oom));
}

/// h_vmem and s_vmem limit address space.
void grid_engine(const Match& m, EventSink& sink) {
  emit_usage(sink, "grid-engine", m[1].ends_with("vmem"), m[2], m[3]);
}

/// Spark prints the name of its setting, which was another before 2.3.
void yarn(const Match& m, EventSink& sink) {
  static constexpr std::string_view old_name = "spark.yarn.executor.memoryOverhead";
  const bool old = is_near(m.cursor, 0, 2, {old_name});
  emit_usage(sink, "yarn", m[3] == "virtual", m[1], m[2], old ? old_name : "");
}

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

/// An update of the usage of a job, up to two lines after its event: "006 (9041.002.000) 11/07 23:48:16 Image size …".
/// HTCondor keeps the largest size that it saw.
void condor_usage(const Match& m, EventSink& sink) {
  constexpr int event_lines = 3;
  std::string name;
  std::optional<double> time;
  m.cursor.backward(event_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    const std::string_view job = between(text, "006 (", ")");
    if (job.empty() || text.find(" Image size of job") == text.npos) return true;
    const std::size_t point = job.find('.'), at = text.find(") ") + 2;
    name = "job " + std::to_string(leading_integer(job)) + "." +
           std::to_string(point == job.npos ? 0 : leading_integer(job.substr(point + 1)));
    time = read_cell_time(text.substr(at, text.find(" Image size") - at));
    return false;
  });
  if (name.empty()) return;
  Reading r;
  r.metric = Metric::host_rss;
  r.kind = SeriesKind::running_maximum;
  r.value = static_cast<double>(leading_integer(m[1])) * static_cast<double>(KiB);
  r.quantum = static_cast<double>(KiB);
  r.unit = "KB";
  r.label = name;
  sink.reading(r, {}, time);
}

/// The job's log prints its memory in an event before: "8128  -  MemoryUsage of job (MB)". A hold has many reasons.
void condor_held(const Match& m, EventSink& sink) {
  constexpr int event_lines = 8;
  std::string reason;
  m.cursor.forward(1, [&](const Line& line) {
    for (const char c : trimmed(line.text)) reason.push_back(lower(c));
    return false;
  });
  const auto says = [&](std::string_view word) { return reason.find(word) != reason.npos; };
  if (says("has gone over") || says("as measured by")) return;  // forms of their own
  const bool over = says("exceed") || says("over ") || says("too much") || says("more than");
  if (!says("memory") || !over || says("less than")) return;
  Oom oom = scheduler_failure("htcondor");
  oom.traits = {OomTrait::sampled};
  static constexpr std::string_view label = "MemoryUsage of job (MB)";
  if (const auto line = find_before(m.cursor, event_lines, label))
    oom.process = Bytes{leading_integer(trimmed(line->text)) * MiB, 0};
  sink.oom(std::move(oom));
}

/// "Process running mem=513M(100.4%)" is the line before. At the start of a log it may be missing.
void heroku_swaps(const Match& m, EventSink& sink) {
  static constexpr std::string_view label = "running mem=";
  if (const auto line = find_before(m.cursor, 3, label)) {
    const std::string_view text = std::string_view(line->text).substr(line->text.find(label) + label.size());
    sink.setting("over_quota", text.substr(0, text.find('(')));
  } else {
    sink.remark("failure/unclear");
  }
}

/// "Process running mem=1214M(237.2%)" is the line before.
void heroku(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("heroku");
  static constexpr std::string_view label = "running mem=";
  if (const auto line = find_before(m.cursor, 3, label)) oom.process = size_after(line->text, label);
  sink.oom(std::move(oom));
}

/// The peak of the whole shell follows below the line.
void flux(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("flux");
  if (const auto line = find_after(m.cursor, 4, "memory.peak = "))
    oom.process = size_after(dense(line->text), "memory.peak=");
  sink.oom(std::move(oom));
}

/// The mail contains the job's peak some lines above.
void emit_grid_engine_epilog(const Match& m, EventSink& sink) {
  Oom oom = scheduler_failure("grid-engine-virtual");
  oom.traits = {OomTrait::virtual_limit};
  static constexpr std::string_view label = "Max vmem";
  if (const auto line = find_before(m.cursor, 12, label)) {
    const std::string_view value = trimmed(std::string_view(line->text).substr(line->text.find('=') + 1));
    oom.process = read_size(value);
  }
  sink.oom(std::move(oom));
}

/// The description of a job has its limit in MiB: { "value": "30720", "type": "MEMORY" }, on one line or on several.
void aws_batch(const Match& m, EventSink& sink) {
  static constexpr std::string_view label = "\"value\": \"", kind = "\"MEMORY\"";
  constexpr int most_lines = 200;
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = scheduler_failure("aws-batch");
  i64 before = 0;  // the value on the line above
  bool named = false;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    const std::size_t of_memory = text.find(kind), at = text.substr(0, of_memory).rfind(label);
    const i64 value = at == text.npos ? 0 : leading_integer(text.substr(at + label.size()));
    const i64 mebibytes = of_memory != text.npos ? std::max(value, before) : named ? value : 0;
    if (mebibytes > 0 && mebibytes < i64{1} << 30) oom.limit = Bytes{mebibytes * MiB, 0};
    named = of_memory != text.npos;
    before = value;
    return !oom.limit;
  });
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::schedulers
