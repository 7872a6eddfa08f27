// verl, EasyR1 and their relatives: memory before and after each phase of a reinforcement learning step, in units of
// 2^30 bytes. Each phase is a separate series, because memory rises and falls between phases by design.
#include <algorithm>

#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::verl {
namespace {

void emit(std::string_view text, Metric metric, std::string_view phase, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(text, at);
  if (!value) return;
  Reading r;
  r.metric = metric;
  r.value = value->value * static_cast<double>(GiB);
  r.quantum = static_cast<double>(GiB);
  for (int i = 0; i < value->decimals && i < 9; ++i) r.quantum /= 10;
  r.quantum = std::max(1.0, r.quantum);
  r.unit = "GB";
  r.phase = std::string(phase);
  sink.reading(r);
}

}  // namespace

void emit_device(const Match& m, EventSink& sink) { emit(m[2], Metric::used, m[1], sink); }

void emit_process(const Match& m, EventSink& sink) {
  emit(m[2], Metric::allocated, m[1], sink);
  emit(m[3], Metric::reserved, m[1], sink);
  if (m.has(4)) emit(m[4], Metric::used, m[1], sink);
}

/// The metrics line of a step: "step:40 - actor/entropy:0.4 - perf/max_memory_allocated_gb:41.21 - …", with keys in any
/// order. "gb" is 2^30 bytes. Newer numpy prints the name of its type around the number.
void metrics(const Match& m, EventSink& sink) {
  struct MetricKey {
    std::string_view name;
    Metric metric;
    SeriesKind kind;
  };
  static constexpr MetricKey keys[] = {
      {"perf/max_memory_allocated_gb:", Metric::max_allocated, SeriesKind::running_maximum},
      {"perf/max_memory_reserved_gb:", Metric::max_reserved, SeriesKind::running_maximum},
      {"perf/cpu_memory_used_gb:", Metric::host_used, SeriesKind::sampled_gauge}};
  std::size_t at = 0;
  const auto step = read_number(m[1], at);
  if (!step) return;
  sink.step({static_cast<i64>(step->value), {}, {}});
  for (const MetricKey& key : keys)
    for (at = m.text.find(key.name); at != m.text.npos; at = m.text.find(key.name, at)) {
      const std::size_t begin = m.text.rfind(' ', at) + 1;
      const std::string_view owner = m.text.substr(begin, at - begin);  // "actor/", "critic/"
      at += key.name.size();
      if (m.text.substr(at).starts_with("np.float64(")) at += 11;
      const auto value = read_number(m.text, at);
      if (!value) continue;
      Reading r;
      r.metric = key.metric;
      r.kind = key.kind;
      r.value = value->value * static_cast<double>(GiB);
      r.quantum = static_cast<double>(GiB);
      for (int i = 0; i < value->decimals && i < 9; ++i) r.quantum /= 10;
      r.quantum = std::max(1.0, r.quantum);
      r.unit = "gb";
      if (owner.size() > 1 && owner.size() < 40 && key.metric != Metric::host_used)
        r.label = std::string(owner.substr(0, owner.size() - 1));
      sink.reading(r, step->value);
    }
}

}  // namespace oomdoctor::parsers::verl
