#include "report/excerpt.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/bytes.h"
#include "report/escape.h"
#include "report/layout.h"
#include "report/utf8.h"

namespace oomdoctor {
namespace {

/// Moves a cut to the start of the character that it falls into.
std::size_t character_start(std::string_view text, int column) {
  auto at = std::min(static_cast<std::size_t>(std::max(column, 0)), text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

struct Mark {
  std::size_t from = 0, to = 0;
};

/// Where the first size stands that reads as `wanted`, or any size; an empty mark when there is none.
Mark find_size(std::string_view text, std::optional<std::int64_t> wanted) {
  for (auto from = text.find_first_of("0123456789"); from != text.npos; from = text.find_first_of("0123456789", from)) {
    const auto end = std::min(text.find_first_not_of("0123456789.,", from), text.size());
    const auto unit = std::min(text.find_first_not_of(' ', end), text.size());
    auto unit_end = unit;
    while (unit_end < text.size() && std::isalpha(static_cast<unsigned char>(text[unit_end]))) ++unit_end;
    const auto size = read_bytes(text.substr(from, end - from), text.substr(unit, unit_end - unit));
    if (size && (!wanted || std::abs(size->count - *wanted) <= size->slack)) return {from, unit_end};
    from = end;
  }
  return {};
}

/// The caret goes under the requested size; where that is not printed, under a size that the line's reader
/// marked.
Cited whole_line(const ReportIncident& of) {
  constexpr std::size_t longest_mark = 60;  // in a longer one, no size is the one that matters
  const std::string_view text = of.location.excerpt;
  Mark mark;
  if (of.requested_bytes) mark = find_size(text, of.requested_bytes);
  const auto from = character_start(text, of.location.column);
  const auto to = std::max(from, character_start(text, of.location.end_column));
  if (mark.to == 0 && to - from <= longest_mark) {
    mark = find_size(text.substr(from, to - from), std::nullopt);
    mark = {from + mark.from, from + mark.to};
  }
  return {plain_line(text.substr(0, mark.from)), plain_line(text.substr(mark.from, mark.to - mark.from)),
          plain_line(text.substr(mark.to))};
}

/// Cuts a line to `width` so that the mark stays in sight with some text on both of its sides.
void fit(Cited& line, int width) {
  line.mark = clip_end(line.mark, width - 2);
  const int mark = columns_of(line.mark);
  const int rest = width - mark;
  constexpr int least_behind = 12;
  const int behind = std::min(columns_of(line.after), std::max(least_behind, rest - columns_of(line.before)));
  line.before = clip_front(line.before, rest - behind);
  line.after = clip_end(line.after, rest - columns_of(line.before));
}

}  // namespace

Cited cite(const ReportIncident& of, int width) {
  Cited line = whole_line(of);
  fit(line, width);
  return line;
}

std::string_view mark_label(const Cited& line, const ReportIncident& of) {
  const auto gap = line.mark.find(' ');
  if (!of.requested_bytes || gap == std::string::npos) return "";
  const auto size = read_bytes(line.mark.substr(0, gap), line.mark.substr(gap + 1));
  const bool same = size && std::abs(size->count - *of.requested_bytes) <= size->slack;
  return same ? " requested" : "";
}

}  // namespace oomdoctor
