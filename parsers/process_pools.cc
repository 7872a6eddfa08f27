// Pools of worker processes, one of which is gone. The pool itself does not know why: often the kernel killed the
// worker because host RAM was full, but nothing proves it.
#include <algorithm>
#include <array>

#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::process_pools {

/// joblib prints "The exit codes of the workers are {SIGSEGV(-11)}" below, on systems with such codes. Of several
/// workers, those that it stopped itself have SIGTERM.
void loky(const Match& m, EventSink& sink) {
  constexpr int max_lines = 6;
  static constexpr std::array<std::string_view, 5> crashes{"SIGSEGV(", "SIGABRT(", "SIGILL(", "SIGFPE(", "SIGBUS("};
  if (is_program_text(m.cursor.line().body())) return;
  const auto codes = find_after(m.cursor, max_lines, "The exit codes of the workers are {");
  const auto shows = [&](std::string_view code) { return codes && codes->text.find(code) != codes->text.npos; };
  const bool killed = shows("SIGKILL(");
  if (!killed && std::any_of(crashes.begin(), crashes.end(), shows)) return sink.remark("end/crash");
  Oom oom = host_oom(Agent::signal, killed ? "pool-worker-killed" : "pool-worker-gone");
  oom.framework = "joblib";
  oom.traits = {killed ? OomTrait::sigkill : OomTrait::vanished};
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::process_pools
