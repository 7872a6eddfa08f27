// Metrics of NVIDIA's DCGM: its exporter in Prometheus text format, and the rows of dcgmi dmon.
//
// Amounts are MiB, which only the "# HELP" line states. A MIG instance has its own name, because it is a part of its
// GPU. DCGM prints absent values as numbers near the maximum of their type.
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/prometheus_labels.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::dcgm {
namespace {

/// More than any GPU has; larger values are DCGM's absent values.
constexpr double max_mebibytes = 64.0 * static_cast<double>(TiB) / static_cast<double>(MiB);

/// A GPU or MIG instance. It owns the label to which its Card refers.
struct NamedCard {
  std::optional<int> device;
  std::string label;  ///< distinguishes an instance from its GPU
  std::string_view machine;

  Card card() const { return {.device = device, .label = label, .machine = machine}; }
};

/// The GPU or instance of the labels "gpu="0",UUID="…""; nullopt if they name none.
std::optional<NamedCard> parse_card(std::string_view labels) {
  const std::string_view gpu = label_value(labels, "gpu"), part = label_value(labels, "GPU_I_ID");
  if (gpu.empty() || gpu.size() > 4 || !only_digits(gpu)) return std::nullopt;
  NamedCard named;
  named.machine = label_value(labels, "Hostname");
  if (part.empty())
    named.device = static_cast<int>(leading_integer(gpu));
  else
    named.label = instance_name(gpu, part, {});
  return named;
}

std::optional<double> parse_mebibytes(std::string_view text) {
  std::size_t at = 0;
  const auto number = read_number(text, at);
  if (!number || number->value < 0 || number->value > max_mebibytes) return std::nullopt;
  return number->value;
}

void emit(const Match& m, EventSink& sink, Metric metric) {
  const auto card = parse_card(m[1]);
  const auto value = parse_mebibytes(m[2]);
  if (!card || !value) return;
  std::optional<double> time;
  if (m.has(3)) time = static_cast<double>(leading_integer(m[3])) / 1000;
  emit_gpu_reading(sink, card->card(), {.metric = metric, .number = *value}, time);
  if (const std::string_view model = label_value(m[1], "modelName"); !model.empty()) sink.setting("gpu", model);
}

enum DcgmColumn : int { other, used_column, total_column };

}  // namespace

void used(const Match& m, EventSink& sink) { emit(m, sink, Metric::used); }
void free_amount(const Match& m, EventSink& sink) { emit(m, sink, Metric::free); }

void total(const Match& m, EventSink& sink) {
  const auto card = parse_card(m[1]);
  const auto value = parse_mebibytes(m[2]);
  if (card && value) emit_capacity(sink, card->card(), static_cast<i64>(*value), "MiB");
}

/// The header of dcgmi dmon, "#Entity   FBUSD   FBTTL". A line with "ID" follows it. Both repeat every screenful.
bool header(std::string_view line, Layout& layout) {
  std::string_view text = trimmed(line);
  if (!text.starts_with('#')) return false;
  layout = {};
  layout.kind = "dcgm_dmon";
  for (const auto cell : split_at_blanks(text.substr(1))) {
    layout.columns.emplace_back(cell);
    layout.roles.push_back(cell == "FBUSD" ? used_column : cell == "FBTTL" ? total_column : other);
  }
  return layout.columns.size() > 1 && layout.columns[0] == "Entity";
}

/// Reads "GPU 0     1812     46068" or "GPU-I 3   1812   N/A".
bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = split_at_blanks(line);
  if (cells.size() == 1) return cells[0] == "ID" || cells[0] == "Id";
  if (cells.size() != layout.roles.size() + 1 || (cells[0] != "GPU" && cells[0] != "GPU-I")) return false;
  if (cells[1].size() > 4 || !only_digits(cells[1])) return false;
  const bool part = cells[0] == "GPU-I";
  const std::string name = "GPU instance " + std::string(cells[1]);
  Card card{.device = {}, .label = part ? std::string_view(name) : std::string_view{}};
  if (!part) card.device = static_cast<int>(leading_integer(cells[1]));
  for (std::size_t i = 1; i < layout.roles.size(); ++i) {
    const auto value = parse_mebibytes(cells[i + 1]);
    if (value && layout.roles[i] == used_column) emit_gpu_reading(sink, card, {.number = *value, .unit = "MB"});
    if (value && layout.roles[i] == total_column) emit_capacity(sink, card, static_cast<i64>(*value), "MiB");
  }
  return true;
}

}  // namespace oomdoctor::parsers::dcgm
