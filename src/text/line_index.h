// Where the lines of a block of text end: one bit a byte, made in one pass over the text. The line around a place and
// the number of lines up to it are then questions of a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace oomdoctor {

/// A line ends at '\n' or '\r' ("\r\n" is one end), but only '\n' counts: the redraws of a progress bar are read each
/// as a line and have one number, that of editors and grep.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  /// Behind the last end in [from, at); `from` where there is none.
  std::size_t begin_of(std::size_t at, std::size_t from) const;
  /// The first end in [at, to), of "\r\n" its first byte; `to` where there is none.
  std::size_t end_of(std::size_t at, std::size_t to) const;
  /// How many '\n' are in [begin, end).
  i64 feeds(std::size_t begin, std::size_t end) const;
  /// No byte of the text belongs to an escape sequence or a hole: its lines need no cleaning (is_clean() in lines.h).
  bool clean() const { return clean_; }

 private:
  std::vector<std::uint64_t> breaks_;  ///< '\n' and '\r': bit i % 64 of word i / 64 is byte i
  std::vector<std::uint64_t> feeds_;   ///< '\n' alone
  bool clean_ = true;
};

}  // namespace oomdoctor
