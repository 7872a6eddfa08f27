// Evaluation in detectron2 and in programs with the MetricLogger. Its batches print the maximum of the whole run, in
// units of 2^20 bytes.
#include <charconv>

#include "read/parser.h"

namespace oomdoctor::parsers::detectron2 {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

}  // namespace

/// Evaluation uses the same counter. Its batches restart at 0 and are not training steps.
void evaluation(const Match& m, EventSink& sink) {
  double batch = 0, value = 0;
  std::from_chars(m[1].data(), m[1].data() + m[1].size(), batch);
  std::from_chars(m[2].data(), m[2].data() + m[2].size(), value);
  if (batch == 0) sink.remark("phase/evaluation");
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::running_maximum;
  r.value = value * mebibyte;
  r.quantum = mebibyte;
  r.phase = "evaluation";
  sink.reading(r, batch);
}

}  // namespace oomdoctor::parsers::detectron2
