#include "read/context.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
  for (const auto word : words)
    if (text.find(word) != text.npos) return true;
  return false;
}

/// How lines of program code begin, after indentation and the marks of a diff.
constexpr std::array<std::string_view, 36> openings{
    "#define ", "#include ",     "raise ", "except ", "except:", "except(", "elif ",       "assert ", "return ",
    "throw ",   "catch ",        "catch(", "print(",  "echo ",   "printf(", "fprintf(",    "logger.", "logging.",
    "log.",     "warnings.warn", "self.",  "def ",    "class ",  "import ", "from ",       "if ",     "if(",
    "while ",   "for ",          "//",     "/*",      "\"\"\"",  "'''",     "TORCH_CHECK", "case ",   "std::cerr"};

/// True for a line that only a shell script has: the head of a block, NAME='…' or name=$(…). `name` is the length of
/// the name at its start. A trace of the shell ("+ NAME=…") shows neither quotes of variables nor blocks.
bool is_shell(std::string_view text, std::size_t name) {
  static constexpr std::array<std::string_view, 3> heads{"; then", "; do", " do"};
  static constexpr std::array<std::string_view, 5> commands{"grep -", "set -e", "set -u", "awk '", "sed -"};
  if (text == "fi" || text == "done" || text == "esac" || text.starts_with("#!/")) return true;
  if (std::any_of(commands.begin(), commands.end(), [&](auto c) { return text.starts_with(c); })) return true;
  const bool block = text.starts_with("if ") || text.starts_with("for ") || text.find("while ") != text.npos ||
                     text.find("until ") != text.npos || text.starts_with("elif ");
  if (block && std::any_of(heads.begin(), heads.end(), [&](auto h) { return text.ends_with(h); })) return true;
  const std::string_view value = text.substr(name);
  return name > 0 &&
         ((value.starts_with("='") && value.size() > 2 && value.ends_with('\'')) || value.starts_with("=$("));
}

}  // namespace

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t begin = text.find(open);
  if (begin == text.npos) return {};
  const std::size_t end = text.find(close, begin + open.size());
  return end == text.npos ? std::string_view{} : text.substr(begin + open.size(), end - begin - open.size());
}

std::string_view number_on_line(std::string_view line, std::string_view label, std::string_view number) {
  const std::size_t at = line.find(label);
  if (at == line.npos) return number;
  const std::string_view after = line.substr(at + label.size());
  const std::size_t length = std::min(after.find_first_not_of("0123456789"), after.size());
  return length > 0 ? number.substr(0, length) : number;
}

/// Strips what grep and diff print in front of a line, then compares its start with those of code lines.
bool is_program_text(std::string_view body) {
  std::string_view text = trimmed(body);
  // grep's prefix: "src/loop.py:14:".
  if (const std::size_t colon = text.find(':'); colon != text.npos && text.substr(0, colon).find(' ') == text.npos) {
    std::size_t after = colon + 1;
    while (after < text.size() && is_digit(text[after])) ++after;
    if (after > colon + 1 && after < text.size() && (text[after] == ':' || text[after] == '-') &&
        text.substr(0, colon).find('.') != text.npos)
      text = trimmed(text.substr(after + 1));
  }
  if (text.starts_with("+ ") || text.starts_with("- ") || text.starts_with("> ")) text = trimmed(text.substr(2));
  if (text.starts_with("/*") || text.starts_with("// ")) return true;
  // An expression of Prometheus, and a template.
  if (text.starts_with("expr: ") || text.find("{{ $") != text.npos || text.find("{{$") != text.npos) return true;
  if (text.starts_with("# ") || text.starts_with("#!") || text.starts_with("$ ")) return true;
  // name = "…": an assignment of a string.
  std::size_t name = 0;
  while (name < text.size() && is_word_char(text[name])) ++name;
  if (name > 0 && (text.substr(name).starts_with(" = \"") || text.substr(name).starts_with(" = '") ||
                   text.substr(name).starts_with(" = re.")))
    return true;
  // NAME = ["…": a list of strings.
  if (name > 0 && text.substr(name).starts_with(" = ") && text.size() > name + 4 &&
      std::string_view("[({").find(text[name + 3]) != std::string_view::npos &&
      std::string_view("\"'").find(text[name + 4]) != std::string_view::npos)
    return true;
  // msg="$name is gone": an assignment in a shell.
  if (name > 0 && text.substr(name).starts_with("=\"") && text.ends_with('"') &&
      (text.find("${") != text.npos || text.find("[$") != text.npos || text.find(" $") != text.npos))
    return true;
  if (is_shell(text, name)) return true;
  if (text.starts_with("from ") && text.find(" import ") != text.npos) return true;
  for (const auto opening : openings) {
    if (!text.starts_with(opening)) continue;
    // "from", "if" and "for" begin sentences as well. A line of code also ends like code.
    const bool word =
        opening.back() == ' ' && (opening[0] == 'f' || opening[0] == 'i' || opening[0] == 'w' || opening[0] == 'c');
    if (!word || text.ends_with(':') || text.ends_with('{') || text.ends_with(';') || text.ends_with(')')) return true;
  }
  return false;
}

bool is_shell_text(std::string_view body) {
  const std::string_view text = trimmed(body);
  std::size_t name = 0;
  while (name < text.size() && is_word_char(text[name])) ++name;
  return is_shell(text, name);
}

bool is_near(const Cursor& cursor, int back, int ahead, std::span<const std::string_view> words) {
  if (contains_any(cursor.line().text, words)) return true;
  bool found = false;
  const auto look = [&](const Line& line) {
    found = contains_any(line.text, words);
    return !found;
  };
  if (back > 0) cursor.backward(back, look);
  if (!found && ahead > 0) cursor.forward(ahead, look);
  return found;
}

bool follows_device_fault(const Cursor& cursor) {
  constexpr int window = 120;
  return is_near(cursor, window, 0,
                 {"device-side assert", "illegal memory access", "misaligned address", "unspecified launch failure",
                  "Xid (", "] Assertion `", "Device-side assertion `", "memcpy failed fail!", "failed with error 700"});
}

std::optional<Line> find_after(const Cursor& cursor, int most, std::string_view word) {
  std::optional<Line> out;
  cursor.forward(most, [&](const Line& line) {
    if (line.text.find(word) == line.text.npos) return true;
    out = line;
    return false;
  });
  return out;
}

std::optional<Line> find_before(const Cursor& cursor, int most, std::string_view word) {
  std::optional<Line> out;
  cursor.backward(most, [&](const Line& line) {
    if (line.text.find(word) == line.text.npos) return true;
    out = line;
    return false;
  });
  return out;
}

bool is_of_earlier_container(const Cursor& cursor) {
  constexpr int lines = 8;  // from the exit code up to the state before it
  const auto last = find_before(cursor, lines, "State:");
  if (!last || last->text.find("Last State:") == std::string_view::npos) return false;
  bool running = false;
  cursor.backward(lines, [&](const Line& line) {
    running |= line.text.find("State:") != line.text.npos && line.text.find("Running") != line.text.npos;
    return !running;
  });
  return running;
}

}  // namespace oomdoctor
