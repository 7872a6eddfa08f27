// The dictionary of nvitop's ResourceMetricCollector. A key consists of tag, host, process or GPU, quantity, unit and
// statistic.
//
// Only the mean is read. The minimum and maximum of the same interval are printed next to it. The physical GPU index
// follows "gpu:"; the index after "cuda:" counts only the GPUs that the process sees.
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"

namespace oomdoctor::parsers::nvitop {
namespace {

void emit(const Match& m, EventSink& sink, Metric metric, std::size_t unit, std::size_t value, const Card& card) {
  std::size_t at = 0;
  const auto number = read_number(m[value], at);
  const auto bytes = unit_bytes(m[unit]);
  if (!number || !bytes) return;
  emit_gpu_reading(sink, card,
                   {.metric = metric,
                    .number = number->value,
                    .unit_bytes = static_cast<double>(*bytes),
                    .unit = m[unit],
                    .decimals = number->decimals});
}

Card parse_card(std::string_view digits) { return {.device = static_cast<int>(leading_integer(digits))}; }

}  // namespace

void used(const Match& m, EventSink& sink) { emit(m, sink, Metric::used, 2, 3, parse_card(m[1])); }
void host(const Match& m, EventSink& sink) { emit(m, sink, Metric::host_used, 1, 2, {}); }

void total(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[3], at);
  if (number) emit_capacity(sink, parse_card(m[1]), static_cast<i64>(number->value + 0.5), m[2]);
}

void process(const Match& m, EventSink& sink) {
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  emit(m, sink, Metric::host_rss, 2, 3, {});
}

}  // namespace oomdoctor::parsers::nvitop
