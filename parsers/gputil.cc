// Output of small monitors: GPUtil's table, the block that scripts print from GPUtil's numbers, and one line per GPU
// with total and free memory.
//
// GPUtil takes its numbers from nvidia-smi: MB are MiB, and "MEM" is the share of GPU memory in use, not the bandwidth.
// In the block, PyTorch's numbers may exceed the GPU's memory on Windows, which lends host memory.
#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::gputil {
namespace {

constexpr int block_lines = 8;  ///< lines of one sample
constexpr std::size_t max_columns = 24;

/// Splits a row "| … | … |" at the bars.
std::vector<std::string_view> bar_cells(std::string_view line) {
  std::vector<std::string_view> out;
  line = trimmed(line);
  if (!line.starts_with('|') || !line.ends_with('|')) return out;
  for (std::size_t at = 1; at < line.size() && out.size() < max_columns;) {
    const std::size_t bar = std::min(line.find('|', at), line.size());
    out.push_back(trimmed(line.substr(at, bar - at)));
    at = bar + 1;
  }
  return out;
}

enum GputilColumn : int { other, id, share, used, total, name };

/// Parses the number of "15%" or "425MB"; nullopt if the unit differs.
std::optional<double> parse_number(std::string_view cell, std::string_view unit) {
  std::size_t at = 0;
  const auto number = read_number(cell, at);
  if (!number || number->value < 0 || trimmed(cell.substr(at)) != unit) return std::nullopt;
  return number->value;
}

/// The time above the block, "=== 2025-02-01 12:00:00 ===", and whether the block is GPUtil's.
struct GputilBlock {
  std::optional<double> time;
  bool load = false;
};

GputilBlock find_block(const Cursor& cursor) {
  GputilBlock block;
  cursor.backward(block_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    block.load = block.load || text.starts_with("GPU Load: ");
    if (!text.starts_with("=== ")) return !text.empty();
    if (const auto stamp = read_time(text.substr(4)); stamp && stamp->has_date) block.time = stamp->seconds;
    return false;
  });
  return block;
}

GpuAmount megabytes(Metric metric, std::string_view text) {
  std::size_t at = 0;
  const auto number = read_number(text, at);
  return {
      .metric = metric, .number = number ? number->value : 0, .unit = "MB", .decimals = number ? number->decimals : 0};
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  layout = {};
  layout.kind = "gputil";
  for (const auto cell : bar_cells(line)) {
    layout.columns.emplace_back(cell);
    layout.roles.push_back(cell == "ID"             ? id
                           : cell == "MEM"          ? share
                           : cell == "Name"         ? name
                           : cell == "Memory used"  ? used
                           : cell == "Memory total" ? total
                                                    : other);
  }
  const auto has = [&](int role) { return std::count(layout.roles.begin(), layout.roles.end(), role) == 1; };
  return has(id) && (has(share) || has(used));
}

bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = bar_cells(line);
  if (cells.size() != layout.roles.size()) return false;
  Card card;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (layout.roles[i] == id) {
      if (cells[i].empty() || cells[i].size() > 4 || !only_digits(cells[i])) return false;
      card.device = static_cast<int>(leading_integer(cells[i]));
    }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (layout.roles[i] == share)
      if (const auto value = parse_number(cells[i], "%"))
        emit_gpu_reading(sink, card, {.metric = Metric::utilization, .number = *value, .unit_bytes = 1, .unit = "%"});
    if (layout.roles[i] == used)
      if (const auto value = parse_number(cells[i], "MB"))
        emit_gpu_reading(sink, card, {.number = *value, .unit = "MB"});
    if (layout.roles[i] == total)
      if (const auto value = parse_number(cells[i], "MB")) emit_capacity(sink, card, static_cast<i64>(*value), "MiB");
    if (layout.roles[i] == name) sink.setting("gpu", cells[i]);
  }
  return true;
}

void block_used(const Match& m, EventSink& sink) {
  const GputilBlock block = find_block(m.cursor);
  emit_gpu_reading(sink, {}, megabytes(block.load ? Metric::used : Metric::memory, m[1]), block.time);
  std::size_t at = 0;
  if (const auto whole = read_number(m[2], at); whole && block.load)
    emit_capacity(sink, {.device = {}, .alone = true}, static_cast<i64>(whole->value), "MiB");
}

void block_torch(const Match& m, EventSink& sink) {
  const GputilBlock block = find_block(m.cursor);
  emit_gpu_reading(sink, {}, megabytes(Metric::allocated, m[1]), block.time);
  emit_gpu_reading(sink, {}, megabytes(Metric::reserved, m[2]), block.time);
}

void emit_free(const Match& m, EventSink& sink) {
  const Card card{.device = static_cast<int>(leading_integer(m[1]))};
  emit_gpu_reading(sink, card, {.metric = Metric::free, .number = static_cast<double>(leading_integer(m[3]))});
  emit_capacity(sink, card, leading_integer(m[2]), "MiB");
}

/// The bytes of nvmlDeviceGetMemoryInfo().
void emit_nvml_line(const Match& m, EventSink& sink) {
  const Card card{.device = static_cast<int>(leading_integer(m[1]))};
  emit_gpu_reading(sink, card, {.number = static_cast<double>(leading_integer(m[4])), .unit_bytes = 1, .unit = "B"});
  emit_capacity(sink, card, leading_integer(m[2]) / MiB, "MiB");
}

}  // namespace oomdoctor::parsers::gputil
