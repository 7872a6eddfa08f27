// Java's log of its garbage collections: the heap before and after each, "86M->45M(123M)", and what it has of the
// machine's RAM. Only after a full collection is all of it in use: what survives the others may be older garbage.
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/parser.h"

namespace oomdoctor::parsers::gc_logs {
namespace {

bool is_unit(char c) { return c == 'B' || c == 'K' || c == 'M' || c == 'G'; }

/// The heap after the collection: the amounts without a name. The parts of the heap have one, "[ParOldGen:
/// 80K->46K(87K)]".
std::optional<std::string_view> find_heap_after(std::string_view text) {
  for (std::size_t arrow = text.find("->"); arrow != text.npos; arrow = text.find("->", arrow + 1)) {
    std::size_t from = arrow, to = arrow + 2;
    while (from > 0 && (is_digit(text[from - 1]) || is_unit(text[from - 1]))) --from;
    while (to < text.size() && is_digit(text[to])) ++to;
    const bool sized =
        from < arrow && to > arrow + 2 && to + 1 < text.size() && is_unit(text[to]) && text[to + 1] == '(';
    if (sized && !text.substr(0, from).ends_with(": ")) return text.substr(arrow + 2, to + 1 - (arrow + 2));
  }
  return std::nullopt;
}

/// The seconds since the start of the program: "[4.870s]", or "4.870: [Full GC" in version 8.
std::optional<double> find_uptime(std::string_view text) {
  for (const std::string_view end : {"s]", ": ["})
    if (const std::size_t at = text.find(end); at != text.npos && at > 0) {
      const std::size_t from = text.find_last_not_of("0123456789.", at - 1) + 1;
      if (from < at) return leading_number(text.substr(from, at - from));
    }
  return std::nullopt;
}

}  // namespace

void full(const Match& m, EventSink& sink) {
  const std::string_view text = m.cursor.line().text;
  const auto after = find_heap_after(text);
  if (!after) return;
  const std::string_view unit = after->substr(after->size() - 1);
  const auto bytes = static_cast<double>(unit_bytes(unit).value_or(1));
  Reading r = sampled_reading(Metric::host_rss, leading_number(*after) * bytes, bytes, unit,
                              "Java heap after a full collection");
  const std::optional<double> uptime = find_uptime(text);
  r.since_start = uptime.has_value();
  sink.reading(r, {}, uptime);
}

}  // namespace oomdoctor::parsers::gc_logs
