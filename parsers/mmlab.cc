// The OpenMMLab family: batches of an evaluation, and saved checkpoints.
#include <charconv>

#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

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

void saving(const Match&, EventSink& sink) { sink.remark("phase/checkpoint_save"); }

constexpr Pattern patterns[] = {
    checked(
        {.name = "mmlab/evaluation_epoch",
         .anchor = "Epoch(val)",
         .regex =
             R"(Epoch\(val\) {1,4}\[\d{1,6}\]\[ {0,8}(\d{1,8})/ {0,8}\d{1,8}\](?:[^\r\n]{0,300}? memory: (\d{1,7}))?)",
         .captures = 2,
         .example = "04/12 17:41:09 - mmengine - INFO - Epoch(val)  [1][ 50/120]    eta: 0:00:22  time: 0.1511  "
                    "data_time: 0.0032  memory: 1822",
         .emit = evaluation}),
    checked(
        {.name = "mmlab/evaluation_test",
         .anchor = "Epoch(test)",
         .regex =
             R"(Epoch\(test\) {1,4}(?:\[\d{1,6}\])?\[ {0,8}(\d{1,8})/ {0,8}\d{1,8}\](?:[^\r\n]{0,300}? memory: (\d{1,7}))?)",
         .captures = 2,
         .example = "04/12 17:41:09 - mmengine - INFO - Epoch(test) [ 50/120]    eta: 0:00:22  time: 0.1511  "
                    "data_time: 0.0032  memory: 1822",
         .emit = evaluation}),
    checked({.name = "mmlab/saving",
             .anchor = "Saving checkpoint at ",
             .regex = R"(Saving checkpoint at \d{1,9} (?:epochs?|iterations?|iters?))",
             .example = "04/12 17:40:59 - mmengine - INFO - Saving checkpoint at 1 epochs",
             .emit = saving}),
};

}  // namespace

extern const Parser mmlab;
const Parser mmlab{
    .name = "mmlab",
    .title = "mmcv, mmengine and XTuner",
    .source =
        "mmcv: mmcv/runner/hooks/logger/text.py; mmengine: mmengine/runner/log_processor.py, mmengine/device/utils.py",
    .patterns = patterns};

}  // namespace oomdoctor::parsers
