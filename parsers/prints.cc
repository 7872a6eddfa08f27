// Memory that users print themselves, in any form that parse/freeform.h can read.
//
// These patterns are fallbacks: they apply only if no known format took the line. Units such as GB do not show whether
// they mean 10^9 or 2^30. Such series are marked, and the GPU's capacity decides later.
#include "parse/freeform.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

bool holds_memory(const FreeformLine& printed) { return !printed.values.empty(); }

/// Corrects the metric if the words of the line show that a bare "free" or "used" is about host RAM: msg="system
/// memory" free="900.1 MiB".
Metric metric_on(std::string_view line, Metric printed) {
  if (printed != Metric::free && printed != Metric::used) return printed;
  const bool host = line.find("system memory") != line.npos || line.find("host memory") != line.npos;
  if (!host) return printed;
  return printed == Metric::free ? Metric::host_available : Metric::host_used;
}

void emit(const Match& m, EventSink& sink) {
  const FreeformLine& printed = *m.printed;
  const auto whole = [](const std::optional<double>& x) { return x ? std::optional(whole_number(*x)) : std::nullopt; };
  if (!printed.evaluation && (printed.step || printed.epoch))
    sink.step({whole(printed.step), whole(printed.total), printed.epoch});
  for (const FreeformValue& v : printed.values) {
    Origin where;
    where.device = v.device;
    sink.at(where);
    Reading reading = v.reading;
    reading.metric = metric_on(m.text, reading.metric);
    sink.reading(reading, printed.step);
  }
}

/// Reads the longest sequence of a batch. It appears at the end of many kinds of step lines, also those of known
/// formats.
void longest(const Match& m, EventSink& sink) {
  const FreeformLine printed = read_freeform(m.text);
  if (printed.step && !printed.evaluation) sink.step({whole_number(*printed.step), {}, {}});
  std::size_t at = 0;
  const auto number = read_number(m[1], at);
  Reading r;
  r.metric = Metric::input_length;
  r.value = number ? number->value : 0;
  r.quantum = 1;
  r.label = "max seq in batch";
  if (printed.evaluation) r.phase = "evaluation";
  sink.reading(r, printed.step);
}

consteval Pattern row(std::string_view name, std::string_view anchor, std::string_view example,
                      bool (*quick_reject)(std::string_view, std::size_t) = may_name_memory) {
  return checked(Pattern{.name = name,
                         .anchor = anchor,
                         .example = example,
                         .emit = emit,
                         .fallback = true,
                         .fold_case = true,
                         .accepts_parsed = holds_memory,
                         .quick_reject = quick_reject});
}

constexpr Pattern patterns[] = {
    row("prints/allocated", "alloc", "step 40 | loss 2.811 | allocated 5.125 GiB"),
    row("prints/reserved", "reserved", "step 40 | loss 2.811 | reserved: 6.500 GiB"),
    row("prints/cached", "cached", "iter 40: cached = 6.5 GiB"),
    row("prints/memory", "memory", "Step 40: Loss=2.81, Memory=5.6GB"),
    row("prints/vram", "vram", "epoch 2 step 40 VRAM=812MB, RAM=7.8%"),
    row("prints/mem_equals", "mem=", "iteration 40 loss=2.81 gpu_mem=5.6G"),
    row("prints/mem_colon", "mem:", "[40/2000] step: 40 lr: 0.001 GPU mem: 5.6G"),
    row("prints/mem_blank", "mem ", "step 40 loss 2.811 mem 5.6 GiB"),
    row("prints/mem_unit", "mem_", "step: 40, loss: 2.811, gpu_mem_gb: 5.61"),
    row("prints/mem_quoted", "mem'", "{'step': 40, 'grad': 2.811, 'gpu_mem': '5.61 GiB'}"),
    row("prints/rss_colon", "rss:", "step 40 rss: 1820 MiB"),
    row("prints/rss_equals", "rss=", "step 40 rss=1820MiB"),
    row("prints/rss_blank", "rss ", "step 40 rss 1820 MiB"),
    row("prints/ram", "ram:", "step 40 host RAM: 18.2 GiB"),
    row("prints/ram_usage", "ram usage", "RAM usage: 603.9MB"),
    row("prints/peak", "peak", "step 40: loss 2.811, peak GPU usage 5.6 GiB"),
    row("prints/gpu_colon", "gpu:", "epoch 4, train loss 0.107, GPU: 2798.0/11011.5 MiB", may_name_pair),
    row("prints/gpu_equals", "gpu=", "step 40, loss=2.81, GPU=3.1/24.0 GB", may_name_pair),
    row("prints/free", "free", "step 40 gpu free: 11.2 GiB"),
    row("prints/used", "used", "step 40 | GPU used: 5.6 GiB"),
    checked(Pattern{.name = "prints/longest",
                    .anchor = "max seq in batch",
                    .regex = R"(max seq in batch ?[:=]? {0,3}(\d{1,9})\b)",
                    .captures = 1,
                    .example = "longest sample: max seq in batch 4500",
                    .emit = longest,
                    .non_exclusive = true}),
    row("prints/sequence", " seq ", "step 40 | loss 2.811 | seq 913"),
    row("prints/sequence_length", "seq_len", "step 40 loss 2.811 seq_len=913"),
};

}  // namespace

extern const Parser prints;
const Parser prints{.name = "prints",
                    .title = "memory printed by the user's program",
                    .source = "programs of users; real logs",
                    .patterns = patterns};

}  // namespace oomdoctor::parsers
