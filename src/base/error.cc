#include "base/error.h"

#include <algorithm>

namespace oomdoctor {

std::string caret_excerpt(std::string_view line, std::size_t column) {
  // Cut a long line to the part around the column: a terminal would wrap it and misplace the caret.
  constexpr std::size_t before = 60, max_length = 120;
  if (line.size() > max_length) {
    std::size_t from = std::min(column > before ? column - before : 0, line.size() - max_length);
    while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;  // do not cut a UTF-8 character
    line = line.substr(from, max_length);
    column = column > from ? column - from : 0;
  }
  // Keep tabs in the padding, so that the caret has the right position for every tab width. UTF-8 continuation bytes
  // have no width.
  std::string padding;
  for (const char c : line.substr(0, std::min(column, line.size()))) {
    if (c == '\t')
      padding += '\t';
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      padding += ' ';
  }
  return std::string(line) + '\n' + padding + '^';
}

}  // namespace oomdoctor
