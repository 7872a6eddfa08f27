// Ends of a job that resemble an out-of-memory failure in their words or exit codes, but are something else: limits on
// threads and time, and full disks and quotas.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::other_ends {

void lsf(const Match& m, EventSink& sink) {
  sink.remark(m[1] == "THREAD" || m[1] == "PROCESS" ? "limit/threads" : "run/time_limit");
}

void no_thread(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.remark("limit/threads");
}

void quota(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.remark("disk/full");
}

/// GitHub knows only that the runner is silent. It names a lack of memory among the reasons.
void runner_gone(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.setting("ci", "GitHub Actions");
  Oom oom = host_oom(Agent::signal, "runner-lost");
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

/// Reports only signals that ask a program to stop. Any other signal may come from anywhere, also from the kernel.
void signal(const Match& m, EventSink& sink) {
  const i64 number = leading_integer(m[1]);
  if (number == 1 || number == 2 || number == 15) sink.remark("end/signal", static_cast<double>(number));
}

void death_signal(const Match& m, EventSink& sink) {
  const bool hangup = m[1] == "HUP" || m[2] == "1";
  sink.remark("end/signal", hangup ? 1 : 2);
}

}  // namespace oomdoctor::parsers::other_ends
