// Events of Weights & Biases: one JSON object per sample, with the seconds since the start.
//
// "memoryAllocatedBytes" is the GPU memory in use. Older versions print only "memoryAllocated", the share of GPU memory
// in use. "memory" is the share of time in which the memory was busy. The RSS of the process is divided by 2^20.
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::wandb {
namespace {

/// Reads the number after a "key": that ends at `at`; moves `at` to the end of the number.
std::optional<double> read_value_at(std::string_view line, std::size_t& at) {
  while (at < line.size() && (line[at] == ':' || line[at] == ' ' || line[at] == '"')) ++at;
  const auto number = read_number(line, at);
  return number ? std::optional(number->value) : std::nullopt;
}

/// The number after the first `key` of the line; nullopt if either is missing.
std::optional<double> find_value(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  at += key.size();
  return read_value_at(line, at);
}

}  // namespace

bool has_memory_value(std::string_view line) {
  return line.find("\"system.") != line.npos &&
         (line.find(".memory.rssMB\"") != line.npos || line.find(".memoryAllocated") != line.npos);
}

void sample(const Match& m, EventSink& sink) {
  constexpr int max_devices = 64;
  const auto seconds = find_value(m.text, "\"_runtime\"");
  const auto emit = [&](double value, double unit, std::string_view name, Metric metric) {
    Reading r;
    r.metric = metric;
    r.kind = SeriesKind::sampled_gauge;
    r.value = value * unit;
    r.quantum = unit > 1 ? unit / 100 : 1;
    r.unit = std::string(name);
    sink.reading(r, {}, seconds);
  };
  constexpr double mebibyte = static_cast<double>(MiB);
  if (const auto rss = find_value(m.text, "\"system.proc.memory.rssMB\"")) emit(*rss, mebibyte, "MB", Metric::host_rss);
  if (const auto available = find_value(m.text, "\"system.proc.memory.availableMB\""))
    emit(*available, mebibyte, "MB", Metric::host_available);
  constexpr std::string_view gpu = "\"system.gpu.", bytes = ".memoryAllocatedBytes\"", share = ".memoryAllocated\"";
  int count = 0;
  for (std::size_t at = m.text.find(gpu); at != m.text.npos && count < max_devices; at = m.text.find(gpu, at)) {
    at += gpu.size();
    const auto device = is_digit(m.text[at]) ? read_number(m.text, at) : std::nullopt;
    if (!device || device->value > 4096) continue;
    const bool amount = m.text.substr(at).starts_with(bytes);
    if (!amount && !m.text.substr(at).starts_with(share)) continue;
    const std::string bytes_key =
        std::string(gpu) + std::to_string(static_cast<int>(device->value)) + std::string(bytes);
    if (!amount && m.text.find(bytes_key) != m.text.npos)
      continue;  // the amount in bytes is more precise than the share
    at += amount ? bytes.size() : share.size();
    const auto value = read_value_at(m.text, at);
    if (!value) continue;
    Origin where;
    where.device = static_cast<int>(device->value);
    sink.at(where);
    emit(*value, 1, amount ? "bytes" : "%", amount ? Metric::used : Metric::utilization);
    ++count;
  }
}

/// The exit code of the program, as the file records it.
void ended(const Match& m, EventSink& sink) {
  const bool negative = m[1].starts_with('-');
  const auto code = static_cast<int>(leading_integer(negative ? m[1].substr(1) : m[1]));
  if (code == 0)
    sink.remark("run/completed");
  else
    sink.exit(negative ? Exit{std::nullopt, code} : Exit{code, std::nullopt});
}

}  // namespace oomdoctor::parsers::wandb
