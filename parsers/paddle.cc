// PaddlePaddle's toolkits. All print the peaks of Paddle's allocator, which they never reset, in different units:
// - PaddleDetection, PaddleOCR and PaddleX: 2^20 bytes.
// - The others: bytes, with a B or without a unit.
//
// Consoles wrap the long lines inside numbers.
#include <array>

#include "parse/freeform.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);

/// The step before the memory values, counted over all epochs: "global_step:40" or "Epoch:[1][40/900]", in text without
/// blanks.
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

void emit_mebibytes(const Match& m, EventSink& sink) {
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

void emit_bytes(const Match& m, EventSink& sink) {
  const FreeformLine printed = read_freeform(m.text);
  for (std::size_t i = 1; i <= 2; ++i) {
    std::size_t at = 0;
    const auto value = read_number(m[i], at);
    if (!value) continue;
    Reading r;
    r.metric = i == 1 ? Metric::max_reserved : Metric::max_allocated;
    r.kind = SeriesKind::running_maximum;
    r.value = value->value;
    r.quantum = 1;
    r.unit = "bytes";
    sink.reading(r, printed.step);
  }
}

constexpr Pattern patterns[] = {
    checked({.name = "paddle/training",
             .anchor = "max_mem_reserved:",
             .second_anchor = "max_mem_allocated:",
             .regex = R"(max_mem_reserved:(\d{1,8})MB,max_mem_allocated:(\d{1,8})MB)",
             .captures = 2,
             .reach = Reach::message,
             .example =
                 "[2023/02/01 10:11:12] ppocr INFO: epoch: [1/50], global_step: 40, lr: 0.0001, avg_samples: 8.0, "
                 "ips: 13.2 samples/s, eta: 1:12:20, max_mem_reserved: 9120 MB, max_mem_allocated: 8411 MB",
             .emit = emit_mebibytes}),
    checked({.name = "paddle/bytes",
             .anchor = "max_mem_reserved:",
             .regex = R"(max_mem_reserved: (\d{4,15})(?: B,)? max_mem_allocated: (\d{4,15})(?: B\b|\s{0,8}$))",
             .captures = 2,
             .example = "2024-02-11 10:11:12,161 -     INFO - [TRAIN] epoch=1/4, iter=40/900 , total_loss=2.011797, "
                        "batch_cost: 0.906130 sec, ips: 3.9 images/s | ETA 00:12:28, max_mem_reserved: 9562488832 B, "
                        "max_mem_allocated: 8819572736 B",
             .emit = emit_bytes,
             .source = "Paddle3D: paddle3d/apis/trainer.py; PaddleScience: ppsci/solver/printer.py; PaddleVideo: "
                       "paddlevideo/utils/record.py"}),
};

}  // namespace

extern const Parser paddle;
const Parser paddle{.name = "paddle",
                    .title = "PaddlePaddle's toolkits",
                    .source = "PaddleDetection: ppdet/engine/callbacks.py; PaddleOCR: tools/program.py",
                    .patterns = patterns};

}  // namespace oomdoctor::parsers
