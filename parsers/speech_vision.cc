// Speech and vision toolkits: ESPnet, RETURNN, StyleGAN, and Swin with its relatives.
//
// StyleGAN resets its maxima each tick and RETURNN each epoch. The others never reset them. RETURNN counts the steps
// inside an epoch and does not print the number of steps per epoch.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

constexpr double gibibyte = static_cast<double>(GiB), mebibyte = static_cast<double>(MiB);

constexpr LineFormat gauges[] = {
    checked(LineFormat{
        .name = "speech_vision/espnet",
        .anchor = "gpu_max_cached_mem_GB=",
        .form = "INFO: {epoch}epoch results: [train]~gpu_max_cached_mem_GB={max_reserved}",
        .unit = gibibyte,
        .unit_name = "GB",
        .example = "[node7] 2022-08-01 10:11:12,100 (trainer:338) INFO: 4epoch results: [train] iter_time=0.01, "
                   "optim0_lr0=1e-04, train_time=0.8, time=30 minutes, total_count=4000, "
                   "gpu_max_cached_mem_GB=17.25"}),
    checked(LineFormat{
        .name = "speech_vision/stylegan",
        .anchor = "gpumem ",
        .form = "tick {step} kimg~maintenance {skip} <cpumem {host_rss} >gpumem {max_allocated} <reserved "
                "{max_reserved}>",
        .unit = gibibyte,
        .unit_name = "",
        .maxima = SeriesKind::reset_maximum,
        .example = "tick 3     kimg 12.0     time 6m 11s       sec/tick 101.2   sec/kimg 25.30   maintenance 0.1 "
                   "   cpumem 4.71   gpumem 7.90   reserved 8.42   augment 0.011"}),
    checked(LineFormat{.name = "speech_vision/swin",
                       .anchor = "mem ",
                       .form = "Train: [{epoch0}/{skip}][{step}/{total}]~eta~mem {max_allocated}MB",
                       .unit = mebibyte,
                       .unit_name = "MB",
                       .example =
                           "[2022-03-01 10:11:12 swin_tiny](main.py 221): INFO Train: [0/300][20/1251]\teta 0:14:11 lr "
                           "0.000002\t time 0.6811 (0.7120)\tgrad_norm 1.8120 (2.0113)\tmem 9310MB"}),
};

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
                           .patterns = patterns,
                           .gauges = gauges};

}  // namespace oomdoctor::parsers
