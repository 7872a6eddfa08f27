// Reasons other than memory for the end of a program: an uncaught exception, a panic, a signal, an assertion.
//
// The last line of a Python traceback has no indentation and begins with the name of the exception. A line that only
// repeats that another process died is not a separate end.
#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::exceptions {
namespace {

constexpr std::array<std::string_view, 6> name_endings{"Error", "Exception", "Interrupt",
                                                       "Exit",  "Iteration", "OutOfResources"};

/// The exception's name at the start of `body`, such as "jaxlib.xla_extension.XlaRuntimeError", if a colon or the end
/// of the line follows it. Empty if there is none.
std::string_view parse_exception(std::string_view body) {
  std::size_t end = 0;
  while (end < body.size() && is_dotted_name_char(body[end])) ++end;
  const std::string_view name = body.substr(0, end);
  if (end < body.size() && body[end] != ':') return {};
  const std::size_t last = name.rfind('.') == name.npos ? 0 : name.rfind('.') + 1;
  const bool capital = last < name.size() && is_upper(name[last]);
  const bool known =
      std::any_of(name_endings.begin(), name_endings.end(), [&](std::string_view e) { return name.ends_with(e); });
  return capital && known ? name : std::string_view{};
}

/// True if the text only reports that another process or a peer is gone. It does not contain the reason. A worker's
/// exit code is one: an exception ended it.
bool is_echo(std::string_view text) {
  if (text.find("exited unexpectedly with exit code") != text.npos) return false;
  static constexpr std::array<std::string_view, 24> words{
      "ChildFailed", "DistBackend",      "DistNetwork",      "DistStore",        "NCCL",
      "ncclRemote",  "BrokenPipe",       "EOFError",         "ConnectionReset",  "CalledProcess",
      "ActorDied",   "ActorUnavailable", "WorkerCrashed",    "KilledWorker",     "exited unexpectedly",
      "EngineDead",  "Caught ",          "no longer alive",  "root cause above", "for root cause",
      "abruptly",    "6 feet under",     "TerminatedWorker", "ProcessExited"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != text.npos; });
}

/// True for an exception of torch.distributed. It is the end of its process. Its reason is in the text, or another
/// process failed before.
bool is_of_group(std::string_view name) {
  static constexpr std::array<std::string_view, 3> names{"DistBackendError", "DistNetworkError", "DistStoreError"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return name.ends_with(n); });
}

}  // namespace

/// The length of the name that a runner of several programs prints in front of a line: "[node-a]  ", "trainer-0: ".
std::size_t runner_tag(std::string_view line) {
  constexpr std::size_t longest = 40;
  const bool bracket = line.starts_with('[');
  std::size_t end = bracket ? 1 : 0;
  bool letter = false, dashed = false;
  while (end < line.size() && end < longest && (is_dashed_name_char(line[end]) || line[end] == '.')) {
    letter |= is_letter(line[end]);
    dashed |= line[end++] == '-';
  }
  const std::string_view rest = line.substr(end);
  const bool numbered = dashed && is_digit(line[end == 0 ? 0 : end - 1]);
  if (!letter || !(bracket ? rest.starts_with("] ") : numbered && rest.starts_with(": "))) return 0;
  const std::size_t message = line.find_first_not_of(' ', end + 1);
  return message == line.npos ? 0 : message;
}

/// The line without its time, its tags and the place in the source.
std::string_view untagged(std::string_view line) {
  line.remove_prefix(runner_tag(line));
  return skip_location(line.substr(peel_prefix(line).length));
}

/// The same without the level of a logger.
std::string_view message_of(std::string_view line) {
  std::string_view body = untagged(line);
  for (const std::string_view level : {"ERROR ", "ERROR: ", "CRITICAL ", "FATAL "})
    if (body.starts_with(level)) return trimmed(body.substr(level.size()));
  return body;
}

bool is_final_exception(std::string_view line) {
  const std::string_view body = message_of(line);
  const std::string_view name = parse_exception(body);
  return !name.empty() && (is_of_group(name) || !is_echo(body));
}

/// Python compiles a program's main file before it runs a line of it, so such an error has no traceback: only the file
/// and the place in it.
bool failed_to_compile(const Match& m) {
  constexpr int max_lines = 8;  // of the file, the code and the mark, printed by several ranks at once
  const std::string_view body = m.cursor.line().body();
  if (!body.starts_with("SyntaxError") && !body.starts_with("IndentationError") && !body.starts_with("TabError"))
    return false;
  bool compiled = false, run = false;
  m.cursor.backward(max_lines, [&](const Line& line) {
    const std::string_view text = line.text;
    // The end of an earlier program's traceback is above the file and the code of this one.
    if (compiled && is_final_exception(text) && !text.starts_with("SyntaxError")) return false;
    if (text.find("Traceback (most recent call last)") != text.npos) run = true;
    const std::size_t file = text.find("  File \"");
    if (file != text.npos) (text.find(", in ", file) == text.npos ? compiled : run) = true;
    return !run;
  });
  return compiled && !run;
}

/// A number for the kind of an exception. Ranks may print into each other's line: "ValueErrorValueError".
double kind_of_exception(std::string_view name) {
  const std::string twice = std::string(name) + std::string(name);
  name = name.substr(0, twice.find(name, 1));
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
}

/// True for a line that the text of an exception continues with: "[SQL: …]", "(Background on this error at: …)".
bool continues_text(const Line& line) {
  const std::string_view text = trimmed(line.text);
  return text.empty() || (line.prefix.length == 0 && ((text.starts_with('[') && text.ends_with(']')) ||
                                                      (text.starts_with('(') && text.ends_with(')'))));
}

/// True if the program printed nothing below: its tail of a log may have the exception without the traceback. The text
/// of the exception may go on.
bool is_last_line(const Match& m) {
  constexpr int most = 6;
  constexpr std::string_view blanks = " \t\r\n";
  bool last = true;
  int rows = 0;
  std::string_view end;  // of the text
  m.cursor.forward(most, [&](const Line& line) {
    last = continues_text(line);
    if (last && !trimmed(line.text).empty()) end = trimmed(line.text), ++rows;
    return last;
  });
  std::string_view below = m.cursor.surroundings_below();
  while (!below.empty() && blanks.find(below.back()) != blanks.npos) below.remove_suffix(1);
  return last && rows < most && (rows == 0 ? below.empty() : below.ends_with(end));
}

void exception(const Match& m, EventSink& sink) {
  if (failed_to_compile(m)) sink.remark("run/not_compiled");
  const std::string_view line = m.cursor.line().text, body = message_of(line);
  // A program may log what it caught. A launcher's signal has a reason above it, and a device's error is an end itself.
  const bool logged = body != untagged(line);
  const bool traced = is_near(m.cursor, 12, 0, {"  File \"", "Traceback (most recent call last)"});
  constexpr std::array<std::string_view, 3> echoes{"got signal", "SystemExit", "CUDA error"};
  const bool echo = std::any_of(echoes.begin(), echoes.end(), [&](auto e) { return body.find(e) != body.npos; });
  if ((logged || !traced) && (echo || !is_last_line(m))) return;
  const std::string_view name = parse_exception(body);
  if (is_of_group(name)) return sink.remark("end/of_group");
  sink.remark("end/exception", kind_of_exception(name));
  for (const std::string_view interruption : {"KeyboardInterrupt", "CancelledError", "SystemExit"})
    if (name.ends_with(interruption)) sink.remark("end/interruption");
}

/// may_match: true if a colon or the end of the line follows the name around the anchor.
bool ends_a_name(std::string_view block, std::size_t at) {
  std::size_t end = at;
  while (end < block.size() && is_dotted_name_char(block[end])) ++end;
  return end >= block.size() || block[end] == ':' || ends_line(block[end]);
}

void crash(const Match& m, EventSink& sink) {
  if (!is_program_text(m.cursor.line().body())) sink.remark("end/crash");
}

void training_failed(const Match& m, EventSink& sink) {
  constexpr int max_lines = 5;
  constexpr std::string_view label = "og file: ";
  sink.remark("run/training_failed");
  const auto line = find_after(m.cursor, max_lines, label);
  if (!line) return;
  const std::string_view text = line->text, path = trimmed(text.substr(text.find(label) + label.size()));
  if (!path.empty() && path.find(' ') == path.npos) sink.setting("named_log", path);
}

}  // namespace oomdoctor::parsers::exceptions
