#include "base/error.h"

#include <algorithm>

namespace oomdoctor {

std::string caret_excerpt(std::string_view line, std::size_t column) {
  // Of a long line the part around the place: the terminal would wrap the rest, and the caret would stand nowhere.
  constexpr std::size_t before = 60, longest = 120;
  if (line.size() > longest) {
    std::size_t from = std::min(column > before ? column - before : 0, line.size() - longest);
    while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;  // no half characters
    line = line.substr(from, longest);
    column = column > from ? column - from : 0;
  }
  // Tabs are kept in the blank part, so that the caret stands under its place whatever the terminal makes of a tab;
  // continuation bytes of UTF-8 take no column of their own.
  std::string blank;
  for (const char c : line.substr(0, std::min(column, line.size()))) {
    if (c == '\t')
      blank += '\t';
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      blank += ' ';
  }
  return std::string(line) + '\n' + blank + '^';
}

}  // namespace oomdoctor
