// The OpenMMLab family: batches of an evaluation, and saved checkpoints.
#include <charconv>

#include "read/parser.h"

namespace oomdoctor::parsers::mmlab {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

}  // namespace

/// Batches of a validation or test pass. mmengine resets the counter here as well.
void evaluation(const Match& m, EventSink& sink) {
  double batch = 0, value = 0;
  std::from_chars(m[1].data(), m[1].data() + m[1].size(), batch);
  sink.remark("phase/evaluation");
  if (!m.has(2)) return;
  std::from_chars(m[2].data(), m[2].data() + m[2].size(), value);
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  r.value = value * mebibyte;
  r.quantum = mebibyte;
  r.phase = "evaluation";
  sink.reading(r, batch);
}

}  // namespace oomdoctor::parsers::mmlab
