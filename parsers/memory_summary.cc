// torch.cuda.memory_summary(): a table of one device's counters. Units are binary. PyTorch prints KiB today and printed
// KB in old versions.
//
// Also memory_stats(), a dict of the same counters in bytes, and mem_get_info(), the driver's (free, total) of the
// whole GPU.
#include "read/freeform.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::memory_summary {
namespace {

/// Sets the device from the first line of the table, which is about twenty lines above the last.
void set_device(const Match& m, EventSink& sink) {
  constexpr int max_lines = 40;
  constexpr std::string_view label = "memory summary, device ID ";
  Origin where;
  const auto read = [&](const Line& line) {
    const std::size_t found = line.text.find(label);
    if (found == line.text.npos) return true;
    std::size_t at = found + label.size();
    if (const auto device = read_number(line.text, at); device && device->value >= 0 && device->value < 4096)
      where.device = static_cast<int>(device->value);
    return false;
  };
  m.cursor.backward(max_lines, read);
  if (where.device) sink.at(where);
}

void emit_reading(std::string_view number, std::string_view unit, Metric metric, std::string_view label,
                  EventSink& sink) {
  const std::string joined = std::string(number) + std::string(unit);
  const auto size = read_size(joined), one = read_size("1" + std::string(unit));
  if (!size || !one) return;
  Reading r;
  r.metric = metric;
  r.kind = label.empty() ? SeriesKind::gauge : SeriesKind::running_maximum;
  if (metric == Metric::max_allocated || metric == Metric::max_reserved) r.kind = SeriesKind::running_maximum;
  r.value = static_cast<double>(size->count);
  r.quantum = static_cast<double>(one->count);
  r.unit = std::string(unit);
  r.label = std::string(label);
  sink.reading(r);
}

/// The keys of memory_stats() that are read, and their series.
struct SummaryKey {
  std::string_view text;
  Metric metric;
  SeriesKind kind;
};
constexpr SummaryKey keys[] = {
    {"allocated_bytes.all.current", Metric::allocated, SeriesKind::gauge},
    {"allocated_bytes.all.peak", Metric::max_allocated, SeriesKind::running_maximum},
    {"reserved_bytes.all.current", Metric::reserved, SeriesKind::gauge},
    {"reserved_bytes.all.peak", Metric::max_reserved, SeriesKind::running_maximum},
    {"active_bytes.all.current", Metric::active, SeriesKind::gauge},
};

/// The number after a key of a dict, an OrderedDict, JSON or a print, which put quotes, marks and blanks between them.
/// Lightning's keys follow a '/' and are not read here.
std::optional<double> number_after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == text.npos || (found > 0 && text[found - 1] == '/')) return std::nullopt;
  std::size_t at = found + key.size();
  const std::size_t start = text.find_first_not_of("'\":,= ", at);
  if (start == text.npos || start == at || start > at + 6) return std::nullopt;
  at = start;
  const auto number = read_number(text, at);
  return number && number->decimals == 0 ? std::optional(number->value) : std::nullopt;
}

}  // namespace

void counters(const Match& m, EventSink& sink) {
  const auto failures = read_size(m[1]), retries = read_size(m[2]);
  set_device(m, sink);
  if (failures) sink.remark("allocator/failures", static_cast<double>(failures->count));
  if (retries) sink.remark("allocator/retries", static_cast<double>(retries->count));
}

void allocated(const Match& m, EventSink& sink) {
  set_device(m, sink);
  emit_reading(m[1], m[2], Metric::allocated, "", sink);
  emit_reading(m[3], m[4], Metric::max_allocated, "", sink);
}

void active(const Match& m, EventSink& sink) {
  set_device(m, sink);
  emit_reading(m[1], m[2], Metric::active, "", sink);
}

void reserved(const Match& m, EventSink& sink) {
  set_device(m, sink);
  emit_reading(m[1], m[2], Metric::reserved, "", sink);
  emit_reading(m[3], m[4], Metric::max_reserved, "", sink);
}

void stats(const Match& m, EventSink& sink) {
  const std::optional<double> step = read_freeform(m.text).step;
  for (const SummaryKey& key : keys) {
    const auto value = number_after(m.text, key.text);
    if (!value) continue;
    Reading r;
    r.metric = key.metric;
    r.kind = key.kind;
    r.value = *value;
    r.quantum = 1;
    r.unit = "bytes";
    sink.reading(r, step);
  }
}

void stats_counters(const Match& m, EventSink& sink) {
  if (const auto n = number_after(m.text, "num_alloc_retries")) sink.remark("allocator/retries", *n);
  if (const auto n = number_after(m.text, "num_ooms")) sink.remark("allocator/failures", *n);
}

void device_info(const Match& m, EventSink& sink) {
  const auto free = read_size(m[1]), total = read_size(m[2]);
  if (!free || !total || free->count > total->count) return;
  Reading r;
  r.metric = Metric::free;
  r.kind = SeriesKind::sampled_gauge;
  r.value = static_cast<double>(free->count);
  r.quantum = 1;
  r.unit = "bytes";
  r.label = "mem_get_info";
  sink.reading(r, read_freeform(m.text).step);
}

}  // namespace oomdoctor::parsers::memory_summary
