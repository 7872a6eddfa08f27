// The anchors of a set of parsers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// Calls `visit` for each anchor of a pattern.
template <typename Visit>
void for_each_anchor(const Pattern& pattern, Visit visit) {
  visit(pattern.anchor);
  if (!pattern.second_anchor.empty()) visit(pattern.second_anchor);
  for (const std::string_view anchor : pattern.more_anchors) visit(anchor);
}

struct Anchors {
  std::vector<std::string_view> text;   ///< views into the parsers
  std::vector<bool> fold_case;          ///< parallel; true: the anchor matches in any letter case
  std::vector<std::uint16_t> mentions;  ///< the index of each anchor of each format, in the same order
};

/// Every anchor once, in the order of the parsers: patterns with their further anchors, then gauges, then tables.
Anchors collect_anchors(std::span<const Parser* const> parsers);

}  // namespace oomdoctor
