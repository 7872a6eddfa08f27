// Deaths by SIGKILL as shells, Python, launchers and MPI report them. None of them knows the sender.
//
// The OOM killer is the usual sender, but time limits, cancellations and launchers that clean up send the same signal.
// So a report counts only if no sign of these is nearby. It is the least trusted of all reports of a death: a line of
// the kernel or of a scheduler nearby replaces it (see ResultBuilder). Other ends become Exit events.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

/// True if a nearby line shows a kill for another reason than memory.
bool was_killed_on_purpose(const Cursor& cursor) {
  return is_near(cursor, 15, 6,
                 {"CANCELLED AT", "TIME LIMIT", "KeyboardInterrupt", "sending signal KILL", "Force Terminated",
                  "preempted", "PREEMPT", "kill -9", "Timeout", "timed out", "imeout expired", "due to signal SIGTERM",
                  "liveness probe, will be restarted", "startup probe, will be restarted"});
}

/// Every SIGKILL is an exit. It is an out-of-memory report only without a sign of another reason.
void emit(const Match& m, EventSink& sink) {
  sink.exit({std::nullopt, 9});
  if (is_program_text(m.cursor.line().body()) || was_killed_on_purpose(m.cursor)) return;
  sink.oom(host_oom(Agent::signal, "sigkill"));
}

/// The shell prints the pid of its child.
void shell(const Match& m, EventSink& sink) {
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  emit(m, sink);
}

void bare(const Match& m, EventSink& sink) {
  const std::string_view body = trimmed(m.cursor.line().body());
  if (body == "Killed" || body == "Killed: 9") emit(m, sink);
}

/// The exit code under "Root Cause (first observed failure)", which is at the end of torchrun's table.
std::optional<i64> find_root_code(const Cursor& cursor) {
  const auto parse_code = [](std::string_view text) -> std::optional<i64> {
    const std::size_t at = text.find("exitcode");
    const std::size_t colon = text.find(':', at == text.npos ? text.size() : at);
    if (colon == text.npos) return std::nullopt;
    return leading_integer(trimmed(text.substr(colon + 1)));
  };
  std::optional<i64> code;
  bool root = false;
  cursor.forward(400, [&](const Line& line) {
    root |= line.text.find("Root Cause") != line.text.npos;
    if (root) code = parse_code(line.text);
    return !code;
  });
  return code;
}

/// A row of torchrun's table of failures. Only the first failure counts, because the other processes died as a
/// consequence.
void table_row(const Match& m, EventSink& sink) {
  const i64 code = leading_integer(m[1]);
  if (code < 0)
    sink.exit({std::nullopt, static_cast<int>(-code)});
  else
    sink.exit({static_cast<int>(code), std::nullopt});
  if (code != -9) return;
  if (const auto first = find_root_code(m.cursor); first && *first != -9) return;
  const auto rank = find_before(m.cursor, 3, "rank  ");
  if (rank && find_before(m.cursor, 6, "Root Cause")) {
    Origin where;
    const std::size_t colon = rank->text.find(':');
    if (colon != rank->text.npos)
      where.rank = static_cast<int>(leading_integer(trimmed(std::string_view(rank->text).substr(colon + 1))));
    sink.at(where);
  }
  emit(m, sink);
}

void elastic(const Match& m, EventSink& sink) {
  const i64 code = leading_integer(m[1]);
  if (code == -9) return emit(m, sink);
  if (code < 0)
    sink.exit({std::nullopt, static_cast<int>(-code)});
  else
    sink.exit({static_cast<int>(code), std::nullopt});
}

/// A sentence that explains "exit code 137" is not a death.
void code_137(const Match& m, EventSink& sink) {
  static constexpr std::string_view explains[] = {" mean",    " usual", " indicat", " often", " is ",
                                                  " typical", " = ",    " signif",  " (OOM)"};
  const std::string_view after = m.after().substr(0, 24);
  for (const auto word : explains)
    if (after.starts_with(word)) return;
  emit(m, sink);
}

/// quick_reject: "code" is common in other texts, but a death has its number right after the word.
bool is_numbered(std::string_view block, std::size_t at) {
  std::string_view after = block.substr(at + std::string_view("code").size());
  for (const char c : {':', ' ', '('})
    if (after.starts_with(c)) after.remove_prefix(1);
  return after.starts_with("137") || after.starts_with("-9");
}

constexpr Pattern patterns[] = {
    checked({.name = "process_exit/elastic",
             .anchor = "failed (exitcode",
             .regex = R"(failed \(exitcode: (-?\d{1,3})\) local_rank: \d{1,5} \(pid: \d{1,10}\) of binary)",
             .captures = 1,
             .example = "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 0 "
                        "(pid: 71127) of "
                        "binary: /usr/bin/python",
             .emit = elastic,
             .source = "torch: torch/distributed/elastic/multiprocessing/api.py"}),
    checked({.name = "process_exit/table_row",
             .anchor = "exitcode ",
             .regex = R"(^\s{0,12}exitcode {1,6}: (-?\d{1,3}) \(pid: \d{1,10}\))",
             .captures = 1,
             .example = "  exitcode  : -9 (pid: 71127)",
             .emit = table_row,
             .source = "torch: torch/distributed/elastic/multiprocessing/errors/__init__.py"}),
    checked({.name = "process_exit/received",
             .anchor = "SIGKILL) received",
             .regex = R"(Signal 9 \(SIGKILL\) received by PID \d{1,10})",
             .example = "  traceback : Signal 9 (SIGKILL) received by PID 71127",
             .emit = emit,
             .source = "torch: torch/distributed/elastic/multiprocessing/errors/__init__.py"}),
    checked(
        {.name = "process_exit/died_with",
         .anchor = "Signals.SIGKILL",
         .regex = R"(died with <Signals\.SIGKILL: 9>)",
         .example = "subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.",
         .emit = emit,
         .source = "CPython: Lib/subprocess.py"}),
    checked({.name = "process_exit/shell_line",
             .anchor = " Killed ",
             .regex = R"(: line \d{1,6}: {1,4}(\d{1,10}) Killed {2,60}\S)",
             .captures = 1,
             .example = "run.sh: line 28: 66899 Killed                  python train.py",
             .emit = shell,
             .source = "bash: jobs.c"}),
    checked({.name = "process_exit/job_notice",
             .anchor = "illed",
             .regex = R"((?:^\[\d{1,3}\][+\-]? {1,4}(?:\d{1,10} )? {0,4}[Kk]illed {2,60}\S|^zsh: killed {1,12}\S))",
             .example = "[1]+  Killed                  python train.py",
             .emit = emit,
             .source = "bash: jobs.c"}),
    checked(
        {.name = "process_exit/bare",
         .anchor = "Killed",
         .regex =
             R"(^(?:\d{1,5}: |\[[\w: .,\-]{1,60}\]:? |\([\w .=,]{1,80}\) |[\w.\-]{1,40} {1,10}\| )?Killed(?:: 9)?\s{0,4}$)",
         .example = "Killed",
         .emit = bare,
         .source = "bash: jobs.c"}),
    checked({.name = "process_exit/killed_zh_cn",
             .anchor = "已杀死",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?已杀死(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: 行 7: 12345 已杀死               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_zh_tw",
             .anchor = "已砍掉",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?已砍掉(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: 列 7: 12345 已砍掉               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_ja",
             .anchor = "強制終了",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?強制終了(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: 行 7: 12345 強制終了               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_de",
             .anchor = "Getötet",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Getötet(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: Zeile 7: 12345 Getötet               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_fr",
             .anchor = "Processus arrêté",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Processus arrêté(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh : ligne 7 : 12345 Processus arrêté        python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_fr_old",
             .anchor = "Tué",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Tué(?: {2,60}\S|\s{0,4}$))",
             .example = "Tué",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_ru",
             .anchor = "Убито",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Убито(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: строка 7: 12345 Убито               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_it",
             .anchor = "Ucciso",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Ucciso(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: riga 7: 12345 Ucciso               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked({.name = "process_exit/killed_pl",
             .anchor = "Unicestwiony",
             .regex = R"(^(?:.{0,200}\d{1,6} ?: {1,4}\d{1,10} )?Unicestwiony(?: {2,60}\S|\s{0,4}$))",
             .example = "train.sh: linia 7: 12345 Unicestwiony               python train.py",
             .emit = emit,
             .source = "bash and glibc: po/"}),
    checked(
        {.name = "process_exit/status",
         .anchor = "exit status ",
         .regex =
             R"((?:^\s{0,8}|returned non-zero |exited with |failed with |error |[:=] ?)exit status (?:137\b|-9\b|\(137\)))",
         .example = "subprocess.CalledProcessError: Command 'python train.py' returned non-zero exit status 137.",
         .emit = code_137,
         .source = "CPython: Lib/subprocess.py"}),
    checked(
        {.name = "process_exit/code",
         .anchor = "code",
         .regex =
             R"((?:[Ee]xited with|[Ff]inished with|[Cc]ompleted with|[Tt]erminated with|[Ff]ailed with|[Ff]ailed:?|[Rr]eturned a non-zero|did not )"
             R"(complete successfully:|[Ee]xited \() ?(?:an? )?(?:exit )?code:? ?\(?(?:137|-9)\b)",
         .example = "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)",
         .emit = code_137,
         .quick_reject = is_numbered}),
    checked(
        {.name = "process_exit/return_code",
         .anchor = "return code",
         .regex = R"([Ee]xit(?:ed|s) with return code (?:= -9\b|-9\b|Negsignal\.SIGKILL))",
         .example =
             "[2024-10-01 09:12:44,772] {local_task_job.py:208} INFO - Task exited with return code Negsignal.SIGKILL",
         .emit = emit,
         .source = "airflow: airflow/jobs/local_task_job.py"}),
    checked({.name = "process_exit/make",
             .anchor = "make",
             .regex = R"(^make(?:\[\d{1,3}\])?: \*\*\* \[[^\r\n]{1,120}\] (?:Killed|Error 137)\b)",
             .example = "make: *** [Makefile:12: train] Killed",
             .emit = emit,
             .source = "make: src/job.c"}),
    checked({.name = "process_exit/service",
             .anchor = "KILL",
             .regex = R"((?:Main process exited, code=killed, status=9/KILL|\(terminated by SIGKILL; not expected\)))",
             .example = "systemd[1]: train.service: Main process exited, code=killed, status=9/KILL",
             .emit = emit,
             .source = "systemd: src/core/service.c"}),
    checked({.name = "process_exit/horovod",
             .anchor = "status code 137",
             .regex = R"(Process \d{1,6} exit with status code 137)",
             .example = "Process 3 exit with status code 137.",
             .emit = emit,
             .source = "horovod: horovod/runner/gloo_run.py"}),
    checked({.name = "process_exit/yarn_container",
             .anchor = "Exit code is 137",
             .regex = R"(Container killed on request\. Exit code is 137)",
             .example = "Exit status: 137. Diagnostics: Container killed on request. Exit code is 137",
             .emit = emit,
             .source = "hadoop: its container's diagnostics"}),
    checked({.name = "process_exit/container_code",
             .anchor = "Exit Code:",
             .second_anchor = "ode\": 137",
             .regex = R"(^\s{0,40}(?:Exit Code: {1,12}137|"[Ee]xitCode": 137,?)\s{0,4}$)",
             .example = "      Exit Code:    137",
             .emit = emit,
             .source = "kubectl describe: pkg/describe/describe.go"}),
    checked(
        {.name = "process_exit/signal",
         .anchor = "SIGKILL",
         .regex =
             R"((?:process \d{1,6} terminated with signal SIGKILL|was sent SIGKILL! Perhaps out of memory\?|exited with 'signal 9 \(SIGKILL\)'|)"
             R"(exit codes of the workers are \{[^\r\n]{0,60}SIGKILL\(-9\)))",
         .example = "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL",
         .emit = emit,
         .source = "torch: torch/multiprocessing/spawn.py"}),
    checked(
        {.name = "process_exit/signal_nine",
         .anchor = "signal 9",
         .regex =
             R"((?:^Command terminated by signal 9$|exited on signal 9 \(Killed\)|EXIT STRING: Killed \(signal 9\)))",
         .example = "mpirun noticed that process rank 3 with PID 5120 on node gpu-04 exited on signal 9 (Killed).",
         .emit = emit,
         .source = "Open MPI: orterun"}),
};

}  // namespace

extern const Parser process_exit;
const Parser process_exit{
    .name = "process_exit", .title = "Exit codes and signals", .source = "real logs", .patterns = patterns};

}  // namespace oomdoctor::parsers
