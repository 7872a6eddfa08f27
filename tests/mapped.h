// The result of the map step for the lines of a text, in words. Two ways to read one text must give the same words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scan/format_registry.h"

namespace oomdoctor::testing {

inline std::string words_of(const LineMatch& found, const BlockMatches& all) {
  std::string out = std::string(found.reader) + " " + std::to_string(found.first_line) + "-" +
                    std::to_string(found.last_line) + " " + std::to_string(found.line.prefix.length) + " " +
                    std::to_string(found.line.prefix.rank.value_or(-1)) + " " +
                    std::to_string(found.line.prefix.time.value_or(-1)) + " [" + std::string(found.marked) + "]";
  if (found.rows != nullptr) return out + " " + std::to_string(found.rows->places_end - found.rows->places_begin);
  for (const GaugeValue& value : found.by->gauge != nullptr ? all.values_of(found) : std::span<const GaugeValue>())
    out += " " + std::to_string(value.number) + "=" + std::to_string(value.value);
  if (found.parts != nullptr)
    for (const auto& group : make_captures(found).group) out += "|" + std::string(group);
  if (found.printed != nullptr) {
    const FreeformLine& printed = all.fill_printed(found);
    out +=
        " step " + std::to_string(printed.step.value_or(-1)) + " epoch " + std::to_string(printed.epoch.value_or(-1));
    for (const FreeformValue& v : printed.values)
      out += " " + v.reading.label + "=" + std::to_string(v.reading.value) + "±" + std::to_string(v.reading.quantum) +
             v.reading.unit + "@" + std::to_string(v.device.value_or(-1));
  }
  return out;
}

inline std::vector<std::string> mapped(const FormatRegistry& readers, std::string_view text, TemplateCache& memo) {
  const Window window(text);
  BlockMatches found;
  readers.map(window, 0, text.size(), nullptr, memo, found);
  std::vector<std::string> out;
  for (const LineMatch& f : found.all)
    out.push_back(f.header != nullptr ? std::string((*f.header)->table->name) : words_of(f, found));
  return out;
}

}  // namespace oomdoctor::testing
