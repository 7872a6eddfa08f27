// UTF-8 as a terminal shows it: one character at a time, with its width in columns. Bad bytes are characters of their
// own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oomdoctor {

struct Utf8Char {
  char32_t code = 0;
  std::size_t size = 1;  ///< bytes; at least 1
  bool good = false;     ///< false: `code` is one byte that belongs to no valid sequence
};

/// The character at the start of a text that is not empty. Overlong forms, surrogates and cut sequences are not good.
Utf8Char first_character(std::string_view text);

/// Columns: 0 for combining marks, 2 for East Asian wide characters and most emoji, else 1. The usual ranges, not all.
int columns_of(char32_t code);

/// Columns of a text; colour sequences (ESC [ … m) take none.
int columns_of(std::string_view text);

/// The longest start of at most `most` bytes that cuts no character.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

/// The same text for a terminal that shows nothing else: line art and signs of the report have a substitute each, any
/// other character becomes '?'.
std::string in_ascii(std::string_view text);

}  // namespace oomdoctor
