// The OpenMMLab family: mmcv 1.x (mmdet 2.x, mmseg 0.x, mmedit, mmdet3d), mmengine and XTuner.
//
// "memory" is int(max_memory_allocated() / 2^20) of the rank with the maximum. mmcv never resets the counter. mmengine
// resets it at every read, so its values may fall. mmcv can print a corrupt value right after the end of an epoch.
#include <charconv>

#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "mmlab/mmengine_epoch",
                       .anchor = "Epoch(train)",
                       .form = "Epoch(train) [{epoch}][{step}/{total}] ~memory: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "04/12 17:31:09 - mmengine - INFO - Epoch(train)  [2][ 50/310]  lr: 2.0000e-03  eta: "
                                  "0:12:01  time: 0.2511  data_time: 0.0102  "
                                  "memory: 7411  loss: 1.8107"}),
    checked(LineFormat{.name = "mmlab/mmengine_iteration",
                       .anchor = "Iter(train)",
                       .form = "Iter(train) [{step}/{skip}] ~memory: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .maxima = SeriesKind::reset_maximum,
                       .example =
                           "04/12 17:31:09 - mmengine - INFO - Iter(train) [  150/40000]  lr: 9.9e-03  eta: 3:12:01  "
                           "time: 0.2511  data_time: 0.0102  "
                           "memory: 7411  loss: 1.8107"}),
    checked(LineFormat{.name = "mmlab/mmcv_epoch",
                       .anchor = "Epoch [",
                       .form = "Epoch [{epoch}][{step}/{total}]~memory: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .example = "2021-11-20 10:14:55,120 - mmdet - INFO - Epoch [1][100/7330]\tlr: 1.978e-03, eta: "
                                  "9:31:10, time: 0.401, data_time: 0.011, "
                                  "memory: 4120, loss: 1.9913"}),
    checked(LineFormat{.name = "mmlab/mmcv_iteration",
                       .anchor = "Iter [",
                       .form = "Iter [{step}/{skip}]~memory: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .example =
                           "2021-11-20 10:14:55,120 - mmseg - INFO - Iter [450/80000]\tlr: 9.950e-03, eta: 7:01:32, "
                           "time: 0.318, data_time: 0.005, "
                           "memory: 8201, loss: 1.0911"}),
    checked(LineFormat{
        .name = "mmlab/xtuner",
        .anchor = " max_memory: ",
        .form = "<[RANK {rank}]~>Step {step}~max_memory: {max_allocated} GB reserved_memory: {max_reserved} GB",
        .unit = static_cast<double>(GiB),
        .unit_name = "GB",
        .example = "[XTuner][RANK 0][2025-02-11 10:11:12][INFO] Epoch 1 Step 10/100 data_time: 0.0110 time: "
                   "4.1001 total_loss: 1.21 grad_norm: 1.20 max_memory: 35.21 GB reserved_memory: 40.12 GB "
                   "tgs: 7999.1",
        .source = "XTuner: xtuner/v1/train/trainer.py"}),
};

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
    .patterns = patterns,
    .gauges = gauges};

}  // namespace oomdoctor::parsers
