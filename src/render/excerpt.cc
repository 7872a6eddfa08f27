#include "render/excerpt.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/layout.h"
#include "report/escape.h"
#include "report/utf8.h"

namespace oomdoctor {
namespace {

/// The start of the character that contains this byte, so that a cut splits no character.
std::size_t character_start(std::string_view text, int column) {
  auto at = std::min(static_cast<std::size_t>(std::max(column, 0)), text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

struct MarkedColumns {
  std::size_t from = 0, to = 0;
};

/// The first size in the text that equals `wanted`, or any size without `wanted`; an empty mark if there is none.
MarkedColumns find_size(std::string_view text, std::optional<std::int64_t> wanted) {
  for (auto from = text.find_first_of("0123456789"); from != text.npos; from = text.find_first_of("0123456789", from)) {
    const auto end = std::min(text.find_first_not_of("0123456789.,", from), text.size());
    const auto unit = std::min(text.find_first_not_of(' ', end), text.size());
    auto unit_end = unit;
    while (unit_end < text.size() && is_letter(text[unit_end])) ++unit_end;
    const auto size = read_bytes(text.substr(from, end - from), text.substr(unit, unit_end - unit));
    if (size && (!wanted || std::abs(size->count - *wanted) <= size->slack)) return {from, unit_end};
    from = end;
  }
  return {};
}

/// The caret goes under the requested size. If the line does not print it, under the size in the part that the reader
/// marked.
MarkedLine whole_line(const ReportIncident& of) {
  constexpr std::size_t max_mark = 60;  // a longer mark contains no single decisive size
  const std::string_view text = of.location.excerpt;
  MarkedColumns mark;
  if (of.requested_bytes) mark = find_size(text, of.requested_bytes);
  const auto from = character_start(text, of.location.column);
  const auto to = std::max(from, character_start(text, of.location.end_column));
  if (mark.to == 0 && to - from <= max_mark) {
    mark = find_size(text.substr(from, to - from), std::nullopt);
    mark = {from + mark.from, from + mark.to};
  }
  return {plain_line(text.substr(0, mark.from)), plain_line(text.substr(mark.from, mark.to - mark.from)),
          plain_line(text.substr(mark.to))};
}

/// A line whose message follows a progress bar, without the bar: its description and the message.
std::string without_bar(std::string_view text) {
  std::size_t end = 0;
  for (const std::string_view unit : {"it/s]", "s/it]", "it/s, ", "s/it, "})
    if (const std::size_t at = text.rfind(unit); at != text.npos) {
      const std::size_t close = text.find(']', at);
      if (close != text.npos) end = std::max(end, close + 1);
    }
  const std::size_t bar = text.substr(0, end).rfind("%|");
  if (bar == text.npos || trimmed(text.substr(end)).empty()) return std::string(text);
  return std::string(text.substr(0, bar + 2)) + "… " + std::string(trimmed(text.substr(end)));
}

/// Cuts a line to `width` so that the mark stays visible with some text on both sides.
void fit(MarkedLine& line, int width) {
  line.mark = clip_end(line.mark, width - 2);
  const int mark = count_columns(line.mark);
  const int rest = width - mark;
  constexpr int min_after = 12;
  const int after = std::min(count_columns(line.after), std::max(min_after, rest - count_columns(line.before)));
  line.before = clip_front(line.before, rest - after);
  line.after = clip_end(line.after, rest - count_columns(line.before));
}

}  // namespace

MarkedLine mark_line(const ReportIncident& of, int width) {
  MarkedLine line = whole_line(of);
  if (line.mark.empty() && count_columns(line.before) + count_columns(line.after) > width)
    line.after = without_bar(line.after);
  fit(line, width);
  return line;
}

std::string_view mark_label(const MarkedLine& line, const ReportIncident& of) {
  const auto gap = line.mark.find(' ');
  if (!of.requested_bytes || gap == std::string::npos) return "";
  const auto size = read_bytes(line.mark.substr(0, gap), line.mark.substr(gap + 1));
  const bool same = size && std::abs(size->count - *of.requested_bytes) <= size->slack;
  return same ? " requested" : "";
}

}  // namespace oomdoctor
