// litgpt's last line, and Unsloth's line before the training. litgpt's "GB" is 10^9 bytes, Unsloth's 2^30.
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::finetuning {
namespace {

constexpr double gibibyte = static_cast<double>(GiB);

void emit(std::string_view number, Metric metric, double unit, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::running_maximum;
  r.value = value->value * unit;
  r.quantum = unit;
  for (int i = 0; i < value->decimals; ++i) r.quantum /= 10;
  r.unit = "GB";
  sink.reading(r);
}

}  // namespace

void litgpt(const Match& m, EventSink& sink) { emit(m[1], Metric::max_allocated, 1e9, sink); }
void unsloth(const Match& m, EventSink& sink) { emit(m[1], Metric::max_reserved, gibibyte, sink); }

}  // namespace oomdoctor::parsers::finetuning
