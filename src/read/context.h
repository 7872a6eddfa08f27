// Checks of the text around a match. A log may contain program code, comments and people's sentences with the words of
// a failure. Parsers of messages without numbers ask here whether a program printed the line.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "base/parse_whole.h"
#include "read/window.h"

namespace oomdoctor {

/// The text between the first `open` and the next `close`; empty if either is missing.
std::string_view between(std::string_view text, std::string_view open, std::string_view close);

/// Cuts `number`, read from joined lines, to its digits on `line` after `label`. The next line may start with digits,
/// which the join has appended. Returns `number` unchanged if `line` does not contain the whole label.
std::string_view number_on_line(std::string_view line, std::string_view label, std::string_view number);

/// True if `body` looks like program code or a comment: "raise …", "except …", "# …", "if (…) {", a call of a logger.
bool is_program_text(std::string_view body);

/// True if `body` is a line that only a shell script has: the head or the end of a block, NAME='…', name=$(…).
bool is_shell_text(std::string_view body);

/// True if the current line, or one of `back` lines before and `ahead` lines after it, contains one of `words`.
bool is_near(const Cursor& cursor, int back, int ahead, std::span<const std::string_view> words);
inline bool is_near(const Cursor& cursor, int back, int ahead, std::initializer_list<std::string_view> words) {
  return is_near(cursor, back, ahead, std::span(words.begin(), words.size()));
}

/// True if an earlier error poisoned the context of the device, so all later calls fail, whatever they do. The
/// traceback of the exception may separate the two, so the window is wide.
bool follows_device_fault(const Cursor& cursor);

/// The nearest of up to `most` lines after (before) the current one that contains `word`; nullopt if there is none.
std::optional<Line> find_after(const Cursor& cursor, int most, std::string_view word);
std::optional<Line> find_before(const Cursor& cursor, int most, std::string_view word);

/// In the description of a container: true for the "Last State" of one that runs again, so its log is not that of this
/// end. As long as it waits for its restart, its log is the last one.
bool is_of_earlier_container(const Cursor& cursor);

}  // namespace oomdoctor
