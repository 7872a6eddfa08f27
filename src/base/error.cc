#include "base/error.h"

#include <algorithm>

namespace oomdoctor {

std::string caret_excerpt(std::string_view line, std::size_t column) {
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
