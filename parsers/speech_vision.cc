// Speech and vision toolkits: ESPnet, StyleGAN, PaddlePaddle's toolkits, Swin and its relatives, and AllenNLP's table.
//
// StyleGAN resets its maxima each tick, the others never do. Consoles wrap PaddlePaddle's long lines inside of numbers.
#include <array>

#include "parse/gauge.h"
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
    checked(Gauge{.name = "speech_vision/allennlp_gpu",
                  .anchor = "_memory_MB",
                  .form = "gpu_{device}_memory_MB | {used}",
                  .unit = mebibyte,
                  .unit_name = "MB",
                  .current = SeriesKind::sampled_gauge,
                  .example =
                      "2020-05-01 10:11:12,100 - INFO - allennlp.common.tensorboard_writer - gpu_0_memory_MB    |  "
                      "1411.000  |       N/A"}),
    // ru_maxrss counts in KiB, and is divided by 1000.
    checked(Gauge{.name = "speech_vision/allennlp_cpu",
                  .anchor = "cpu_memory_MB",
                  .form = "cpu_memory_MB | {host_rss}",
                  .unit = 1024e3,
                  .unit_name = "MB",
                  .current = SeriesKind::running_maximum,
                  .example =
                      "2020-05-01 10:11:12,100 - INFO - allennlp.common.tensorboard_writer - cpu_memory_MB      |  "
                      "2914.112  |       N/A"}),
};

/// The step that stands before the values: "global_step:40" or "Epoch:[1][40/900]", in text without blanks.
std::optional<double> step_before(std::string_view text) {
  constexpr std::size_t reach = 600;
  if (text.size() > reach) text.remove_prefix(text.size() - reach);
  constexpr std::string_view global = "global_step:", epoch = "Epoch:[";
  if (std::size_t at = text.rfind(global); at != text.npos) {
    at += global.size();
    const auto step = read_number(text, at);
    return step ? std::optional(step->value) : std::nullopt;
  }
  std::size_t at = text.rfind(epoch);
  if (at == text.npos) return std::nullopt;
  at += epoch.size();
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = read_number(text, at);
    if (!number) return std::nullopt;
    numbers[i] = number->value;
    at += i == 0 ? 2 : 1;
    if (at > text.size()) return std::nullopt;
  }
  return numbers[0] * numbers[2] + numbers[1];
}

void paddle(const Match& m, Sink& sink) {
  const auto step = step_before(m.before());
  if (step && *step < 1e15) sink.step({static_cast<i64>(*step), {}, {}});
  for (std::size_t i = 1; i <= 2; ++i) {
    std::size_t at = 0;
    const auto value = read_number(m[i], at);
    if (!value) continue;
    Reading r;
    r.metric = i == 1 ? Metric::max_reserved : Metric::max_allocated;
    r.kind = SeriesKind::running_maximum;
    r.value = value->value * mebibyte;
    r.quantum = mebibyte;
    r.unit = "MB";
    sink.reading(r, step);
  }
}

constexpr Pattern patterns[] = {
    checked({.name = "speech_vision/paddle",
             .anchor = "max_mem_reserved:",
             .second_anchor = "max_mem_allocated:",
             .regex = R"(max_mem_reserved:(\d{1,8})MB,max_mem_allocated:(\d{1,8})MB)",
             .captures = 2,
             .reach = Reach::message,
             .example =
                 "[2023/02/01 10:11:12] ppocr INFO: epoch: [1/50], global_step: 40, lr: 0.0001, avg_samples: 8.0, "
                 "ips: 13.2 samples/s, eta: 1:12:20, max_mem_reserved: 9120 MB, max_mem_allocated: 8411 MB",
             .emit = paddle}),
};

}  // namespace

extern const Parser speech_vision;
const Parser speech_vision{.name = "speech_vision",
                           .title = "ESPnet, StyleGAN, PaddlePaddle, Swin, AllenNLP",
                           .patterns = patterns,
                           .gauges = gauges};

}  // namespace oomdoctor::parsers
