// The anchors of a set of parsers, for whoever plans or measures how they are found.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "parse/parser.h"

namespace oomdoctor {

struct Anchors {
  std::vector<std::string> text;
  std::vector<bool> fold_case;  ///< meant in any letter case
};

/// Each once, in the order in which the parsers list them: patterns with their second anchors, gauges, tables.
Anchors anchors_of(std::span<const Parser* const> parsers);

}  // namespace oomdoctor
