// RETURNN. It resets its maximum each epoch, counts the steps inside an epoch, and does not print the number of steps
// per epoch.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

void returnn(const Match& m, EventSink& sink) {
  const auto peak = read_size(m[4]);
  if (!peak) return;
  Origin where;
  if (m.has(3)) where.device = static_cast<int>(leading_integer(m[3]));
  sink.at(where);
  sink.step({leading_integer(m[2]), {}, static_cast<double>(leading_integer(m[1]))});
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::running_maximum;
  r.value = static_cast<double>(peak->count);
  r.quantum = 2 * static_cast<double>(peak->slack);
  r.unit = std::string(m[4].substr(m[4].size() - 2));
  r.label = "mem_usage";
  sink.reading(r);
}

constexpr Pattern patterns[] = {
    checked({.name = "speech_vision/returnn",
             .anchor = "mem_usage:cuda",
             .regex = R"(\bep (\d{1,7}) train, step (\d{1,9}), [^\r\n]{0,1000}?mem_usage:cuda(?::(\d{1,3}))? )"
                      R"((\d{1,5}\.\d[KMGT]B)(?:,|$))",
             .captures = 4,
             .example = "ep 4 train, step 310, ctc 1.208, num_seqs 18, max_size:time 98240, mem_usage:cuda:1 17.3GB, "
                        "0.412 sec/step",
             .emit = returnn,
             .source = "RETURNN: returnn/torch/engine.py"}),
};

}  // namespace

extern const Parser speech_vision;
const Parser speech_vision{.name = "speech_vision",
                           .title = "ESPnet, RETURNN, StyleGAN, Swin",
                           .source =
                               "ESPnet: espnet2/train/reporter.py; StyleGAN2-ADA and 3: "
                               "training/training_loop.py; Swin-Transformer: main.py",
                           .patterns = patterns};

}  // namespace oomdoctor::parsers
