// Composer and llm-foundry: the memory monitor's values in a block under "[batch=10/10]:".
//
// Since 2023 they are divided by 10^9. Older ones printed bytes, and as allocated and active those ever allocated: a
// sum that no card holds, which is passed over; what is reserved was the current number then, too.
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr double most_units = 10000;  ///< of 10^9 bytes on one card

double number_of(std::string_view text) {
  std::size_t at = 0;
  const auto number = read_number(text, at);
  return number ? number->value : 0;
}

void heading(const Match& m, EventSink& sink) {
  const double total = number_of(m[3]);
  double step = number_of(m[2]);
  std::optional<double> epoch;
  if (m.has(1)) epoch = number_of(m[1]);
  // Inside an epoch the batches count from 1 again.
  if (epoch && *epoch > 1) step += (*epoch - 1) * total;
  if (step < 1e15) sink.step({static_cast<i64>(step), {}, epoch});
}

void memory(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(m[4], at);
  if (!value) return;
  const bool bytes = value->value > most_units;
  if (bytes && (m[2] != "reserved" || m.has(1) || value->decimals > 0)) return;
  const bool peak = m[1] == "peak_";
  Reading r;
  if (m[2] == "active")
    r.metric = Metric::active;
  else if (m[2] == "reserved")
    r.metric = peak ? Metric::max_reserved : Metric::reserved;
  else
    r.metric = peak ? Metric::max_allocated : Metric::allocated;
  r.kind = peak ? SeriesKind::running_maximum : SeriesKind::gauge;
  r.value = value->value * 1e9;
  r.quantum = 1e9;
  for (int i = 0; i < value->decimals; ++i) r.quantum /= 10;
  r.unit = "GB";
  if (bytes) r.value = value->value, r.quantum = 1, r.unit = "bytes";
  if (m.has(3))
    r.label = "most of all ranks";
  else if (peak && m[2] == "active")
    r.label = "peak";
  sink.reading(r);
}

void retries(const Match& m, EventSink& sink) { sink.remark("allocator/retries", number_of(m[1])); }

/// Since 2023 the text names two reasons; on the other ranks it names only that a peer met one. The traceback is
/// swallowed, so that this is the only report.
void smaller_microbatch(const Match& m, EventSink& sink) {
  sink.remark("handled/smaller_batch", number_of(m[1]));
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = "composer";
  oom.caught = true;
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "composer/smaller_microbatch",
         .anchor = "microbatch size will be decreased",
         .regex =
             R"(CUDA out of memory (?:or excessive memory allocation retries detected|encountered on a different rank)\. Train microbatch size will be decreased from [\d.]{1,8} -> (\d{1,7}))",
         .captures = 1,
         .example =
             "RuntimeWarning: CUDA out of memory or excessive memory allocation retries detected. Train microbatch "
             "size will be decreased from 8 -> 4.",
         .emit = smaller_microbatch,
         .source = "Composer: composer/trainer/trainer.py"}),
    checked({.name = "composer/batch",
             .anchor = "[batch=",
             .regex = R"((?:\[epoch=(\d{1,7})(?:/\d{1,7})?\])?\[batch=(\d{1,9})/(\d{1,9})\]:)",
             .captures = 3,
             .example = "[epoch=1][batch=20/480]:",
             .emit = heading}),
    checked({.name = "composer/memory",
             .anchor = "memory/",
             .regex = R"(\bmemory/(current_|peak_)?(allocated|active|reserved)_mem(_max)?: (\d{1,16}(?:\.\d{1,9})?)$)",
             .captures = 4,
             .example = "\t Train memory/peak_reserved_mem: 31.4470",
             .emit = memory}),
    checked({.name = "composer/retries",
             .anchor = "memory/alloc_retries",
             .regex = R"(\bmemory/alloc_retries(?:_max)?: (\d{1,9})$)",
             .captures = 1,
             .example = "\t Train memory/alloc_retries: 2",
             .emit = retries}),
};

}  // namespace

extern const Parser composer;
const Parser composer{.name = "composer",
                      .title = "Composer and llm-foundry",
                      .source = "Composer: composer/callbacks/memory_monitor.py, composer/loggers/console_logger.py",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
