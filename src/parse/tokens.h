// A printed line taken apart into words, numbers and marks, with the units behind numbers. Views into the line and into
// its copy in lower case: both must outlive the tokens. Their number is bounded.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "parse/line_format.h"

namespace oomdoctor {

struct Token {
  enum class Kind { word, number, mark } kind = Kind::mark;
  std::string_view text;
  std::string_view name;  ///< the text in lower case
  std::size_t begin = 0, end = 0;
  GaugeValue number{};
  bool is(char c) const { return kind == Kind::mark && text[0] == c; }
};

/// The tokens of a line, one after the other.
class TokenReader {
 public:
  /// `lowered` is lower(line).
  TokenReader(std::string_view line, std::string_view lowered) : line_(line), lowered_(lowered) {}

  /// nullopt behind the last, and behind as many as no line of measurements has.
  std::optional<Token> next();

 private:
  std::string_view line_, lowered_;
  std::size_t at_ = 0, read_ = 0;
};

/// A unit behind a number, and whether its letters leave open what it means.
struct Unit {
  double bytes = 0;
  std::string_view text;
  bool ambiguous = false;
};

/// `glued`: it stands right behind the digits, as single letters must ("10.5G").
std::optional<Unit> unit_of(std::string_view word, bool glued);

/// What loggers put in front of a line: "[titan] 2025-01-01 10:00:00,000 - root - INFO - ", "[…] [INFO] [x.py:3:f] ".
struct LogHead {
  std::size_t length = 0;          ///< bytes
  bool by_time = false;            ///< a time stamp in the middle of it was told from other numbers by its digits
  std::size_t bytes_examined = 0;  ///< bytes; whatever stands behind them changes nothing
  std::string_view tag = {};       ///< what the last brackets hold
};
LogHead log_head(std::string_view line);

std::string lower(std::string_view text);
bool one_of(std::string_view word, std::initializer_list<std::string_view> list);

}  // namespace oomdoctor
