// PySlowFast and its relatives: one JSON object per logging interval after "json_stats: ", with sorted keys.
//
// "gpu_mem" is torch.cuda.max_memory_allocated() in units of 2^30 bytes and is never reset. "RAM" is the memory in use
// and the total of the whole machine, also in units of 2^30 bytes.
#include <algorithm>

#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::slowfast {
namespace {

/// The text from the end of `key` to the next quote; empty if the key is missing.
std::string_view find_value(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == line.npos) return {};
  at += key.size();
  return line.substr(at, line.find('"', at) - at);
}

/// Parses "10/1251" into the position and the total; zeros if `text` has another form.
std::pair<double, double> parse_progress(std::string_view text) {
  std::size_t at = 0;
  const auto n = read_number(text, at);
  if (!n || at >= text.size() || text[at] != '/') return {};
  const auto total = read_number(text, ++at);
  return total ? std::pair{n->value, total->value} : std::pair<double, double>{};
}

void emit(std::string_view number, Metric metric, SeriesKind kind, std::string_view phase, std::optional<double> step,
          EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(number, at);
  if (!value) return;
  constexpr double gibibyte = static_cast<double>(GiB);
  Reading r;
  r.metric = metric;
  r.kind = kind;
  r.value = value->value * gibibyte;
  r.quantum = gibibyte / 100;
  r.unit = "G";
  r.phase = std::string(phase);
  sink.reading(r, step);
}

}  // namespace

void stats(const Match& m, EventSink& sink) {
  const std::string_view line = m.text;
  const bool training = find_value(line, "\"_type\": \"").starts_with("train");
  const auto [epoch, epochs] = parse_progress(find_value(line, "\"epoch\": \""));
  const auto [batch, batches] = parse_progress(find_value(line, "\"iter\": \""));
  std::optional<double> step;
  // Training batches restart in each epoch, so earlier epochs are added. An evaluation pass keeps its own count.
  if (batches > 0) step = batch + (training ? std::max(0.0, epoch - 1) * batches : 0);
  if (training && step && *step < 1e15) sink.step({static_cast<i64>(*step), {}, epoch});
  if (!training) sink.remark("phase/evaluation");
  const std::string_view phase = training ? "" : "evaluation";
  emit(m[1], Metric::max_allocated, SeriesKind::running_maximum, phase, step, sink);
  emit(find_value(line, "\"RAM\": \""), Metric::host_used, SeriesKind::sampled_gauge, phase, step, sink);
}

}  // namespace oomdoctor::parsers::slowfast
