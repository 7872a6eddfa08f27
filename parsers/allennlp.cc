// AllenNLP since 1.2: memory at the start of each epoch, and again in the table of metrics at the end.
//
// Both are peaks in bytes: torch's peak, reset at each read, and ru_maxrss times 1024. The log prints them with a
// letter for 2^10 to 2^30. The table divides them by 2^20. AllenNLP 2.x prints the table through its console logger.
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::allennlp {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

void emit(std::string_view number, const Reading& form, std::string_view label, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  Reading r = form;
  r.value = value->value * form.quantum;
  for (int i = 0; i < value->decimals; ++i) r.quantum /= 10;
  r.label = std::string(label);
  sink.reading(r);
}

Reading process_peak() {
  Reading r;
  r.metric = Metric::host_rss;
  r.kind = SeriesKind::running_maximum;
  return r;
}

Reading gpu_peak() {
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  return r;
}

/// A line numbers either workers or GPUs.
void set_origin(std::string_view number, bool worker, EventSink& sink) {
  Origin where;
  (worker ? where.rank : where.device) = static_cast<int>(leading_integer(number));
  sink.at(where);
}

}  // namespace

/// The form since 1.2: "Worker 0 memory usage: 2.9G", "GPU 0 memory usage: 812M".
void formatted(const Match& m, EventSink& sink) {
  const bool worker = m[1] == "Worker";
  set_origin(m[2], worker, sink);
  Reading r = worker ? process_peak() : gpu_peak();
  r.quantum = m[4] == "G" ? static_cast<double>(GiB) : m[4] == "M" ? mebibyte : m[4] == "K" ? 1024 : 1;
  r.unit = std::string(m[4]);
  emit(m[3], r, "", sink);
}

void table(const Match& m, EventSink& sink) {
  const bool worker = m[2] == "worker";
  set_origin(m[3], worker, sink);
  Reading r = worker ? process_peak() : gpu_peak();
  if (!worker && !m.has(1)) {  // without the console logger the version may be older and the value nvidia-smi's
    r.metric = Metric::used;
    r.kind = SeriesKind::sampled_gauge;
  }
  r.quantum = mebibyte;
  r.unit = "MB";
  emit(m[4], r, "end of epoch", sink);
}

}  // namespace oomdoctor::parsers::allennlp
