// Speech and vision toolkits: ESPnet, StyleGAN, and Swin with its relatives.
//
// StyleGAN resets its maxima each tick, the others never do.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double gibibyte = static_cast<double>(GiB), mebibyte = static_cast<double>(MiB);

constexpr Gauge gauges[] = {
    checked(Gauge{.name = "speech_vision/espnet",
                  .anchor = "gpu_max_cached_mem_GB=",
                  .form = "INFO: {epoch}epoch results: [train]~gpu_max_cached_mem_GB={max_reserved}",
                  .unit = gibibyte,
                  .unit_name = "GB",
                  .example =
                      "[node7] 2022-08-01 10:11:12,100 (trainer:338) INFO: 4epoch results: [train] iter_time=0.01, "
                      "optim0_lr0=1e-04, train_time=0.8, time=30 minutes, total_count=4000, "
                      "gpu_max_cached_mem_GB=17.25"}),
    checked(Gauge{.name = "speech_vision/stylegan",
                  .anchor = "gpumem ",
                  .form = "tick {step} kimg~maintenance {skip} <cpumem {host_rss} >gpumem {max_allocated} <reserved "
                          "{max_reserved}>",
                  .unit = gibibyte,
                  .unit_name = "",
                  .maxima = SeriesKind::reset_maximum,
                  .example =
                      "tick 3     kimg 12.0     time 6m 11s       sec/tick 101.2   sec/kimg 25.30   maintenance 0.1 "
                      "   cpumem 4.71   gpumem 7.90   reserved 8.42   augment 0.011"}),
    checked(Gauge{.name = "speech_vision/swin",
                  .anchor = "mem ",
                  .form = "Train: [{epoch0}/{skip}][{step}/{total}]~eta~mem {max_allocated}MB",
                  .unit = mebibyte,
                  .unit_name = "MB",
                  .example =
                      "[2022-03-01 10:11:12 swin_tiny](main.py 221): INFO Train: [0/300][20/1251]\teta 0:14:11 lr "
                      "0.000002\t time 0.6811 (0.7120)\tgrad_norm 1.8120 (2.0113)\tmem 9310MB"}),
};

}  // namespace

extern const Parser speech_vision;
const Parser speech_vision{.name = "speech_vision",
                           .title = "ESPnet, StyleGAN, Swin",
                           .source =
                               "ESPnet: espnet2/train/reporter.py; StyleGAN2-ADA and 3: "
                               "training/training_loop.py; Swin-Transformer: main.py",
                           .patterns = {},
                           .gauges = gauges};

}  // namespace oomdoctor::parsers
