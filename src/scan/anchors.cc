#include "scan/anchors.h"

#include <map>
#include <utility>

namespace oomdoctor {

Anchors collect_anchors(std::span<const Parser* const> parsers) {
  Anchors out;
  std::map<std::pair<std::string_view, bool>, std::uint16_t> known;
  const auto add = [&](std::string_view anchor, bool fold_case) {
    const auto next = static_cast<std::uint16_t>(out.text.size());
    const auto [at, added] = known.try_emplace({anchor, fold_case}, next);
    out.mentions.push_back(at->second);
    if (!added) return;
    out.text.emplace_back(anchor);
    out.fold_case.push_back(fold_case);
  };
  for (const Parser* parser : parsers) {
    for (const Pattern& pattern : parser->patterns)
      for_each_anchor(pattern, [&](std::string_view anchor) { add(anchor, pattern.fold_case); });
    for (const LineFormat& gauge : parser->gauges) add(gauge.anchor, false);
    for (const Table& table : parser->tables) add(table.anchor, false);
  }
  return out;
}

}  // namespace oomdoctor
