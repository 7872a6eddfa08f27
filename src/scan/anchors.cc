#include "scan/anchors.h"

#include <set>
#include <utility>

namespace oomdoctor {

Anchors collect_anchors(std::span<const Parser* const> parsers) {
  Anchors out;
  std::set<std::pair<std::string_view, bool>> known;
  const auto add = [&](std::string_view anchor, bool fold_case) {
    if (anchor.empty() || !known.insert({anchor, fold_case}).second) return;
    out.text.emplace_back(anchor);
    out.fold_case.push_back(fold_case);
  };
  for (const Parser* parser : parsers) {
    for (const Pattern& pattern : parser->patterns) {
      add(pattern.anchor, pattern.fold_case);
      add(pattern.second_anchor, pattern.fold_case);
      for (const std::string_view anchor : pattern.more_anchors) add(anchor, pattern.fold_case);
    }
    for (const LineFormat& gauge : parser->gauges) add(gauge.anchor, false);
    for (const Table& table : parser->tables) add(table.anchor, false);
  }
  return out;
}

}  // namespace oomdoctor
