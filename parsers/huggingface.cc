// The Hugging Face Trainer: dicts that it prints at every log step, and the memory prints of the PEFT and Accelerate
// examples.
//
// The Trainer prints {'loss': …, 'learning_rate': …, 'epoch': …}; callbacks add keys such as 'gpu_mem_gb' and 'step'.
// Newer versions print the numbers as strings. Memory metrics of a stage (train_mem_gpu_alloc_delta, …) are differences
// and no series.
#include <string>

#include "parse/gauge.h"
#include "parse/parser.h"
#include "parse/printed.h"

namespace oomdoctor::parsers {
namespace {

bool is_dict(std::string_view line) { return line.find("{'") != line.npos && line.find('}') != line.npos; }

/// 'epoch': 0.32 is a fraction, which a plain reader of whole numbers does not see.
std::optional<double> epoch_in(std::string_view line) {
  static constexpr std::string_view key = "'epoch': ";
  std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  at += key.size();
  if (at < line.size() && line[at] == '\'') ++at;
  const auto number = read_number(line, at);
  return number ? std::optional(number->value) : std::nullopt;
}

void log(const Match& m, Sink& sink) {
  const Printed printed = read_printed(m.text);
  sink.step({printed.step ? std::optional(whole_number(*printed.step)) : std::nullopt, {}, epoch_in(m.text)});
  for (const PrintedValue& v : printed.values) {
    Where where;
    where.device = v.device;
    sink.at(where);
    sink.reading(v.reading, printed.step);
  }
}

void evaluated(const Match&, Sink& sink) { sink.remark("phase/evaluation"); }
void finished(const Match&, Sink& sink) { sink.remark("run/completed"); }

/// "GPU Total Peak Memory consumed during the train (max): 9404": int(bytes / 2^20) in PEFT, whole GB with a unit in
/// llama-recipes.
void stage_peak(const Match& m, Sink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[3], at);
  if (!number) return;
  const double unit = static_cast<double>(m.has(4) ? GiB : MiB);
  Reading r;
  r.metric = m[1] == "CPU" ? Metric::host_rss : Metric::max_allocated;
  r.kind = SeriesKind::reset_maximum;
  r.value = number->value * unit;
  r.quantum = unit;
  r.unit = m.has(4) ? "GB" : "";
  r.label = "Total Peak Memory";
  sink.reading(r);
}

void retries(const Match& m, Sink& sink) {
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  sink.remark("allocator/retries", number ? std::optional(number->value) : std::nullopt);
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "huggingface/log",
         .anchor = "'loss': ",
         .example = "{'loss': 2.4113, 'grad_norm': 1.9012, 'learning_rate': 4.1e-05, 'gpu_mem_gb': 11.204, 'step': 60}",
         .emit = log,
         .takes = is_dict}),
    checked(
        {.name = "huggingface/evaluated",
         .anchor = "'eval_runtime': ",
         .example = "{'eval_loss': 1.9912, 'eval_runtime': 41.2201, 'eval_samples_per_second': 24.26, 'epoch': 1.0}",
         .emit = evaluated,
         .takes = is_dict}),
    checked(
        {.name = "huggingface/finished",
         .anchor = "'train_runtime': ",
         .example = "{'train_runtime': 812.4401, 'train_samples_per_second': 3.69, 'train_loss': 2.0112, 'epoch': 3.0}",
         .emit = finished,
         .takes = is_dict}),
    checked(
        {.name = "huggingface/stage_peak",
         .anchor = "Total Peak Memory consumed during the ",
         .regex = R"(\b([A-Z]{2,6}) Total Peak Memory consumed during the ([a-z]{2,20}) \(max\): (\d{1,9})(?: (GB))?)",
         .captures = 4,
         .example = "GPU Total Peak Memory consumed during the train (max): 8120",
         .emit = stage_peak}),
    checked({.name = "huggingface/malloc_retries",
             .anchor = "Malloc retries",
             .regex = R"((?:CUDA|XPU) Malloc retries ?: (\d{1,9}))",
             .captures = 1,
             .example = "CUDA Malloc retries : 2",
             .emit = retries}),
};

}  // namespace

extern const Parser huggingface;
const Parser huggingface{.name = "huggingface", .title = "Hugging Face Trainer", .patterns = patterns};

}  // namespace oomdoctor::parsers
