// UTF-8 as a terminal shows it: one character at a time, with its width in columns. An invalid byte is a character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oomdoctor {

struct Utf8Char {
  char32_t code = 0;
  std::size_t size = 1;  ///< bytes; at least 1
  bool good = false;     ///< false: `code` is one byte outside any valid sequence
};

/// The first character of a text that is not empty. Overlong forms, surrogates and truncated sequences are not good.
Utf8Char first_character(std::string_view text);

/// Columns: 0 for combining marks and invisible characters, 2 for East Asian wide characters and most emoji, else 1.
int count_columns(char32_t code);

/// Columns of a text; colour sequences (ESC [ … m) take none.
int count_columns(std::string_view text);

/// The longest prefix of at most `most` bytes that splits no character.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The text for a terminal that shows ASCII only. Line art and signs of the report have substitutes, any other
/// character becomes '?'.
std::string in_ascii(std::string_view text);

}  // namespace oomdoctor
