// Evaluation in programs with the MetricLogger. Its batches print the maximum of the whole run, in units of 2^20
// bytes.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::metric_logger {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

}  // namespace

/// Evaluation uses the same counter. Its batches restart at 0 and are not training steps.
void evaluation(const Match& m, EventSink& sink) {
  const double batch = to_double(leading_integer(m[1]));
  if (batch == 0) sink.remark("phase/evaluation");
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::running_maximum;
  r.value = to_double(leading_integer(m[2])) * mebibyte;
  r.quantum = mebibyte;
  r.phase = "evaluation";
  sink.reading(r, batch);
}

}  // namespace oomdoctor::parsers::metric_logger
