// Splits a line into words, numbers and marks, and reads units. Tokens are views into the line and into its lower-case
// copy: both must outlive them. At most 200 tokens are read.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "read/line_format.h"

namespace oomdoctor {

/// One word, number or mark; blanks separate tokens and are none.
struct Token {
  enum class Kind { word, number, mark } kind = Kind::mark;
  std::string_view text;
  std::string_view name;  ///< `text` in lower case
  /// Offsets in the line.
  std::size_t begin = 0, end = 0;
  /// Valid for a number.
  GaugeValue number{};
  bool is(char c) const { return kind == Kind::mark && text[0] == c; }
};

/// Reads the tokens of a line, from left to right.
class TokenReader {
 public:
  /// `lowered` must be lower(line).
  TokenReader(std::string_view line, std::string_view lowered) : line_(line), lowered_(lowered) {}

  /// nullopt at the end of the line, and after 200 tokens: no line of measurements has that many.
  std::optional<Token> next();

 private:
  std::string_view line_, lowered_;
  std::size_t at_ = 0, read_ = 0;
};

/// The unit after a number. `ambiguous`: its letters may mean a power of 2 or of 10.
struct Unit {
  double bytes = 0;
  std::string_view text;
  bool ambiguous = false;
};

/// nullopt if `word` is not a unit. `glued`: it follows the digits without a blank. Single letters are units only then
/// ("10.5G").
std::optional<Unit> read_unit(std::string_view word, bool glued);

/// What loggers print before the message: "[titan] 2025-01-01 10:00:00,000 - root - INFO - ", "[…] [INFO] [x.py:3:f]
/// ".
struct LogHead {
  std::size_t length = 0;          ///< in bytes
  bool by_time = false;            ///< only its digits distinguish a time stamp in the head from other numbers
  std::size_t bytes_examined = 0;  ///< bytes at the front that can affect the result
  std::string_view tag = {};       ///< text in the last brackets
};
/// The head of a line; length 0 if there is none.
LogHead log_head(std::string_view line);

bool one_of(std::string_view word, std::initializer_list<std::string_view> list);

}  // namespace oomdoctor
