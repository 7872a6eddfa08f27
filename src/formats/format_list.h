// Describes formats in words, for `list formats` and `explain`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// One format in words, for `list formats` and `explain`.
struct FormatInfo {
  std::string name;
  std::string parser, title;  ///< its parser's name and title
  std::string kind;           ///< "message", "table", or the kind of its series: "running maximum", "step"
  std::string unit;  ///< meaning of a printed number: "MB printed, 2^20 meant"; "" if each message prints its unit
  std::string example;
  std::string source;  ///< the code that prints it
};
/// All formats of `parsers`. Scans each example, which takes time.
std::vector<FormatInfo> list_formats(std::span<const Parser* const> parsers);

}  // namespace oomdoctor
