// What stands around a hit: small questions that parsers of messages without numbers ask before they believe one. A log
// may hold program text, comments and people's sentences with the same words; what no program printed must not become a
// failure.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "parse/window.h"

namespace oomdoctor {

/// The whole number at the front of `text`; 0 when there is none.
i64 leading_integer(std::string_view text);

/// What stands between the first `open` and the next `close`; empty where either is missing.
std::string_view between(std::string_view text, std::string_view open, std::string_view close);

/// `number`, which was read from joined lines, as far as it stands on `line` behind `label`: where lines are joined,
/// the next one's digits would go on with it. As it is where the label is not whole on the line.
std::string_view number_on_line(std::string_view line, std::string_view label, std::string_view number);

/// True when `body` reads as program text or a comment: "raise …", "except …", "# …", "if (…) {", a call of a logger.
bool is_program_text(std::string_view body);

/// True when one of `words` stands on the line of the hit or on one of its neighbours.
bool is_near(const Cursor& cursor, int back, int ahead, std::initializer_list<std::string_view> words);

/// The nearest line in the given direction that holds `word`; nullopt when none of `most` lines does.
std::optional<Line> find_after(const Cursor& cursor, int most, std::string_view word);
std::optional<Line> find_before(const Cursor& cursor, int most, std::string_view word);

/// The text without blanks at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace oomdoctor
