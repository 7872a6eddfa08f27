// Deaths by SIGKILL as shells, Python, launchers and MPI report them. None of them knows the sender.
//
// The OOM killer is the usual sender, but time limits, cancellations and launchers that clean up send the same signal.
// So a report counts only if no sign of these is nearby. It is the least trusted of all reports of a death: a line of
// the kernel or of a scheduler nearby replaces it (see ResultBuilder). Other ends become Exit events.
#include "base/ascii.h"
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers::process_exit {
namespace {

/// True if a nearby line shows a kill for another reason than memory.
bool was_killed_on_purpose(const Cursor& cursor) {
  return is_near(cursor, 15, 6,
                 {"CANCELLED AT", "TIME LIMIT", "KeyboardInterrupt", "sending signal KILL", "Force Terminated",
                  "preempted", "PREEMPT", "kill -9", "Timeout", "timed out", "imeout expired", "due to signal SIGTERM",
                  "liveness probe, will be restarted", "startup probe, will be restarted"});
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

/// Every SIGKILL is an exit. It is an out-of-memory report only without a sign of another reason.
void emit_kill(const Match& m, bool described, EventSink& sink) {
  sink.exit({std::nullopt, 9, described});
  if (is_program_text(m.cursor.line().body()) || was_killed_on_purpose(m.cursor)) return;
  Oom oom = host_oom(Agent::signal, "sigkill");
  oom.traits = {OomTrait::sigkill};
  oom.described = described;
  sink.oom(std::move(oom));
}

}  // namespace

void emit(const Match& m, EventSink& sink) { emit_kill(m, false, sink); }

/// The state of a container.
void described(const Match& m, EventSink& sink) { emit_kill(m, !is_of_earlier_container(m.cursor), sink); }

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

/// may_match: "code" is common in other texts, but a death has its number right after the word. The regex reads which.
bool is_numbered(std::string_view block, std::size_t at) {
  std::string_view after = block.substr(at + std::string_view("code").size());
  for (const char c : {':', ' ', '('})
    if (after.starts_with(c)) after.remove_prefix(1);
  if (after.starts_with('-')) after.remove_prefix(1);
  return !after.empty() && is_digit(after.front());
}

}  // namespace oomdoctor::parsers::process_exit
