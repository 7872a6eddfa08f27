#include "report/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace oomdoctor {
Utf8Char first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0) return {bytes[0], 1, false};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(size), true};
}

int count_columns(char32_t code) {
  const auto number = static_cast<utf8proc_int32_t>(code);
  // Terminals show a sign for a code without a character, and the report for a control character.
  const utf8proc_category_t category = utf8proc_category(number);
  if (category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CC)
    return 1;
  return utf8proc_charwidth(number);
}

int count_columns(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const auto end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    const Utf8Char c = first_character(text);
    columns += count_columns(c.code);
    text.remove_prefix(c.size);
  }
  return columns;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // At most three bytes of a character precede its last byte.
  std::size_t end = most;
  for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++back) --end;
  return text.substr(0, end);
}

std::string in_ascii(std::string_view text) {
  struct Substitute {
    std::string_view character, ascii;
  };
  static constexpr std::array<Substitute, 31> substitutes = {
      {{"─", "-"}, {"│", "|"},  {"…", "~"},  {"→", ">"}, {"±", "~"}, {"×", "x"},  {"÷", "/"}, {"−", "-"},
       {"–", "-"}, {"·", "."},  {"▁", "_"},  {"▂", "."}, {"▃", "-"}, {"▄", "="},  {"▅", "+"}, {"▆", "*"},
       {"▇", "%"}, {"█", "#"},  {"▉", "#"},  {"▊", "#"}, {"▋", "#"}, {"▌", "|"},  {"▍", "|"}, {"▎", "|"},
       {"▏", "|"}, {"“", "\""}, {"”", "\""}, {"‘", "'"}, {"’", "'"}, {"≥", ">="}, {"≤", "<="}}};
  std::string out;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, first_character(text).size);
    text.remove_prefix(character.size());
    if (character.size() == 1 && static_cast<unsigned char>(character[0]) < 0x80) {
      out += character;
      continue;
    }
    const auto known = std::find_if(substitutes.begin(), substitutes.end(),
                                    [&](const Substitute& of) { return of.character == character; });
    out += known == substitutes.end() ? std::string_view("?") : known->ascii;
  }
  return out;
}

}  // namespace oomdoctor
