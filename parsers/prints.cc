// Memory that users print themselves, in any form that parse/freeform.h can read.
//
// These patterns are fallbacks: they apply only if no known format took the line. Units such as GB do not show whether
// they mean 10^9 or 2^30. Such series are marked, and the GPU's capacity decides later.
#include "parse/freeform.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers::prints {
namespace {

/// Corrects the metric if the words of the line show that a bare "free" or "used" is about host RAM: msg="system
/// memory" free="900.1 MiB".
Metric metric_on(std::string_view line, Metric printed) {
  if (printed != Metric::free && printed != Metric::used) return printed;
  const bool host = line.find("system memory") != line.npos || line.find("host memory") != line.npos;
  if (!host) return printed;
  return printed == Metric::free ? Metric::host_available : Metric::host_used;
}

}  // namespace

bool holds_memory(const FreeformLine& printed) { return !printed.values.empty(); }

void emit(const Match& m, EventSink& sink) {
  const FreeformLine& printed = *m.printed;
  const auto whole = [](const std::optional<double>& x) { return x ? std::optional(whole_number(*x)) : std::nullopt; };
  if (!printed.evaluation && (printed.step || printed.epoch))
    sink.step({whole(printed.step), whole(printed.total), printed.epoch});
  for (const FreeformValue& v : printed.values) {
    Origin where;
    where.device = v.device;
    sink.at(where);
    Reading reading = v.reading;
    reading.metric = metric_on(m.text, reading.metric);
    sink.reading(reading, printed.step);
  }
}

/// Reads the longest sequence of a batch. It appears at the end of many kinds of step lines, also those of known
/// formats.
void longest(const Match& m, EventSink& sink) {
  const FreeformLine printed = read_freeform(m.text);
  if (printed.step && !printed.evaluation) sink.step({whole_number(*printed.step), {}, {}});
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  Reading r;
  r.metric = Metric::input_length;
  r.value = number ? number->value : 0;
  r.quantum = 1;
  r.label = "max seq in batch";
  if (printed.evaluation) r.phase = "evaluation";
  sink.reading(r, printed.step);
}

}  // namespace oomdoctor::parsers::prints
