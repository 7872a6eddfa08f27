// oomdoctor's own Python callbacks: python/oomdoctor/torch.py prints one line per step, with every part in this order.
//
//   [oomdoctor] step 40, rank 3: GPU 0 allocated 5120.50 MiB, reserved 6144.00 MiB, max allocated 5900.25 MiB,
//   max reserved 6144.00 MiB, used 7168.00 MiB of 24259.69 MiB, host RSS 2048.12 MiB, batch 8x1024,
//   sequence length 1024
//
// The process prints nothing that it does not know, so each part may be missing.
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::callbacks {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);
constexpr std::string_view unit = " MiB";
constexpr double max_size = 1e9;  ///< MiB; no machine has that much, so the line is damaged

struct CallbackSize {
  std::string_view label;
  Metric metric;
  SeriesKind kind;
};
// The process prints at a fixed point of its step, but other processes and host RAM do not follow its steps.
constexpr std::array<CallbackSize, 6> parts{{
    {"allocated ", Metric::allocated, SeriesKind::gauge},
    {"reserved ", Metric::reserved, SeriesKind::gauge},
    {"max allocated ", Metric::max_allocated, SeriesKind::running_maximum},
    {"max reserved ", Metric::max_reserved, SeriesKind::running_maximum},
    {"used ", Metric::used, SeriesKind::sampled_gauge},
    {"host RSS ", Metric::host_rss, SeriesKind::sampled_gauge},
}};

/// Removes `text` from the front; false if `rest` does not begin with it.
bool skip(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::optional<i64> skip_count(std::string_view& rest) {
  i64 count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  if (error != std::errc{} || count < 0) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return count;
}

/// "5120.50 MiB" in bytes.
std::optional<double> skip_size(std::string_view& rest) {
  std::size_t at = 0;
  const auto number = read_number(rest, at);
  if (!number || number->value < 0 || number->value > max_size || !rest.substr(at).starts_with(unit))
    return std::nullopt;
  rest.remove_prefix(at + unit.size());
  return number->value * mebibyte;
}

/// The sizes and counts of one line.
struct StepLine {
  std::optional<int> device;
  std::array<std::optional<double>, parts.size()> sizes;  ///< bytes, parallel to `parts`
  std::string_view capacity_text;                         ///< of the GPU; "" if not printed
  double capacity = 0;                                    ///< the same in bytes
  std::optional<i64> batch, length;
};

/// Reads one part. False if it has another form: the text after it then belongs to somebody else.
bool read_part(std::string_view& rest, StepLine& line) {
  if (skip(rest, "batch ")) {
    line.batch = skip_count(rest);
    while (line.batch && skip(rest, "x"))
      if (!skip_count(rest)) return false;
    return line.batch.has_value();
  }
  if (skip(rest, "sequence length ")) return (line.length = skip_count(rest)).has_value();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!skip(rest, parts[i].label)) continue;
    line.sizes[i] = skip_size(rest);
    if (line.sizes[i] && parts[i].metric == Metric::used && skip(rest, " of ")) {
      const std::string_view before = rest;
      line.capacity = skip_size(rest).value_or(0);
      line.capacity_text = before.substr(0, before.size() - rest.size());
    }
    return line.sizes[i].has_value();
  }
  return false;
}

StepLine read_parts(std::string_view rest) {
  StepLine line;
  if (skip(rest, "GPU ")) {
    if (const auto device = skip_count(rest); device && *device <= 4096) line.device = static_cast<int>(*device);
    skip(rest, " ");
  }
  while (read_part(rest, line) && skip(rest, ", ")) continue;
  return line;
}

bool is_evaluation(std::string_view phase) { return phase == "evaluation"; }

}  // namespace

/// An evaluation counts its batches from 1, which are not steps of the run, and its batch is not a setting of the
/// training.
void step(const Match& m, EventSink& sink) {
  std::string_view number = m[1], rank_text = m[3];
  const double step = static_cast<double>(skip_count(number).value_or(0));
  const std::string phase(m[2]);
  const StepLine line = read_parts(m.after());
  Origin process;
  if (const auto rank = skip_count(rank_text)) process.rank = static_cast<int>(*rank);
  sink.at(process);
  if (is_evaluation(phase)) {
    sink.remark("phase/evaluation");
  } else {
    // Before the step: settings after it would look like those of a new run.
    if (!line.capacity_text.empty()) sink.setting("capacity", line.capacity_text);
    if (line.batch) sink.setting("batch_size", std::to_string(*line.batch));
    sink.step({static_cast<i64>(step), {}, {}});
    sink.remark("phase/training");
  }
  const auto emit = [&](Metric metric, SeriesKind kind, double value, double quantum, std::string_view printed_unit) {
    Reading r;
    r.metric = metric;
    r.kind = kind;
    r.value = value;
    r.quantum = quantum;
    r.unit = std::string(printed_unit);
    if (is_device_metric(metric)) r.capacity = line.capacity;
    r.phase = phase;
    sink.reading(r, step);
  };
  // Host RAM and the batch belong to no device, and at() cannot take a device back.
  for (const bool of_device : {false, true}) {
    if (of_device) {
      process.device = line.device;
      sink.at(process);
    } else if (line.length) {
      emit(Metric::input_length, SeriesKind::gauge, static_cast<double>(*line.length), 1, "");
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (line.sizes[i] && is_device_metric(parts[i].metric) == of_device)
        emit(parts[i].metric, parts[i].kind, *line.sizes[i], mebibyte / 100, "MiB");
  }
}

}  // namespace oomdoctor::parsers::callbacks
