// A printed line taken apart into words, numbers and marks, with the units behind numbers. Views into the line and into
// its copy in lower case: both must outlive the tokens. Their number is bounded.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parse/gauge.h"

namespace oomdoctor {

struct Token {
  enum class Kind { word, number, mark } kind = Kind::mark;
  std::string_view text;
  std::string_view name;  ///< the text in lower case
  std::size_t begin = 0, end = 0;
  GaugeValue number{};
  bool is(char c) const { return kind == Kind::mark && text[0] == c; }
};

/// `lowered` is lower(line).
std::vector<Token> tokens_of(std::string_view line, std::string_view lowered);

/// A unit behind a number, and whether its letters leave open what it means.
struct Unit {
  double bytes = 0;
  std::string_view text;
  bool ambiguous = false;
};

/// `glued`: it stands right behind the digits, as single letters must ("10.5G").
std::optional<Unit> unit_of(std::string_view word, bool glued);

/// The line without what loggers put in front: "[titan] 2025-01-01 10:00:00,000 - root - INFO - ", "[…] [INFO]
/// [x.py:3:f] ".
/// `by_time`: set where a time stamp in the middle of it was told from other numbers by its digits.
std::string_view without_log_head(std::string_view line, bool* by_time = nullptr);

std::string lower(std::string_view text);
bool one_of(std::string_view word, std::initializer_list<std::string_view> list);

}  // namespace oomdoctor
