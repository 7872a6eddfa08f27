// What Slurm says about memory: slurmstepd and srun in the job's own output, sacct rows, and the reports that job
// scripts print at the end (seff, jobinfo).
//
// slurmstepd counts the kills of the step's cgroup ("oom-kill event(s)", since 20.11 "oom_kill event"); before 17.11 it
// polled the job and compared with its limit in KiB. A cancelled job, also one out of time, is no failure of memory.
#include <algorithm>

#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

Oom base(std::string_view format) { return host_failure(Agent::slurm, format); }

void oom_event(const Match&, EventSink& sink) { sink.oom(base("slurm-oom-kill")); }
void task(const Match&, EventSink& sink) { sink.oom(base("slurm-task")); }

/// The cell of a row of sacct under `name`: columns stand at the rules of dashes below the header, or between bars.
std::string_view cell(const Line& header, std::string_view rules, std::string_view row, std::string_view name) {
  const std::size_t at = header.text.find(name);
  if (at == header.text.npos) return {};
  const std::string_view before = header.text.substr(0, at);
  if (const auto bars = std::count(before.begin(), before.end(), '|'); header.text.find('|') != header.text.npos) {
    for (auto i = bars; i > 0; --i) {
      const std::size_t bar = row.find('|');
      if (bar == row.npos) return {};
      row.remove_prefix(bar + 1);
    }
    return row.substr(0, row.find('|'));
  }
  const std::size_t last = at + name.size() - 1;  // names end where their column does, or before it
  if (last >= rules.size() || last >= row.size() || rules[last] != '-') return {};
  const std::size_t blank = rules.rfind(' ', last);
  const std::size_t begin = blank == rules.npos ? 0 : blank + 1;
  return trimmed(row.substr(begin, rules.find(' ', last) - begin));
}

/// A state at full length is a word of other programs, too: an exit code behind it or the header above makes it a row.
void row(const Match& m, EventSink& sink) {
  constexpr int most_rows = 60;
  const auto header = find_behind(m.cursor, most_rows, "JobID");
  const bool cut = m[1].ends_with('+');
  if (!cut && !m.has(2) && !header) return;
  Oom oom = base("slurm-state");
  if (header) {
    const auto rules = find_behind(m.cursor, most_rows, "---");
    const std::string_view below = rules ? rules->text : std::string_view{};
    const std::string_view used = cell(*header, below, m.text, "MaxRSS");
    const std::string_view asked = cell(*header, below, m.text, "ReqMem");
    if (!used.empty()) oom.process = read_size(used);
    if (!asked.empty() && !asked.ends_with('c')) oom.limit = read_size(asked);  // "4Gc": of each core
  }
  sink.oom(std::move(oom));
}

/// "(8485688 > 8388608)": KiB; since 18.08 bytes. A limit is whole MiB, so that numbers from 2^30 on are bytes: as KiB
/// they would be a terabyte and more.
void over_limit(const Match& m, EventSink& sink) {
  Oom oom = base(m.has(1) ? "slurm-virtual" : "slurm-limit");
  const i64 used = leading_integer(m[2]), limit = leading_integer(m[3]);
  const i64 unit = limit >= GiB ? 1 : KiB;
  oom.process = Bytes{used * unit, 0};
  oom.limit = Bytes{limit * unit, 0};
  sink.oom(std::move(oom));
}

/// "at some point" is also said of jobs that ended well: page cache counts, too. It is a failure where something died.
void exceeded(const Match& m, EventSink& sink) {
  const bool some_point = m.after().find("at some point") != std::string_view::npos;
  if (some_point &&
      !is_near(m.cursor, 40, 40, {"Killed", "killed", "oom", "OUT_OF_ME", "SIGKILL", "exit code 137", "MemoryError"}))
    return;
  sink.oom(base("slurm-limit"));
}

/// srun's word for a task that got SIGKILL. Behind a cancellation it means nothing.
void task_killed(const Match& m, EventSink& sink) {
  sink.exit({std::nullopt, 9});
  if (is_near(m.cursor, 20, 10, {"CANCELLED AT", "TIME LIMIT", "forcing job termination", "Force Terminated"})) return;
  Oom oom = base("sigkill");
  oom.agent = Agent::signal;
  sink.oom(std::move(oom));
}

/// Numbers of the report around the state line, each on a line of its own.
void report(const Match& m, EventSink& sink) {
  Oom oom = base("slurm-state");
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
    return true;
  };
  m.cursor.forward(25, read);
  m.cursor.backward(12, read);
  sink.oom(std::move(oom));
}

void cancelled(const Match& m, EventSink& sink) {
  if (m[1].find("TIME LIMIT") != std::string_view::npos) return sink.remark("run/time_limit");
  if (is_near(m.cursor, 6, 0, {"memory limit", "oom-kill", "oom_kill"}))
    return;  // the cancellation is Slurm's own answer to it
  sink.remark("run/cancelled");
}

/// The state is a word of its own: CUDA_ERROR_OUT_OF_MEMORY is none.
bool is_state(std::string_view block, std::size_t at) {
  return at == 0 || std::string_view(" |:=").find(block[at - 1]) != std::string_view::npos;
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "slurm/oom_event",
         .anchor = "oom-kill event",
         .second_anchor = "oom_kill event",
         .regex = R"(Detected\d{1,6}oom[-_]killevents?(?:\(s\))?in(?:StepId=|step|task))",
         .reach = Reach::message,
         .example =
             "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=14604003.0 cgroup. Some of your processes may "
             "have been killed by the cgroup out-of-memory handler.",
         .emit = oom_event}),
    checked(
        {.name = "slurm/over_limit",
         .anchor = "memory limit (",
         .second_anchor = "being killed",
         .regex =
             R"((?:Step|StepId=|Job|JobId=)[\w.=]{1,40}exceeded(virtual)?memorylimit\((\d{1,15})>(\d{1,15})\),beingkilled)",
         .captures = 3,
         .reach = Reach::message,
         .example = "slurmstepd: error: Step 71422.0 exceeded memory limit (8485688 > 8388608), being killed",
         .emit = over_limit,
         .source = "slurm: src/common/slurm_jobacct_gather.c"}),
    checked({.name = "slurm/exceeded",
             .anchor = "memory limit",
             .regex = R"(slurmstepd: error: Exceeded (?:step|job) memory limit)",
             .example = "slurmstepd: error: Exceeded job memory limit",
             .emit = exceeded,
             .source = "slurm: src/slurmd/slurmd/req.c; src/plugins/task/cgroup/task_cgroup_memory.c"}),
    checked({.name = "slurm/task",
             .anchor = "Out Of Memory",
             .second_anchor = "srun: error",
             .regex = R"(srun:error:[\w.\-]{1,64}:tasks?[\d,\-\[\]]{1,80}:OutOfMemory)",
             .reach = Reach::message,
             .example = "srun: error: gpu-04: task 0: Out Of Memory",
             .emit = task,
             .source = "slurm: src/srun"}),
    checked({.name = "slurm/task_killed",
             .anchor = "srun: error",
             .regex = R"(srun: error: [\w.\-]{1,64}: tasks? [\d,\-\[\]]{1,80}: Killed)",
             .example = "srun: error: gpu-04: tasks 0-3: Killed",
             .emit = task_killed,
             .source = "slurm: src/srun"}),
    checked(
        {.name = "slurm/accounting",
         .anchor = "OUT_OF_ME",
         .regex =
             R"(^ {0,8}\d{1,12}[\w+.\-\[\]]{0,24}[ |](?:[^\r\n]{0,300}[ |])?(OUT_OF_ME(?:MORY|M?O?R?\+))(?:[ |]{1,40}(\d{1,3}:\d{1,3})|[ |]|$))",
         .captures = 2,
         .example = "71422          train     normal      group          4 OUT_OF_ME+    0:125",
         .emit = row,
         .quick_reject = is_state,
         .source = "slurm: src/sacct/print.c"}),
    checked(
        {.name = "slurm/report",
         .anchor = "OUT_OF_MEMORY",
         .regex =
             R"((?:^ {0,8}State {0,40}: {0,4}|^ {0,8}JobState=|Slurm [\w ]{0,8}Job_id=\d{1,12} Name=\S{1,80} (?:Ended|Failed), )"
             R"(Run time [\d:\-]{1,20}, )OUT_OF_MEMORY)",
         .example = "State: OUT_OF_MEMORY (exit code 0)",
         .emit = report,
         .quick_reject = is_state,
         .source = "seff and job scripts: real logs"}),
    checked(
        {.name = "slurm/cancelled",
         .anchor = "CANCELLED AT",
         .regex =
             R"(\*\*\* (?:STEP|JOB) [\w+.]{1,40}(?: ON \S{1,64})? CANCELLED AT [\w:\-]{1,24}((?: DUE TO [A-Za-z ]{1,40})?) ?\*\*\*)",
         .captures = 1,
         .example = "slurmstepd: error: *** JOB 71422 ON gpu-04 CANCELLED AT 2024-05-27T21:42:11 DUE TO TIME LIMIT ***",
         .emit = cancelled,
         .source = "slurm: src/slurmd/slurmstepd/req.c"}),
};

}  // namespace

extern const Parser slurm;
const Parser slurm{.name = "slurm",
                   .title = "Slurm",
                   .source = "slurm: src/plugins/task/cgroup/task_cgroup_memory.c",
                   .patterns = patterns};

}  // namespace oomdoctor::parsers
