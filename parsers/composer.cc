// Composer and llm-foundry: the memory monitor's values in a block under "[batch=10/10]:".
//
// Since 2023 the values are divided by 10^9. Older versions print bytes. Their "allocated" and "active" are cumulative
// sums that exceed any GPU, so they are not read. Their "reserved" is the current value and is read.
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::composer {
namespace {

constexpr double max_units = 10000;  ///< units of 10^9 bytes; no GPU has more, so larger values are bytes

}  // namespace

void heading(const Match& m, EventSink& sink) {
  const double total = leading_number(m[3]);
  double step = leading_number(m[2]);
  std::optional<double> epoch;
  if (m.has(1)) epoch = leading_number(m[1]);
  // The batches of each epoch start at 1 again.
  if (epoch && *epoch > 1) step += (*epoch - 1) * total;
  if (step < 1e15) sink.step({static_cast<i64>(step), {}, epoch});
}

void memory(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(m[4], at);
  if (!value) return;
  const bool bytes = value->value > max_units;
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

void retries(const Match& m, EventSink& sink) { sink.remark("allocator/retries", leading_number(m[1])); }

/// Since 2023 the message names two possible reasons. The other ranks print only that a peer failed. Composer swallows
/// the traceback, so this message is the only report.
void smaller_microbatch(const Match& m, EventSink& sink) {
  sink.remark("handled/smaller_batch", leading_number(m[1]));
  Oom oom;
  oom.framework = "pytorch";
  oom.message_format = "composer";
  oom.caught = true;
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::composer
