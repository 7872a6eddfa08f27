// Slurm's messages about memory: slurmstepd and srun in the job's output, rows of sacct, and the reports that job
// scripts print at the end (seff, jobinfo).
//
// slurmstepd counts the OOM kills in the step's cgroup ("oom-kill event(s)", since 20.11 "oom_kill event"). Before
// 17.11 it polled the job and compared its usage with the limit in KiB. A cancelled job, also one that exceeded its
// time limit, is not a memory failure.
#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"
#include "read/table_cells.h"

namespace oomdoctor::parsers::slurm {
namespace {

Oom slurm_failure(std::string_view format) { return host_oom(Agent::slurm, format); }

/// The cell of a sacct row in the column `name`. Columns end with the dashes below the header, or bars or commas
/// separate them. Empty if the column is missing.
std::string_view find_cell(const Line& header, std::string_view rules, std::string_view row, std::string_view name) {
  const std::size_t at = header.text.find(name);
  if (at == header.text.npos) return {};
  if (header.text.find(',') != header.text.npos) {  // a cell may be a list in quotes: "cpu=4,mem=32G"
    std::vector<std::string_view> names, cells;
    split_table_line(header.text, ',', names), split_table_line(row, ',', cells);
    const auto column = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    return column < std::min(names.size(), cells.size()) ? trimmed_cell(cells[column]) : std::string_view();
  }
  const std::string_view before = header.text.substr(0, at);
  if (const auto bars = std::count(before.begin(), before.end(), '|'); header.text.find('|') != header.text.npos) {
    for (auto i = bars; i > 0; --i) {
      const std::size_t bar = row.find('|');
      if (bar == row.npos) return {};
      row.remove_prefix(bar + 1);
    }
    return row.substr(0, row.find('|'));
  }
  const std::size_t last = at + name.size() - 1;  // a name ends where its column does, or before it
  if (last >= rules.size() || last >= row.size() || rules[last] != '-') return {};
  const std::size_t blank = rules.rfind(' ', last);
  const std::size_t begin = blank == rules.npos ? 0 : blank + 1;
  return trimmed(row.substr(begin, rules.find(' ', last) - begin));
}

/// What Slurm prints when it ends a step of which a task has failed.
constexpr std::array<std::string_view, 4> answers_to_failed_task{"Terminating job step", "Terminating Job",
                                                                 "Terminating StepId", "DUE TO TASK FAILURE"};

/// The job of a step: "41802.0", "41802.batch" → "41802".
std::string_view job_of(std::string_view step) { return step.substr(0, step.find('.')); }

}  // namespace

/// The largest of a job's steps used the memory; the batch step often only starts another. Other programs also print an
/// unabbreviated state. The line is a row only if an exit code follows or a sacct header
/// is above.
void row(const Match& m, EventSink& sink) {
  constexpr int max_rows = 60;
  const auto header = find_before(m.cursor, max_rows, "JobID");
  const bool cut = m[1].ends_with('+');
  if (!cut && !m.has(2) && !header) return;
  Oom oom = slurm_failure("slurm-state");
  oom.traits = {OomTrait::sampled};
  if (header) {
    const auto rules = find_before(m.cursor, max_rows, "---");
    const std::string_view below = rules ? rules->text : std::string_view{};
    const std::string_view job = job_of(find_cell(*header, below, m.text, "JobID"));
    const auto read_step = [&](const Line& line) {
      if (job_of(find_cell(*header, below, line.text, "JobID")) != job) return false;
      const auto used = read_size(find_cell(*header, below, line.text, "MaxRSS"));
      if (used && (!oom.process || used->count > oom.process->count)) oom.process = used;
      return true;
    };
    read_step(m.cursor.line());
    m.cursor.backward(max_rows, read_step);
    m.cursor.forward(max_rows, read_step);
    const std::string_view asked = find_cell(*header, below, m.text, "ReqMem");
    if (!asked.empty() && !asked.ends_with('c')) oom.limit = read_size(asked);  // "4Gc" is per core
  }
  sink.oom(std::move(oom));
}

void job(const Match& m, EventSink& sink) { sink.setting("slurm_job", m[1]); }

/// "(8485688 > 8388608)": KiB, since 18.08 bytes. A limit is a whole number of MiB, so numbers from 2^30 on are bytes:
/// as KiB they would be 1 TiB or more.
void over_limit(const Match& m, EventSink& sink) {
  Oom oom = slurm_failure(m.has(1) ? "slurm-virtual" : "slurm-limit");
  if (m.has(1)) oom.traits = {OomTrait::virtual_limit};
  const i64 used = leading_integer(m[2]), limit = leading_integer(m[3]);
  const i64 unit = limit >= GiB ? 1 : KiB;
  oom.process = Bytes{used * unit, 0};
  oom.limit = Bytes{limit * unit, 0};
  sink.oom(std::move(oom));
}

/// Slurm prints "at some point" also for jobs that ended normally, because page cache counts. It is a failure only if
/// something nearby died.
void exceeded(const Match& m, EventSink& sink) {
  const bool some_point = m.after().find("at some point") != std::string_view::npos;
  if (some_point &&
      !is_near(m.cursor, 40, 40, {"Killed", "killed", "oom", "OUT_OF_ME", "SIGKILL", "exit code 137", "MemoryError"}))
    return sink.remark("limit/touched");
  sink.oom(slurm_failure("slurm-limit"));
}

/// srun prints this for a task that got SIGKILL. It is not evidence of a memory failure if a cancellation killed the
/// task. If Slurm ended the step because a task had failed, the kill is the reason of the cancellation below it.
void task_killed(const Match& m, EventSink& sink) {
  sink.exit({std::nullopt, 9});
  constexpr int back = 20, ahead = 10;  // lines
  static constexpr std::array<std::string_view, 4> ends{"CANCELLED AT", "TIME LIMIT", "forcing job termination",
                                                        "Force Terminated"};
  if (is_near(m.cursor, back, 0, ends) || is_near(m.cursor, 0, ahead, {"TIME LIMIT"})) return;
  if (is_near(m.cursor, 0, ahead, ends) && !is_near(m.cursor, 0, ahead, answers_to_failed_task)) return;
  Oom oom = slurm_failure("sigkill");
  oom.traits = {OomTrait::sigkill};
  oom.agent = Agent::signal;
  sink.oom(std::move(oom));
}

/// Reads the numbers of the report around the state line. Each is on a separate line. Those of a job on several nodes
/// are sums over its nodes, but Slurm limits the memory of each node.
void report(const Match& m, EventSink& sink) {
  Oom oom = slurm_failure("slurm-state");
  oom.traits = {OomTrait::sampled};
  i64 nodes = 1;
  const auto read = [&](const Line& line) {
    const std::string_view text = line.text;
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return true;
    const std::string_view name = trimmed(text.substr(0, colon));
    const std::string_view value = trimmed(text.substr(colon + 1));
    std::string dense;
    for (const char c : value)
      if (c != ' ') dense.push_back(c);
    if (name == "Total memory reserved") oom.limit = read_size(dense);
    if (name == "Maximum memory used" || name == "Memory Utilized") oom.process = read_size(dense);
    if (name == "Memory Efficiency") oom.limit = size_after(dense, "%of");
    if (name == "Nodes") nodes = leading_integer(value);
    return true;
  };
  m.cursor.forward(25, read);
  m.cursor.backward(12, read);
  if (nodes > 1 && oom.limit) {
    sink.setting("job_nodes", std::to_string(nodes));
    if (oom.process) sink.setting("memory_of_nodes", std::to_string(oom.process->count) + " B");
    oom.limit = Bytes{oom.limit->count / nodes, oom.limit->slack};
    oom.process.reset();
  }
  sink.oom(std::move(oom));
}

void cancelled(const Match& m, EventSink& sink) {
  if (m[1].find("TIME LIMIT") != std::string_view::npos) return sink.remark("run/time_limit");
  if (is_near(m.cursor, 6, 0, {"memory limit", "oom-kill", "oom_kill"}))
    return;  // the cancellation is Slurm's reaction to the memory failure
  if (is_near(m.cursor, 6, 0, answers_to_failed_task)) return;
  if (m[1].find("NODE FAILURE") != std::string_view::npos) return sink.remark("end/agent_lost");
  sink.remark(m[1].find("PREEMPT") != std::string_view::npos ? "run/preempted" : "run/cancelled");
}

/// may_match: the state must be a separate word. CUDA_ERROR_OUT_OF_MEMORY is not one.
bool is_state(std::string_view block, std::size_t at) {
  return at == 0 || std::string_view(" |:=,").find(block[at - 1]) != std::string_view::npos;
}

}  // namespace oomdoctor::parsers::slurm
