// Memory as exporters print it in Prometheus's text format. The names of known exporters decide; of other names, the
// words do, if they name a GPU. Labels say which GPU, container or machine it is.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/prometheus_labels.h"
#include "read/table_columns.h"

namespace oomdoctor::parsers::prometheus {
namespace {

struct Exported {
  std::string_view name;
  Metric metric;
  double unit = 1;
  bool total = false;
};
/// container_memory_usage_bytes is not among them: it also counts the page cache.
constexpr auto known_names = std::to_array<Exported>({
    {"nvidia_smi_memory_used_bytes", Metric::used},
    {"nvidia_smi_memory_free_bytes", Metric::free},
    {"nvidia_smi_memory_total_bytes", Metric::used, 1, true},
    {"nvidia_gpu_memory_used_bytes", Metric::used},
    {"nvidia_gpu_memory_total_bytes", Metric::used, 1, true},
    {"nv_gpu_memory_used_bytes", Metric::used},
    {"nv_gpu_memory_total_bytes", Metric::used, 1, true},
    {"habanalabs_memory_used_bytes", Metric::used},
    {"habanalabs_memory_free_bytes", Metric::free},
    {"habanalabs_memory_total_bytes", Metric::used, 1, true},
    {"gpu_used_vram", Metric::used, mebibyte},
    {"gpu_total_vram", Metric::used, mebibyte, true},
    {"container_memory_working_set_bytes", Metric::host_used},
    {"container_memory_rss", Metric::host_rss},
    {"node_memory_MemAvailable_bytes", Metric::host_available},
    {"windows_memory_available_bytes", Metric::host_available},
    {"process_resident_memory_bytes", Metric::host_rss},
});

/// A name that no exporter of the list has, by its words; nullopt if it names no memory of a GPU.
std::optional<Reading> read_other_name(std::string_view name) {
  const std::string lowered = lower(name);
  const auto has = [&](std::string_view word) { return lowered.find(word) != lowered.npos; };
  if (!has("gpu") && !has("cuda") && !has("vram") && !has("hbm")) return std::nullopt;
  const std::vector<std::string> names{"time", std::string(name)};
  const TableColumn column = read_columns(names, {})[1];
  if (column.role != ColumnRole::amount || column.unit != 1 || column.share || column.host) return std::nullopt;
  return column.reading;
}

/// The number of the GPU: gpu="0", minor_number="0", device="nvidia0".
std::optional<int> read_device(std::string_view labels) {
  constexpr std::size_t max_digits = 3;
  for (const std::string_view name : {"gpu", "gpu_id", "minor_number", "index", "device"}) {
    std::string_view value = label_value(labels, name);
    if (name == "device" && value.starts_with("nvidia")) value.remove_prefix(6);
    if (!value.empty() && value.size() <= max_digits && only_digits(value))
      return static_cast<int>(leading_integer(value));
  }
  return std::nullopt;
}

/// The first of these labels that has a value.
std::string_view first_value(std::string_view labels, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const std::string_view value = label_value(labels, name); !value.empty()) return value;
  return {};
}

/// The names of a container, "trainer-0 main"; else those of its machine.
std::string name_of_host(std::string_view labels) {
  std::string name;
  for (const std::string_view part :
       {first_value(labels, {"pod", "pod_name"}), first_value(labels, {"container", "container_name", "name"})})
    if (!part.empty()) name.append(name.empty() ? "" : " ").append(part);
  return name.empty() ? std::string(first_value(labels, {"hostname", "Hostname", "node", "instance", "id"})) : name;
}

}  // namespace

void memory(const Match& m, EventSink& sink) {
  const auto known =
      std::find_if(known_names.begin(), known_names.end(), [&](const Exported& e) { return e.name == m[1]; });
  const auto other = known == known_names.end() ? read_other_name(m[1]) : std::nullopt;
  std::size_t at = 0;
  const auto number = read_number(m[3], at);
  if ((known == known_names.end() && !other) || !number || at != m[3].size()) return;
  std::optional<double> time;
  if (m.has(4)) time = static_cast<double>(leading_integer(m[4])) / 1000;
  const double unit = other ? 1 : known->unit;
  Reading reading = other ? *other : Reading{};
  if (!other) reading.metric = known->metric;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = number->value * unit;
  reading.quantum = unit;
  reading.unit = unit == 1 ? "B" : "MiB";
  Origin where;
  if (reading.metric == Metric::host_used || reading.metric == Metric::host_rss ||
      reading.metric == Metric::host_available) {
    reading.label = name_of_host(m[2]);
    return sink.reading(reading, {}, time);
  }
  where.device = read_device(m[2]);
  const std::string_view uuid = first_value(m[2], {"uuid", "UUID", "gpu_uuid"});
  const std::string machine(first_value(m[2], {"hostname", "Hostname", "node", "instance"}));
  if (!other && known->total)
    return emit_capacity(sink, {.device = where.device, .label = uuid}, whole_number(reading.value), "B");
  sink.at(where);
  reading.label = machine;
  if (!where.device && !uuid.empty()) reading.label.append(machine.empty() ? "" : " ").append(uuid);
  sink.reading(reading, {}, time);
  if (const std::string_view model = first_value(m[2], {"modelName", "card_model", "name"}); !model.empty())
    sink.setting("gpu", model);
}

}  // namespace oomdoctor::parsers::prometheus
