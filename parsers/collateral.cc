// Messages of the surviving processes after one process of a job died: timeouts, broken connections, terminations,
// launcher reports.
//
// None of these is a separate failure. They show that the cause is in another process, and torchrun's "Root Cause"
// names that process.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::collateral {

/// The watchdog counts the operations of the process group. PyTorch prints their kind since version 2.0.
void timeout(const Match& m, EventSink& sink) {
  sink.remark("collateral/timeout");
  if (m.has(1)) sink.remark("run/reductions", static_cast<double>(leading_integer(m[1])));
}

void terminated(const Match& m, EventSink& sink) {
  if (m.has(1))
    sink.remark("collateral/terminated", static_cast<double>(leading_integer(m[1])));
  else
    sink.remark("collateral/terminated");
}

/// A process of this job.
void member(const Match& m, EventSink& sink) {
  for (std::size_t group = 1; group <= 3; ++group)
    if (m.has(group)) return sink.remark("job/process", static_cast<double>(leading_integer(m[group])));
}

/// Emits the rank that torchrun saw fail first.
void root_cause(const Match& m, EventSink& sink) {
  const auto rank = find_after(m.cursor, 6, "(local_rank:");
  if (rank) {
    Origin where;
    const std::size_t colon = rank->text.find(':');
    if (rank->text.find("rank") < colon)
      where.rank = static_cast<int>(leading_integer(trimmed(std::string_view(rank->text).substr(colon + 1))));
    sink.at(where);
  }
  sink.remark("collateral/child_failed");
}

/// DeepSpeed's launcher prints the command and its exit code.
void return_code(const Match& m, EventSink& sink) {
  const i64 code = leading_integer(m[1]);
  if (code < 0)
    sink.exit({std::nullopt, static_cast<int>(-code)});
  else
    sink.exit({static_cast<int>(code), std::nullopt});
}

}  // namespace oomdoctor::parsers::collateral
