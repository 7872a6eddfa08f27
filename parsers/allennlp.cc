// AllenNLP: memory at the start of each epoch, and again in the table of metrics at its end.
//
// Before 1.2 "MB" of a GPU is nvidia-smi's for the whole card, and that of the CPU is ru_maxrss, which counts KiB,
// divided by 1000. Since then both are peaks in bytes (torch's, reset at each read; ru_maxrss times 1024), printed with
// a letter for 2^10 to 2^30, and divided by 2^20 in the table, which 2.x prints through its console logger.
#include "parse/context.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);
constexpr double thousand_kib = 1024e3;

constexpr LineFormat gauges[] = {
    checked(LineFormat{
        .name = "allennlp/gpu",
        .anchor = "memory usage MB: ",
        .form = "GPU {device} memory usage MB: {used}",
        .unit = mebibyte,
        .unit_name = "MB",
        .current = SeriesKind::sampled_gauge,
        .example = "2020-05-01 10:11:12,300 - INFO - allennlp.training.trainer - GPU 0 memory usage MB: 1411"}),
    checked(LineFormat{.name = "allennlp/cpu",
                       .anchor = "memory usage MB: ",
                       .form = "Peak CPU memory usage MB: {host_rss}",
                       .unit = thousand_kib,
                       .unit_name = "MB",
                       .current = SeriesKind::running_maximum,
                       .example =
                           "2020-05-01 10:11:12,100 - INFO - allennlp.training.trainer - Peak CPU memory usage MB: "
                           "2914.112"}),
    checked(LineFormat{.name = "allennlp/worker",
                       .anchor = "memory usage MB: ",
                       .form = "Worker {rank} memory usage MB: {host_rss}",
                       .unit = thousand_kib,
                       .unit_name = "MB",
                       .current = SeriesKind::running_maximum,
                       .example =
                           "2020-07-01 10:11:12,100 - INFO - allennlp.training.trainer - Worker 0 memory usage MB: "
                           "2914.112"}),
    checked(LineFormat{
        .name = "allennlp/table_cpu",
        .anchor = "cpu_memory_MB",
        .form = "cpu_memory_MB | {host_rss}",
        .unit = thousand_kib,
        .unit_name = "MB",
        .current = SeriesKind::running_maximum,
        .example = "2020-05-01 10:11:12,100 - INFO - allennlp.common.tensorboard_writer - cpu_memory_MB      |  "
                   "2914.112  |       N/A",
        .label = "end of epoch"}),
};

void emit(std::string_view number, const Reading& form, std::string_view label, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  Reading r = form;
  r.value = value->value * form.quantum;
  for (int i = 0; i < value->decimals; ++i) r.quantum /= 10;
  r.label = std::string(label);
  sink.reading(r);
}

Reading peak_of_process() {
  Reading r;
  r.metric = Metric::host_rss;
  r.kind = SeriesKind::running_maximum;
  return r;
}

Reading peak_of_card() {
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  return r;
}

void place(std::string_view number, bool worker, EventSink& sink) {
  Origin where;
  (worker ? where.rank : where.device) = static_cast<int>(leading_integer(number));
  sink.at(where);
}

/// "Worker 0 memory usage: 2.9G", "GPU 0 memory usage: 812M".
void formatted(const Match& m, EventSink& sink) {
  const bool worker = m[1] == "Worker";
  place(m[2], worker, sink);
  Reading r = worker ? peak_of_process() : peak_of_card();
  r.quantum = m[4] == "G" ? static_cast<double>(GiB) : m[4] == "M" ? mebibyte : m[4] == "K" ? 1024 : 1;
  r.unit = std::string(m[4]);
  emit(m[3], r, "", sink);
}

void table(const Match& m, EventSink& sink) {
  const bool worker = m[2] == "worker";
  place(m[3], worker, sink);
  Reading r = worker ? peak_of_process() : peak_of_card();
  if (!worker && !m.has(1)) {  // a version that may have asked nvidia-smi
    r.metric = Metric::used;
    r.kind = SeriesKind::sampled_gauge;
  }
  r.quantum = mebibyte;
  r.unit = "MB";
  emit(m[4], r, "end of epoch", sink);
}

constexpr Pattern patterns[] = {
    checked({.name = "allennlp/formatted",
             .anchor = " memory usage: ",
             .regex = R"(\b(Worker|GPU) (\d{1,5}) memory usage: (\d{1,5}(?:\.\d)?)([GMKB])$)",
             .captures = 4,
             .example = "2021-05-01 10:11:12,300 - INFO - allennlp.training.gradient_descent_trainer - GPU 0 memory "
                        "usage: 5.8G",
             .emit = formatted}),
    checked({.name = "allennlp/table",
             .anchor = "_memory_MB ",
             .regex = R"((console_logger - )?\b(worker|gpu)_(\d{1,5})_memory_MB {1,40}\| {1,20}(\d{1,9}\.\d{1,3}) )",
             .captures = 4,
             .example =
                 "2021-05-01 10:31:12,100 - INFO - allennlp.training.callbacks.console_logger - gpu_0_memory_MB    "
                 "|  5811.000  |       N/A",
             .emit = table}),
};

}  // namespace

extern const Parser allennlp;
const Parser allennlp{.name = "allennlp",
                      .title = "AllenNLP",
                      .source =
                          "AllenNLP: allennlp/training/gradient_descent_trainer.py, training/trainer.py, "
                          "common/util.py",
                      .patterns = patterns,
                      .gauges = gauges};

}  // namespace oomdoctor::parsers
