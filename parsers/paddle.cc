// PaddlePaddle's toolkits. All print the peaks of Paddle's allocator, which they never reset, in different units:
// - PaddleDetection, PaddleOCR and PaddleX: 2^20 bytes.
// - The others: bytes, with a B or without a unit.
//
// Consoles wrap the long lines inside numbers.
#include <array>

#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::paddle {
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

void emit_maxima(const Match& m, double size, std::string_view unit, std::optional<double> step, EventSink& sink) {
  for (std::size_t i = 1; i <= 2; ++i) {
    std::size_t at = 0;
    const auto value = read_number(m[i], at);
    if (!value) continue;
    Reading r;
    r.metric = i == 1 ? Metric::max_reserved : Metric::max_allocated;
    r.kind = SeriesKind::running_maximum;
    r.value = value->value * size;
    r.quantum = size;
    r.unit = unit;
    sink.reading(r, step);
  }
}

}  // namespace

void emit_mebibytes(const Match& m, EventSink& sink) {
  const auto step = step_before(m.before());
  if (step && *step < 1e15) sink.step({static_cast<i64>(*step), {}, {}});
  emit_maxima(m, mebibyte, "MB", step, sink);
}

void emit_bytes(const Match& m, EventSink& sink) { emit_maxima(m, 1, "bytes", read_freeform(m.text).step, sink); }

}  // namespace oomdoctor::parsers::paddle
