// Megatron-LM and NeMo: memory reports with a caller's name, progress, and the values in exported scalars.
//
// The reports print counters of the allocator, divided by 2^20 and labelled MB. The maxima are never reset.
#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::megatron {

/// Scalars that Megatron's tests keep: "mem-allocated-bytes": {…, "values": {"1": 684610560.0, "5": …}}. The first
/// value of each run is lower than the others, because the optimizer states do not exist yet.
void scalars(const Match& m, EventSink& sink) {
  constexpr int max_lines = 4000;
  Reading r;
  const bool maximum = m[1] == "max-";
  r.metric = maximum ? Metric::max_allocated : Metric::allocated;
  r.kind = maximum ? SeriesKind::running_maximum : SeriesKind::gauge;
  r.quantum = 1;
  r.unit = "bytes";
  bool inside = false;
  // Reads the pairs of one line; true while the object continues on the next line.
  const auto read = [&](std::string_view text) {
    if (!inside) {
      const std::size_t values = text.find("\"values\"");
      if (values == text.npos) return text.find('}') == text.npos;
      inside = true;
      text.remove_prefix(values + 8);
    }
    for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at)) {
      ++at;
      if (text.find('}') < at) return false;
      const auto step = read_number(text, at);
      if (!step || !text.substr(at).starts_with("\":")) continue;
      at += 2;
      while (at < text.size() && text[at] == ' ') ++at;
      const auto value = read_number(text, at);
      if (!value) continue;
      r.value = value->value;
      sink.reading(r, step->value);
    }
    return text.find('}') == text.npos;
  };
  if (!read(m.after())) return;
  i64 last = m.cursor.line().number;
  m.cursor.forward(max_lines, [&](const Line& line) { return last = line.number, read(line.text); });
  sink.claim_through(last);
}

/// " iteration       50/  500000 | consumed samples: ..." appears every interval and contains no memory.
void iteration(const Match& m, EventSink& sink) {
  Step step;
  for (std::size_t at = 0, i = 1; i <= 2; ++i, at = 0) {
    i64 value = 0;
    for (; at < m[i].size(); ++at) value = value * 10 + (m[i][at] - '0');
    (i == 1 ? step.step : step.total) = value;
  }
  sink.step(step);
}

/// NeMo prints the values that its strategy logs, in bytes. The peak is never reset.
void nemo(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto step = read_number(m[1], at);
  if (step) sink.step({static_cast<i64>(step->value), {}, {}});
  for (std::size_t i = 2; i <= 3; ++i) {
    at = 0;
    const auto value = read_number(m[i], at);
    if (!value) continue;
    Reading r;
    r.metric = i == 2 ? Metric::memory : Metric::allocated;
    r.kind = i == 2 ? SeriesKind::running_maximum : SeriesKind::gauge;
    r.value = value->value;
    r.quantum = 1;
    r.unit = "bytes";
    if (i == 2) r.label = "peak_memory_usage";
    sink.reading(r, step ? std::optional(step->value) : std::nullopt);
  }
}

/// True for reports with a caller's name in front: "after 50 iterations", "[Rank 0] after load", "before forward". Also
/// true for old versions, which print "cached" for the reserved memory.
bool is_named_report(std::string_view line) {
  return line.find("iterations") == line.npos || line.find("| cached:") != line.npos;
}

/// may_match: reports of iterations are gauges. Skips their lines, which are frequent in a log.
bool may_be_named(std::string_view block, std::size_t at) {
  constexpr std::size_t line_length = 300;
  const std::string_view before = block.substr(0, at), after = block.substr(at, line_length);
  return !(before.ends_with("iterations) ") || before.ends_with("iterations ")) ||
         after.substr(0, find_line_end(after)).find("| cached:") != after.npos;
}

void named_report(const Match& m, EventSink& sink) {
  Origin where;
  if (m.has(1)) where.rank = static_cast<int>(leading_integer(m[1]));
  sink.at(where);
  constexpr std::string_view after = "after ";
  const std::string_view count = m[2].starts_with(after) ? m[2].substr(after.size()) : "";
  std::optional<double> step;
  if (!count.empty() && is_digit(count[0])) step = static_cast<double>(leading_integer(count));
  for (std::size_t i = 3; i <= 6; ++i) {
    std::size_t at = 0;
    const auto value = read_number(m[i], at);
    if (!value) continue;
    Reading r;
    r.metric = i == 3   ? Metric::allocated
               : i == 4 ? Metric::max_allocated
               : i == 5 ? Metric::reserved
                        : Metric::max_reserved;
    r.kind = i % 2 == 0 ? SeriesKind::running_maximum : SeriesKind::gauge;
    r.value = value->value * static_cast<double>(MiB);
    r.quantum = static_cast<double>(MiB);
    for (int k = 0; k < value->decimals; ++k) r.quantum /= 10;
    r.unit = "MB";
    r.phase = m[2].find_first_of("0123456789") == m[2].npos ? std::string(m[2]) : "";
    sink.reading(r, step);
  }
}

}  // namespace oomdoctor::parsers::megatron
