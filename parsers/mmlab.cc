// The OpenMMLab family: batches of an evaluation, and saved checkpoints.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::mmlab {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

}  // namespace

/// Batches of a validation or test pass. mmengine resets the counter here as well.
void evaluation(const Match& m, EventSink& sink) {
  const double batch = to_double(leading_integer(m[1]));
  sink.remark("phase/evaluation");
  if (!m.has(2)) return;
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  r.value = to_double(leading_integer(m[2])) * mebibyte;
  r.quantum = mebibyte;
  r.phase = "evaluation";
  sink.reading(r, batch);
}

}  // namespace oomdoctor::parsers::mmlab
