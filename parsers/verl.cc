// verl, EasyR1 and their relatives: memory before and after each phase of a reinforcement learning step, in units of
// 2^30 bytes. Each phase is a separate series, because memory rises and falls between phases by design.
#include <algorithm>

#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
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

void emit_device(const Match& m, EventSink& sink) { emit(m[2], Metric::used, m[1], sink); }

void emit_process(const Match& m, EventSink& sink) {
  emit(m[2], Metric::allocated, m[1], sink);
  emit(m[3], Metric::reserved, m[1], sink);
  if (m.has(4)) emit(m[4], Metric::used, m[1], sink);
}

/// The metrics line of a step: "step:40 - actor/entropy:0.4 - perf/max_memory_allocated_gb:41.21 - …", with keys in any
/// order. "gb" is 2^30 bytes. Newer numpy prints the name of its type around the number.
void metrics(const Match& m, EventSink& sink) {
  struct Key {
    std::string_view name;
    Metric metric;
    SeriesKind kind;
  };
  static constexpr Key keys[] = {{"perf/max_memory_allocated_gb:", Metric::max_allocated, SeriesKind::running_maximum},
                                 {"perf/max_memory_reserved_gb:", Metric::max_reserved, SeriesKind::running_maximum},
                                 {"perf/cpu_memory_used_gb:", Metric::host_used, SeriesKind::sampled_gauge}};
  std::size_t at = 0;
  const auto step = read_number(m[1], at);
  if (!step) return;
  sink.step({static_cast<i64>(step->value), {}, {}});
  for (const Key& key : keys)
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

constexpr Pattern patterns[] = {
    checked({.name = "verl/metrics",
             .anchor = "perf/max_memory_allocated_gb:",
             .regex = R"(\bstep:(\d{1,9}) - )",
             .captures = 1,
             .example = "(TaskRunner pid=4711) step:3 - actor/entropy:0.41 - perf/max_memory_allocated_gb:41.211 - "
                        "perf/max_memory_reserved_gb:61.002 - perf/cpu_memory_used_gb:88.119",
             .emit = metrics,
             .source = "verl: verl/workers/fsdp_workers.py, verl/utils/logger"}),
    checked({.name = "verl/of_card",
             .anchor = " GB / ",
             .regex = R"(((?:Before|After) [^:\r\n]{1,80}): (\d{1,4}\.\d{1,3}) GB / \d{1,4}\.\d{1,3} GB\b)",
             .captures = 2,
             .example = "(WorkerDict pid=4711) After vllm offload in sharding manager: 31.07 GB / 79.19 GB.",
             .emit = emit_device}),
    checked(
        {.name = "verl/of_process",
         .anchor = "memory allocated (GB): ",
         .regex =
             R"(((?:Before|After) [^:\r\n]{1,80}), memory allocated \(GB\): (\d{1,4}(?:\.\d{1,18})?), memory reserved \(GB\): (\d{1,4}(?:\.\d{1,18})?)(?:, device memory used/total \(GB\): (\d{1,4}(?:\.\d{1,18})?)/)?)",
         .captures = 4,
         .example = "(WorkerDict pid=4711) Before init from HF AutoModel, memory allocated (GB): 0.00, memory reserved "
                    "(GB): 0.02, device memory used/total (GB): 1.44/79.19",
         .emit = emit_process}),
};

}  // namespace

extern const Parser verl;
const Parser verl{.name = "verl",
                  .title = "verl and EasyR1",
                  .source = "verl: verl/utils/debug/performance.py; real logs",
                  .patterns = patterns};

}  // namespace oomdoctor::parsers
