// PySlowFast and its relatives: one JSON object per log interval behind "json_stats: ", keys sorted.
//
// "gpu_mem" is torch.cuda.max_memory_allocated() in 2^30, never reset; "RAM" is what the whole machine uses and has, in
// 2^30, too.
#include <algorithm>

#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

std::string_view text_of(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == line.npos) return {};
  at += key.size();
  return line.substr(at, line.find('"', at) - at);
}

/// "10/1251": place and total.
std::pair<double, double> place_of(std::string_view text) {
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

void stats(const Match& m, EventSink& sink) {
  const std::string_view line = m.text;
  const bool training = text_of(line, "\"_type\": \"").starts_with("train");
  const auto [epoch, epochs] = place_of(text_of(line, "\"epoch\": \""));
  const auto [batch, batches] = place_of(text_of(line, "\"iter\": \""));
  std::optional<double> step;
  if (batches > 0) step = batch + (training ? std::max(0.0, epoch - 1) * batches : 0);
  if (training && step && *step < 1e15) sink.step({static_cast<i64>(*step), {}, epoch});
  if (!training) sink.remark("phase/evaluation");
  const std::string_view phase = training ? "" : "evaluation";
  emit(m[1], Metric::max_allocated, SeriesKind::running_maximum, phase, step, sink);
  emit(text_of(line, "\"RAM\": \""), Metric::host_used, SeriesKind::sampled_gauge, phase, step, sink);
}

constexpr Pattern patterns[] = {
    checked({.name = "slowfast/stats",
             .anchor = "json_stats: {",
             .regex = R"("gpu_mem": "(\d{1,5}\.\d\d)G")",
             .captures = 1,
             .example = R"([02/11 10:11:12][INFO] logging.py:  98: json_stats: {"RAM": "31.02/251.77G", "_type": )"
                        R"("train_iter_", "epoch": "1/196", "gpu_mem": "10.12G", "iter": "10/1251", "loss": 6.91})",
             .emit = stats}),
};

}  // namespace

extern const Parser slowfast;
const Parser slowfast{.name = "slowfast",
                      .title = "PySlowFast",
                      .source = "SlowFast: slowfast/utils/meters.py, slowfast/utils/misc.py, slowfast/utils/logging.py",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
