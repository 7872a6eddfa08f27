// detectron2, maskrcnn-benchmark, and the MetricLogger that the torchvision references, DETR, MAE, LAVIS and many
// others copied.
//
// All of them print torch.cuda.max_memory_allocated() in units of 2^20 bytes and never reset it, not even for
// evaluation. Forks of maskrcnn-benchmark print twice: every rank prints through the root logger without a rank tag,
// and the log file's handler of rank 0 adds its own time. These are two series.
#include <charconv>

#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "detectron2/max_mem",
                       .anchor = "max_mem: ",
                       .form = "iter: {step} ~max_mem: {max_allocated}M",
                       .unit = mebibyte,
                       .unit_name = "M",
                       .example =
                           "[02/11 08:15:21 d2.utils.events]:  eta: 1:02:11  iter: 39  total_loss: 1.871  loss_cls: "
                           "0.771  time: 0.4111  lr: 0.0019  max_mem: 6150M"}),
    checked(LineFormat{.name = "detectron2/memory_stats",
                       .anchor = "max_reserved_mem: ",
                       .form = "iter: {step} max_reserved_mem: {max_reserved}MB reserved_mem: {reserved}MB "
                               "max_allocated_mem: {max_allocated}MB "
                               "allocated_mem: {allocated}MB",
                       .unit = mebibyte,
                       .unit_name = "MB",
                       .maxima = SeriesKind::reset_maximum,
                       .example =
                           "[02/11 08:15:21 d2.engine.hooks]:  iter: 40  max_reserved_mem: 7210MB  reserved_mem: "
                           "7002MB  max_allocated_mem: 6150MB  "
                           "allocated_mem: 1980MB",
                       .label = "memory stats"}),
    checked(LineFormat{.name = "detectron2/maskrcnn_file",
                       .anchor = "max mem: ",
                       .form = "trainer INFO: eta:~iter: {step} ~max mem: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .example =
                           "2021-03-02 09:11:44,102 maskrcnn_benchmark.trainer INFO: eta: 3:12:40  iter: 60  loss: "
                           "1.9120 (2.4107)  lr: 0.004100  max mem: 11822"}),
    checked(LineFormat{.name = "detectron2/maskrcnn_ranks",
                       .anchor = "max mem: ",
                       .form = "INFO:maskrcnn_benchmark.trainer:eta:~iter: {step} ~max mem: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .example = "INFO:maskrcnn_benchmark.trainer:eta: 3:12:40  iter: 60  loss: 1.9120 (2.4107)  lr: "
                                  "0.004100  max mem: 11819",
                       .label = "every rank"}),
    checked(LineFormat{.name = "detectron2/metric_logger",
                       .anchor = "max mem: ",
                       .form = "poch: [{epoch0}] [{step}/{total}] eta:~max mem: {max_allocated}",
                       .unit = mebibyte,
                       .unit_name = "",
                       .example =
                           "Epoch: [2]  [  40/1880]  eta: 0:10:12  lr: 0.000100  loss: 0.9911 (1.2022)  time: 0.3312 "
                           " data: 0.0041  max mem: 9182"}),
};

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

void evaluation_begins(const Match&, EventSink& sink) { sink.remark("phase/evaluation"); }

constexpr Pattern patterns[] = {
    checked(
        {.name = "detectron2/metric_logger_evaluation",
         .anchor = "max mem: ",
         .regex =
             R"((?:[Tt]est|[Ee]val(?:uation)?|[Vv]al(?:idation)?)\b[^\r\n\[\]]{0,40}(?:\[\d{1,6}\] {0,4})?\[ {0,8}(\d{1,8})/ {0,8}\d{1,8}\] {1,4}eta:[^\r\n]{0,900}max mem: (\d{1,7}))",
         .captures = 2,
         .example =
             "Test:  [  20/ 313]  eta: 0:01:10  loss: 0.8120 (0.9911)  time: 0.2211  data: 0.0061  max mem: 9182",
         .emit = evaluation}),
    checked({.name = "detectron2/inference_start",
             .anchor = "Start inference on ",
             .regex = R"(Start inference on \d{1,9} (?:batches|images))",
             .example = "[02/11 09:15:21 d2.evaluation.evaluator]: Start inference on 5000 batches",
             .emit = evaluation_begins}),
};

}  // namespace

extern const Parser detectron2;
const Parser detectron2{.name = "detectron2",
                        .title = "detectron2, maskrcnn-benchmark and MetricLogger",
                        .source =
                            "detectron2: detectron2/utils/events.py, detectron2/engine/hooks.py; maskrcnn-benchmark: "
                            "engine/trainer.py; torchvision: references/detection/utils.py",
                        .patterns = patterns,
                        .gauges = gauges};

}  // namespace oomdoctor::parsers
