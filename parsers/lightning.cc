// Lightning: the values that DeviceStatsMonitor and its predecessor GPUStatsMonitor log, as columns of CSVLogger's
// metrics.csv or as keys of a printed dictionary or JSON object.
//
// DeviceStatsMonitor logs torch.cuda.memory_stats(): bytes, with peaks that are never reset, read before and after each
// batch. The hook is the position in the step. Its counts, pools and shares are not amounts of memory and are not read.
// GPUStatsMonitor reads nvidia-smi: the whole GPU, MB is 2^20 bytes.
#include <array>
#include <string>

#include "base/ascii.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::lightning {
namespace {

constexpr double mebibyte = static_cast<double>(MiB);
constexpr std::string_view monitor = "DeviceStatsMonitor.";
constexpr std::size_t max_columns = 600;  ///< memory_stats() has about a hundred keys, for two hooks

struct StatsKey {
  std::string_view name;
  Metric metric;
  SeriesKind kind;
  std::string_view label;
};
constexpr std::array<StatsKey, 6> keys{{
    {"allocated_bytes.all.current", Metric::allocated, SeriesKind::gauge, ""},
    {"allocated_bytes.all.peak", Metric::max_allocated, SeriesKind::running_maximum, ""},
    {"reserved_bytes.all.current", Metric::reserved, SeriesKind::gauge, ""},
    {"reserved_bytes.all.peak", Metric::max_reserved, SeriesKind::running_maximum, ""},
    {"active_bytes.all.current", Metric::active, SeriesKind::gauge, ""},
    {"active_bytes.all.peak", Metric::active, SeriesKind::running_maximum, "peak"},
}};

/// The hook and key of "on_train_batch_end/allocated_bytes.all.peak"; both empty for any other name.
struct HookColumn {
  std::string_view hook, key;
};
HookColumn parse_column(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || !name.starts_with("on_")) return {};
  std::size_t end = slash + 1;
  while (end < name.size() && is_dotted_name_char(name[end])) ++end;
  return {name.substr(0, slash), name.substr(slash + 1, end - slash - 1)};
}

void emit(const HookColumn& column, const GaugeValue& number, std::optional<double> step, EventSink& sink) {
  if (number.value < 0) return;
  if (column.key == "num_alloc_retries" || column.key == "num_ooms") {
    if (number.value > 0)
      sink.remark(column.key == "num_ooms" ? "allocator/failures" : "allocator/retries", number.value);
    return;
  }
  for (const StatsKey& key : keys) {
    if (key.name != column.key) continue;
    Reading r;
    r.metric = key.metric;
    r.kind = key.kind;
    r.value = number.value;
    r.quantum = 1;
    r.unit = "bytes";
    r.label = std::string(key.label);
    r.phase = std::string(column.hook);
    sink.reading(r, step);
  }
}

/// Parses the GPU index in "gpu_id: 1/memory.used (MB)". Later versions print "device_id".
std::optional<int> parse_card(std::string_view name) {
  for (const std::string_view head : {"gpu_id: ", "device_id: "}) {
    if (!name.starts_with(head)) continue;
    std::size_t at = head.size();
    const auto card = read_number(name, at);
    if (card && card->value >= 0 && card->value < 4096 && name.substr(at) == "/memory.used (MB)")
      return static_cast<int>(card->value);
  }
  return std::nullopt;
}

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; out.size() < max_columns;) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    out.push_back(line.substr(at, end - at));
    if (end == line.size()) break;
    at = end + 1;
  }
  return out;
}

/// The number after "…/allocated_bytes.all.current': ". `at` is the offset after the key.
std::optional<GaugeValue> value_after(std::string_view line, std::size_t at) {
  const std::size_t key = at;
  while (at < line.size() && at < key + 4 && std::string_view("'\": =").find(line[at]) != std::string_view::npos) ++at;
  return at > key ? read_number(line, at) : std::nullopt;
}

std::optional<double> find_step(std::string_view line) {
  for (const std::string_view key : {"trainer/global_step", "'step'", "\"step\"", "\"_step\""}) {
    const std::size_t at = line.find(key);
    if (at == line.npos) continue;
    const std::size_t end = at + key.size();
    if (const auto step = value_after(line, end < line.size() && line[end] == '"' ? end + 1 : end)) return step->value;
  }
  return std::nullopt;
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  std::vector<std::string> columns;
  bool memory = false;
  for (const std::string_view field : split_fields(line)) {
    if (field.empty() || field.find_first_of("={}'\"") != field.npos) return false;
    memory |=
        (field.starts_with(monitor) && !parse_column(field.substr(monitor.size())).key.empty()) || parse_card(field);
    columns.emplace_back(field);
  }
  if (!memory || columns.size() < 2) return false;
  layout.columns = std::move(columns);
  layout.kind = "lightning_csv";
  return true;
}

/// Reads a row. A field is a number or empty: each row contains the values that were logged together.
bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto fields = split_fields(line);
  if (fields.size() != layout.columns.size()) return false;
  std::vector<std::optional<GaugeValue>> numbers(fields.size());
  std::optional<double> step;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].empty() || fields[i] == "nan" || fields[i] == "inf" || fields[i] == "-inf") continue;
    std::size_t at = 0;
    numbers[i] = read_number(fields[i], at);
    if (!numbers[i] || at != fields[i].size()) return false;
    if (layout.columns[i] == "step") step = numbers[i]->value;
  }
  if (step && *step >= 0 && *step < 1e15) sink.step({static_cast<i64>(*step), {}, {}});
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!numbers[i]) continue;
    const std::string_view name = layout.columns[i];
    if (name.starts_with(monitor)) emit(parse_column(name.substr(monitor.size())), *numbers[i], step, sink);
    const auto card = parse_card(name);
    if (!card) continue;
    Origin where;
    where.device = card;
    sink.at(where);
    Reading r;
    r.metric = Metric::used;
    r.kind = SeriesKind::sampled_gauge;
    r.value = numbers[i]->value * mebibyte;
    r.quantum = mebibyte;
    r.unit = "MB";
    sink.reading(r, step);
    sink.at({});
  }
  return true;
}

bool has_pairs(std::string_view line) {
  for (std::size_t at = line.find(monitor); at != line.npos; at = line.find(monitor, at + 1)) {
    const HookColumn column = parse_column(line.substr(at + monitor.size()));
    if (column.key.empty()) continue;
    if (value_after(line, static_cast<std::size_t>(column.key.end() - line.begin()))) return true;
  }
  return false;
}

void pairs(const Match& m, EventSink& sink) {
  const std::string_view line = m.text;
  const auto step = find_step(line);
  for (std::size_t at = line.find(monitor); at != line.npos; at = line.find(monitor, at + 1)) {
    const HookColumn column = parse_column(line.substr(at + monitor.size()));
    if (column.key.empty()) continue;
    if (const auto value = value_after(line, static_cast<std::size_t>(column.key.end() - line.begin())))
      emit(column, *value, step, sink);
  }
}

}  // namespace oomdoctor::parsers::lightning
