// Evaluation in detectron2 and in programs with the MetricLogger. Its batches print the maximum of the whole run, in
// units of 2^20 bytes.
#include <charconv>

#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

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
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
