// torch.cuda.memory_summary(): a table of one device's counters. Units are binary. PyTorch prints KiB today and printed
// KB in old versions.
//
// Also memory_stats(), a dict of the same counters in bytes, and mem_get_info(), the driver's (free, total) of the
// whole GPU.
#include "parse/freeform.h"
#include "parse/line_format.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
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

void counters(const Match& m, EventSink& sink) {
  const auto failures = read_size(m[1]), retries = read_size(m[2]);
  set_device(m, sink);
  if (failures) sink.remark("allocator/failures", static_cast<double>(failures->count));
  if (retries) sink.remark("allocator/retries", static_cast<double>(retries->count));
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

/// The keys of memory_stats() that are read, and their series.
struct Key {
  std::string_view text;
  Metric metric;
  SeriesKind kind;
};
constexpr Key keys[] = {
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

void stats(const Match& m, EventSink& sink) {
  const std::optional<double> step = read_freeform(m.text).step;
  for (const Key& key : keys) {
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

constexpr Pattern patterns[] = {
    checked(
        {.name = "memory_summary/stats",
         .anchor = "_bytes.all.",
         .regex =
             R"((?:^|[^/\w])(?:allocated|reserved|active)_bytes\.all\.(?:current|peak)['"]{0,1}(?: ?[:=,] {0,3}| {1,3})\d)",
         .example = "OrderedDict([('active_bytes.all.current', 104857600), ('allocated_bytes.all.peak', 204857600)])",
         .emit = stats,
         .non_exclusive = true,
         .source = "torch: torch/cuda/memory.py (memory_stats)"}),
    checked({.name = "memory_summary/stats_counters",
             .anchor = "num_alloc_retries",
             .second_anchor = "num_ooms",
             .regex = R"((?:^|[^/\w])num_(?:alloc_retries|ooms)['"]{0,1}(?: ?[:=,] {0,3}| {1,3})\d)",
             .example = "  \"num_alloc_retries\": 2,",
             .emit = stats_counters,
             .non_exclusive = true,
             .source = "torch: torch/cuda/memory.py (memory_stats)"}),
    checked({.name = "memory_summary/mem_get_info",
             .anchor = "mem_get_info",
             .regex = R"(mem_get_info(?:\(\w{0,12}\))?[ :=]{0,4}\((\d{6,15}), (\d{9,15})\))",
             .captures = 2,
             .example = "torch.cuda.mem_get_info(): (8589934592, 25438126080)",
             .emit = device_info,
             .source = "torch: torch/cuda/memory.py (mem_get_info)"}),
    checked({.name = "memory_summary/counters",
             .anchor = "cudaMalloc retries:",
             .regex = R"([A-Z]{3,4} OOMs: {1,4}(\d{1,9}) {1,14}\| {1,10}[a-z]{3,4}Malloc retries: {1,4}(\d{1,9})\b)",
             .captures = 2,
             .example = "|            CUDA OOMs: 2            |        cudaMalloc retries: 5         |",
             .emit = counters}),
    checked(
        {.name = "memory_summary/allocated",
         .anchor = "| Allocated memory ",
         .regex =
             R"(\| Allocated memory {1,12}\| {1,9}(\d{1,9}) {1,3}([KMGTPE]?i?B) {1,3}\| {1,9}(\d{1,9}) {1,3}([KMGTPE]?i?B) {1,3}\|)",
         .captures = 4,
         .example = "| Allocated memory      | 512300 KiB |  21430 MiB |   1415 GiB |   1414 GiB |",
         .emit = allocated}),
    checked({.name = "memory_summary/active",
             .anchor = "| Active memory ",
             .regex = R"(\| Active memory {1,12}\| {1,9}(\d{1,9}) {1,3}([KMGTPE]?i?B) {1,3}\|)",
             .captures = 2,
             .example = "| Active memory         | 512300 KiB |  21430 MiB |   1415 GiB |   1414 GiB |",
             .emit = active}),
    checked(
        {.name = "memory_summary/reserved",
         .anchor = "| GPU reserved memory ",
         .regex =
             R"(\| GPU reserved memory {1,12}\| {1,9}(\d{1,9}) {1,3}([KMGTPE]?i?B) {1,3}\| {1,9}(\d{1,9}) {1,3}([KMGTPE]?i?B) {1,3}\|)",
         .captures = 4,
         .example = "| GPU reserved memory   |  22984 MiB |  22984 MiB |  23132 MiB | 151552 KiB |",
         .emit = reserved}),
};

}  // namespace

extern const Parser memory_summary;
const Parser memory_summary{.name = "memory_summary",
                            .title = "torch.cuda.memory_summary() and memory_stats()",
                            .source = "torch: torch/cuda/memory.py",
                            .patterns = patterns};

}  // namespace oomdoctor::parsers
