// The ends of the lines in a block of text: one bit per byte, made in one pass over the text. The line around a
// position and the number of lines before it then take a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor {

/// A line ends at '\n' or '\r' ("\r\n" is one end), but only '\n' counts for line numbers. So each redraw of a progress
/// bar is a line, and all redraws have the same number, as in editors and grep.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  /// The position after the last end in [from, at); `from` if there is none.
  std::size_t find_begin(std::size_t at, std::size_t from) const;
  /// The first end in [at, to), for "\r\n" its first byte; `to` if there is none.
  std::size_t find_end(std::size_t at, std::size_t to) const;
  /// The number of '\n' in [begin, end).
  i64 feeds(std::size_t begin, std::size_t end) const;
  /// True if no byte of the text belongs to an escape sequence or a NUL hole, so its lines need no cleaning (is_clean()
  /// in lines.h).
  bool clean() const { return clean_; }

 private:
  std::vector<std::uint64_t> breaks_;  ///< '\n' and '\r': bit i % 64 of word i / 64 is byte i
  std::vector<std::uint64_t> feeds_;   ///< '\n' only
  bool clean_ = true;
};

}  // namespace oomdoctor
