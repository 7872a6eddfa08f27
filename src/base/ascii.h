// Classes of ASCII bytes, and text in lower case or without blanks around it. Nothing depends on the locale, as in
// <cctype>: a byte above 0x7F is in no class and has no other case.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace oomdoctor {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
/// A printable byte that is neither a letter, a digit nor the space.
constexpr bool is_punctuation(char c) { return c > ' ' && c <= '~' && !is_alnum(c); }

/// What may begin a name in a programming language.
constexpr bool is_letter_or_underscore(char c) { return is_letter(c) || c == '_'; }
inline constexpr auto word_chars = [] {
  std::array<bool, 256> out{};
  for (int c = 0; c < 128; ++c) out[static_cast<std::size_t>(c)] = is_alnum(static_cast<char>(c)) || c == '_';
  return out;
}();
/// \w of a regex. A table: the scan asks it for most bytes near an anchor.
constexpr bool is_word_char(char c) { return word_chars[static_cast<unsigned char>(c)]; }
/// "torch.nn", "settings.batch_size".
constexpr bool is_dotted_name_char(char c) { return is_word_char(c) || c == '.'; }
/// "micro-batch-size".
constexpr bool is_dashed_name_char(char c) { return is_word_char(c) || c == '-'; }

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool ends_line(char c) { return c == '\n' || c == '\r'; }
constexpr bool is_blank_or_line_end(char c) { return is_blank(c) || ends_line(c); }
/// \s of a regex: the same with vertical tab and form feed.
constexpr bool is_space(char c) { return is_blank_or_line_end(c) || c == '\v' || c == '\f'; }

constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

/// The text with its first letter in upper case.
inline std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = upper(text[0]);
  return text;
}

/// The text without blanks and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// True if no byte is other than a digit, so also for "".
constexpr bool only_digits(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }

/// True if the path contains the part, which is written with slashes: "/optim/". Windows has backslashes.
constexpr bool path_contains(std::string_view path, std::string_view part) {
  const auto is_same = [](char a, char b) { return a == b || (a == '\\' && b == '/'); };
  return std::search(path.begin(), path.end(), part.begin(), part.end(), is_same) != path.end();
}

}  // namespace oomdoctor
