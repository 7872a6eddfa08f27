// Deaths by SIGKILL as shells, Python, launchers and MPI report them. None of them knows the sender.
//
// The OOM killer is the usual sender, but time limits, cancellations and launchers that clean up send the same signal.
// So a report counts only if no sign of these is nearby. It is the least trusted of all reports of a death: a line of
// the kernel or of a scheduler nearby replaces it (see ResultBuilder). Other ends become Exit events.
#include <algorithm>
#include <array>
#include <csignal>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"
#include "read/statement.h"

namespace oomdoctor::parsers::process_exit {
namespace {

constexpr int signal_base = 128;  ///< shells and schedulers add it to the number of a signal

/// True if a nearby line shows a kill for another reason than memory.
bool was_killed_on_purpose(const Cursor& cursor) {
  return is_near(cursor, 15, 6,
                 {"CANCELLED AT", "TIME LIMIT", "KeyboardInterrupt", "sending signal KILL", "Force Terminated",
                  "preempted", "PREEMPT", "kill -9", "Timeout", "timed out", "imeout expired", "due to signal SIGTERM",
                  "liveness probe, will be restarted", "startup probe, will be restarted", "WORKER TIMEOUT (pid",
                  "after unresponsive for", "before force killing", "hard wallclock time"});
}

/// True if the text is a progress bar, as far as a program had drawn it.
bool is_bar(std::string_view text) {
  static constexpr std::array<std::string_view, 8> marks{"it/s", "s/it", "B/s", "%|", "ETA", "[=", "##", "█"};
  return std::any_of(marks.begin(), marks.end(), [&](auto mark) { return text.find(mark) != text.npos; });
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
  if (is_manual_example(m.cursor)) return;
  sink.exit({std::nullopt, 9, described});
  if (is_program_text(m.cursor.line().body()) || was_killed_on_purpose(m.cursor)) return;
  Oom oom = host_oom(Agent::signal, "sigkill");
  oom.traits = {OomTrait::sigkill};
  oom.described = described;
  sink.oom(std::move(oom));
}

/// A crash, or the end by SIGTERM, is an end for another reason than memory.
void emit_signal(const Match& m, int signal, EventSink& sink) {
  if (signal == SIGKILL) return emit_kill(m, false, sink);
  if (!is_program_text(m.cursor.line().body())) sink.remark("end/exit_code", signal);
  sink.exit({std::nullopt, signal});
}

}  // namespace

void emit(const Match& m, EventSink& sink) { emit_kill(m, false, sink); }

/// The state of a container. Kubernetes prints its own reason near the exit code: "Reason: Error", "\"reason\":
/// \"Error\",".
void described(const Match& m, EventSink& sink) {
  constexpr int state_lines = 4;  // the keys of one state
  const std::string_view own = m.cursor.line().text;
  const std::size_t reason = own.find("eason\"");
  if (reason != own.npos && own.find("\"OOMKilled\"", reason) != own.npos) return;  // the reason is reported itself
  const auto look = [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    const std::size_t at = text.find("eason");
    if (at == text.npos || text.find("Error", at) == text.npos) return true;
    sink.setting("end_reason", "Error");
    return false;
  };
  if (look(m.cursor.line())) {
    m.cursor.backward(state_lines, look);
    m.cursor.forward(state_lines, look);
  }
  const std::string_view key = trimmed(m.cursor.line().text);
  if (key.starts_with("exitCode:") || key.starts_with("Exit Code:")) sink.setting("pod", "exited");
  emit_kill(m, !is_of_earlier_container(m.cursor), sink);
}

/// The shell prints the pid of its child.
void shell(const Match& m, EventSink& sink) {
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  emit(m, sink);
}

void bare(const Match& m, EventSink& sink) {
  std::string_view body = trimmed(m.cursor.line().body());
  if (body.starts_with("**") && body.ends_with("**")) body = body.substr(2, body.size() - 4);  // bold in Markdown
  if (body == "Killed" || body == "Killed: 9" || is_bar(m.before())) emit(m, sink);
}

/// accepts: the line is the notice alone, ends with it after a progress bar, or has the form
/// "train.sh: WORD 7: 12345 NOTICE      command".
bool is_translated_notice(std::string_view line) {
  static constexpr std::array<std::string_view, 20> notices{
      "已杀死", "已砍掉", "強制終了", "죽었음", "Getötet",      "Processus arrêté",
      "Tué",    "Убито",  "Вбито",    "Ucciso", "Unicestwiony", "Terminado (killed)",
      "Morto",  "Matat",  "Dödad",    "Gedood", "Dræbt",        "Tapettu",
      "Zabit",  "Kilőve"};
  std::string_view text = trimmed(line);
  const std::size_t blanks = text.find("  "), colon = text.substr(0, blanks).rfind(": ");
  if (blanks != text.npos && colon != text.npos) {
    text = text.substr(colon + 2, blanks - colon - 2);
    const std::size_t pid = std::min(text.find_first_not_of("0123456789 "), text.size());
    if (pid == 0) return false;
    text.remove_prefix(pid);
  } else if (const std::size_t close = text.rfind(']'); close != text.npos && is_bar(text.substr(0, close))) {
    text = trimmed(text.substr(close + 1));
  }
  return std::find(notices.begin(), notices.end(), text) != notices.end();
}

/// True for a crash. torchrun ends the other processes by SIGTERM, and a watchdog aborts them.
bool is_crash(i64 code) { return code == -SIGSEGV || code == -SIGBUS; }

/// A row of torchrun's table of failures. Only the first failure counts, because the other processes died as a
/// consequence.
void table_row(const Match& m, EventSink& sink) {
  const i64 code = leading_integer(m[1]);
  sink.remark("job/process", static_cast<double>(leading_integer(m[2])));
  if (is_crash(code)) return emit_signal(m, static_cast<int>(-code), sink);
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
  sink.remark("job/process", static_cast<double>(leading_integer(m[2])));
  if (code == -SIGKILL || is_crash(code)) return emit_signal(m, static_cast<int>(-code), sink);
  if (code < 0)
    sink.exit({std::nullopt, static_cast<int>(-code)});
  else
    sink.exit({static_cast<int>(code), std::nullopt});
}

void other_signal(const Match& m, EventSink& sink) { emit_signal(m, static_cast<int>(leading_integer(m[1])), sink); }

/// A kill is read by the code's own message.
void restarts(const Match& m, EventSink& sink) {
  const int code = static_cast<int>(leading_integer(m[1]));
  if (code > 0 && code < signal_base) sink.exit({code, std::nullopt});
}

/// "exit code 137", "exit code -9": a signal's number, negative or above 128. A sentence
/// that explains the code is not a death.
void exit_code(const Match& m, EventSink& sink) {
  static constexpr std::string_view explains[] = {" mean",    " usual", " indicat", " often", " is ",
                                                  " typical", " = ",    " signif",  " (OOM)"};
  const std::string_view after = m.after().substr(0, 24);
  for (const auto word : explains)
    if (after.starts_with(word)) return;
  // Flyte copies Kubernetes' reason for the end of a container: "(137). Reason [Error]. Message: ".
  if (m.after().starts_with("). Reason [Error]")) sink.setting("end_reason", "Error");
  const int code = m.has(1) ? static_cast<int>(leading_integer(m[1])) : signal_base + SIGKILL;
  emit_signal(m, code < 0 ? -code : code - signal_base, sink);
}

void failed(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.exit({static_cast<int>(leading_integer(m[1])), std::nullopt});
}

/// Seconds of "86400" or "24:00:00".
double read_duration(std::string_view text) {
  double seconds = 0;
  for (;;) {
    seconds = 60 * seconds + static_cast<double>(leading_integer(text));
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
    if (!text.starts_with(':')) return seconds;
    text.remove_prefix(1);
  }
}

/// The accounting of a job of Grid Engine. The job reached its memory limit if its largest address space did, and its
/// time limit if it ran that long. Otherwise only the exit status says how it ended.
void accounting(const Match& m, EventSink& sink) {
  constexpr int lines_below = 40, lines_above = 30;  // an entry has about 45
  constexpr double at_limit = 0.99;  // Grid Engine samples the usage, and a refused request does not count
  std::optional<Bytes> largest, limit;
  double ran = 0, time_limit = 0;
  i64 slots = 1;
  bool failed = false;
  const auto read = [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (text.starts_with("======")) return false;  // another job
    const std::string_view value = trimmed(text.substr(std::min(text.find(' '), text.size())));
    if (text.starts_with("failed ")) failed = leading_integer(value) != 0;
    if (text.starts_with("maxvmem ")) largest = read_size(value);
    if (text.starts_with("ru_wallclock ")) ran = leading_number(value);
    if (text.starts_with("slots ")) slots = std::max<i64>(leading_integer(value), 1);
    if (const auto size = size_after(text, "h_vmem=")) limit = size;
    if (const std::size_t at = text.find("h_rt="); at != text.npos) time_limit = read_duration(text.substr(at + 5));
    return true;
  };
  m.cursor.backward(lines_above, read);
  m.cursor.forward(lines_below, read);
  if (m[1] == "0" && !failed) return sink.remark("run/completed");
  if (time_limit > 0 && ran >= time_limit) {
    sink.exit({std::nullopt, static_cast<int>(leading_integer(m[1])) - signal_base});
    return sink.remark("run/time_limit");
  }
  // The limit is that of a slot.
  if (!largest || !limit ||
      static_cast<double>(largest->count) < at_limit * static_cast<double>(limit->count) * static_cast<double>(slots))
    return exit_code(m, sink);
  Oom oom = host_oom(Agent::scheduler, "grid-engine-virtual");
  oom.traits = {OomTrait::virtual_limit};
  oom.process = largest;
  if (slots == 1) oom.limit = limit;  // the advice is the limit of a slot
  sink.oom(std::move(oom));
}

/// The end of a job of Torque or PBS: its mail, a line of its accounting, or qstat -f. A negative status names the
/// limit that the job exceeded. A signal adds 128 or 256: 271 is SIGTERM, which also comes at a time limit and with
/// qdel. The job reached its memory limit if it used more than it had requested.
void pbs_status(const Match& m, EventSink& sink) {
  constexpr int over_virtual = -26, over_memory = -27, over_cpu_time = -28, over_time = -29, of_torque = 256;
  constexpr int lines_around = 60;  // qstat -f prints about 50
  constexpr std::size_t longest_size = 20;
  struct Resource {
    std::optional<Bytes> used, requested;
    bool is_over() const { return used && requested && used->count > requested->count; }
  };
  Resource memory, addresses;
  double ran = 0, time_limit = 0;
  const auto read = [&](const Line& line) {
    const std::string text = dense(line.text);  // "resources_used.mem = 96gb"
    if (line.number != m.cursor.line().number && text.find("Exit_status=") != text.npos) return false;  // another job
    const auto size = [&](std::string_view name, std::optional<Bytes>& into) {
      const std::size_t at = text.find(name);
      if (at == text.npos) return;
      std::string amount = text.substr(at + name.size(), longest_size);  // "64gb"
      std::transform(amount.begin(), amount.end(), amount.begin(), upper);
      if (const auto found = read_size(amount)) into = found;
    };
    size("resources_used.mem=", memory.used), size("resources_used.vmem=", addresses.used);
    size("Resource_List.mem=", memory.requested), size("Resource_List.vmem=", addresses.requested);
    const auto duration = [&](std::string_view name, double& into) {
      if (const std::size_t at = text.find(name); at != text.npos)
        into = read_duration(std::string_view(text).substr(at + name.size()));
    };
    duration("resources_used.walltime=", ran), duration("Resource_List.walltime=", time_limit);
    return true;
  };
  read(m.cursor.line());
  m.cursor.backward(lines_around, read);
  m.cursor.forward(lines_around, read);
  const int status = static_cast<int>(m[1].starts_with('-') ? -leading_integer(m[1].substr(1)) : leading_integer(m[1]));
  const int signal = status > of_torque ? status - of_torque : status - signal_base;
  const bool names_memory = status == over_memory || status == over_virtual;
  if (!names_memory && status <= signal_base) {
    if (status == over_cpu_time || status == over_time) sink.remark("run/time_limit");
    return;
  }
  if (!names_memory && time_limit > 0 && ran >= time_limit) {
    sink.exit({std::nullopt, signal});
    return sink.remark("run/time_limit");
  }
  const bool is_virtual = status == over_virtual || (!names_memory && addresses.is_over() && !memory.is_over());
  const Resource& full = is_virtual ? addresses : memory;
  if (!names_memory && !full.is_over()) return emit_signal(m, signal, sink);
  Oom oom = host_oom(Agent::scheduler, is_virtual ? "pbs-virtual" : "pbs");
  if (is_virtual) oom.traits = {OomTrait::virtual_limit};
  oom.process = full.used;
  if (full.is_over()) oom.limit = full.requested;
  sink.oom(std::move(oom));
}

/// The program ended without a word while it loaded a model: on Windows often because the system could commit no more
/// memory.
void windows_pause(const Match& m, EventSink& sink) {
  constexpr int lines_to_command = 3, lines_to_load = 12;
  static constexpr std::array<std::string_view, 7> loads{"Requested to load ", "model load device", "model_type ",
                                                         "loaded completely",  "loaded partially",  "Loading model",
                                                         "Loading checkpoint"};
  static constexpr std::array<std::string_view, 10> words{"Traceback",       "Error",     "error", "xception",
                                                          "Interrupt",       "failed",    "100%",  "Stopped",
                                                          "Prompt executed", "Total time"};
  if (!find_before(m.cursor, lines_to_command, ">pause") || !is_near(m.cursor, lines_to_load, 0, loads) ||
      is_near(m.cursor, lines_to_load, 0, words))
    return;
  sink.setting("system", "Windows");
  Oom oom = host_oom(Agent::signal, "windows-pause");
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

/// may_match: "code" is common in other texts, but a death has its number right after the word. The regex reads which.
bool is_numbered(std::string_view block, std::size_t at) {
  std::string_view after = block.substr(at);
  for (const std::string_view word : {"code", "exit status"})
    if (after.starts_with(word)) after.remove_prefix(word.size());
  for (const char c : {':', ' ', '('})
    if (after.starts_with(c)) after.remove_prefix(1);
  if (after.starts_with('-')) after.remove_prefix(1);
  return !after.empty() && is_digit(after.front());
}

}  // namespace oomdoctor::parsers::process_exit
