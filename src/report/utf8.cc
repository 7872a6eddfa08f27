#include "report/utf8.h"

#include <algorithm>
#include <array>

namespace oomdoctor {
namespace {

struct Range {
  char32_t first, last;
};

bool within(char32_t code, const auto& ranges) {
  for (const Range& range : ranges)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

}  // namespace

Utf8Char first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {lead, 1, false};
  char32_t code = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {lead, 1, false};
  return {code, size, true};
}

int columns_of(char32_t code) {
  constexpr std::array<Range, 6> zero_width = {
      {{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};
  constexpr std::array<Range, 48> wide = {
      {{0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A}, {0x23E9, 0x23EC}, {0x23F0, 0x23F0},   {0x23F3, 0x23F3},
       {0x2427, 0x243F}, {0x244B, 0x245F}, {0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653},   {0x267F, 0x267F},
       {0x2693, 0x2693}, {0x26A1, 0x26A1}, {0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
       {0x26D4, 0x26D4}, {0x26EA, 0x26EA}, {0x26F2, 0x26F3}, {0x26F5, 0x26F5}, {0x26FA, 0x26FA},   {0x26FD, 0x26FD},
       {0x2705, 0x2705}, {0x270A, 0x270B}, {0x2728, 0x2728}, {0x274C, 0x274C}, {0x274E, 0x274E},   {0x2753, 0x2755},
       {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27B0, 0x27B0}, {0x27BF, 0x27BF}, {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},
       {0x2B55, 0x2B55}, {0x2B74, 0x2B75}, {0x2B96, 0x2B96}, {0x2E80, 0x303E}, {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
       {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}}};
  if (code < 0x300) return 1;
  return within(code, zero_width) ? 0 : within(code, wide) ? 2 : 1;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const auto end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    const Utf8Char c = first_character(text);
    columns += columns_of(c.code);
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
