// Collects the anchors of a set of parsers. For planning and measuring the prefilter.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// Two parallel arrays.
struct Anchors {
  std::vector<std::string_view> text;  ///< views into the parsers
  std::vector<bool> fold_case;         ///< true: the anchor matches in any letter case
};

/// Every anchor once, in the order of the parsers: patterns with their further anchors, then gauges, then tables.
Anchors collect_anchors(std::span<const Parser* const> parsers);

}  // namespace oomdoctor
