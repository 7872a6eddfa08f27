// CSV that a program writes next to its log, with memory columns that name their unit: "step,loss,gpu_mem_mb",
// "elapsed_sec,torch_allocated_gb,nvidia_smi_mb".
//
// Every cell of the heading is one identifier. Its words have the same meaning as in printed labels. Other columns are
// ignored. A gb may be 10^9 or 2^30 bytes, an mb 10^6 or 2^20 bytes.
#include <string>
#include <vector>

#include "base/ascii.h"
#include "parse/label.h"
#include "parse/line_format.h"
#include "parse/parser.h"
#include "parse/recorded_rows.h"
#include "parse/tokens.h"
#include "text/lines.h"

namespace oomdoctor::parsers::csv_columns {
namespace {

constexpr std::size_t max_columns = 64;

enum CsvColumnRole { other, step, seconds, clock, memory };

std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (cells.size() <= max_columns) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == line.npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

bool is_identifier(std::string_view cell) {
  return !cell.empty() && is_letter_or_underscore(cell[0]) &&
         std::all_of(cell.begin(), cell.end(), [](char c) { return is_dashed_name_char(c) || c == '.' || c == '/'; });
}

struct MemoryColumn {
  Label label;
  Unit unit;
};

/// The metric and the unit of a column by its name, such as "gpu_mem_mb"; nullopt unless the name contains a memory
/// label and a unit.
std::optional<MemoryColumn> memory_column(std::string_view name) {
  const std::string lowered = lower(name);
  std::vector<std::string_view> words;
  IdentifierWords identifier(name, lowered);
  while (const auto word = identifier.next()) words.push_back(*word);
  if (words.size() < 2 || !is_label_unit(words.back())) return std::nullopt;
  const auto unit = read_unit(name.substr(name.size() - words.back().size()), false);
  words.pop_back();
  if (!unit) return std::nullopt;
  if (words == std::vector<std::string_view>{"nvidia", "smi"})
    return MemoryColumn{{Metric::used, SeriesKind::sampled_gauge, true}, *unit};
  for (const std::string_view word : words)
    if (!belongs_to_label(word)) return std::nullopt;
  const auto label = read_label(words);
  return label ? std::optional(MemoryColumn{*label, *unit}) : std::nullopt;
}

CsvColumnRole find_role(std::string_view name) {
  const std::string lowered = lower(name);
  if (step_rank(lowered) > 0) return step;
  if (one_of(lowered, {"elapsed_sec", "elapsed_s", "elapsed_seconds", "seconds", "time_s", "time_sec"})) return seconds;
  if (one_of(lowered, {"timestamp", "time", "datetime", "date_time"})) return clock;
  return memory_column(name) ? memory : other;
}

/// The cell's number; nullopt if the cell contains anything else.
std::optional<GaugeValue> parse_number(std::string_view cell) {
  std::size_t at = 0;
  const auto number = read_number(cell, at);
  return number && cell.find_first_not_of(" \r", at) == cell.npos ? number : std::nullopt;
}

/// The time of a cell such as "2025-02-01 12:00:00.104", or seconds since 1970 or since the start.
std::optional<double> parse_clock(std::string_view cell) {
  constexpr std::size_t max_zone_length = 6;  // such as "+01:00"
  if (const auto stamp = read_time(cell); stamp && stamp->length + max_zone_length >= cell.size())
    return stamp->seconds;
  const auto number = parse_number(cell);
  return number ? std::optional(number->value) : std::nullopt;
}

Reading make_reading(const std::string& name, const GaugeValue& number) {
  const auto column = memory_column(name);
  Reading r;
  r.metric = column->label.metric;
  r.kind = column->label.kind;
  r.value = number.value * column->unit.bytes;
  r.quantum = column->unit.bytes;
  for (int i = 0; i < number.decimals; ++i) r.quantum /= 10;
  r.unit = std::string(column->unit.text);
  r.ambiguous_unit = column->unit.ambiguous;
  r.label = name;
  return r;
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  const std::vector<std::string_view> cells = split_cells(line);
  if (cells.size() < 2 || cells.size() > max_columns) return false;
  bool any = false;
  std::vector<int> roles;
  for (const std::string_view cell : cells) {
    if (!is_identifier(cell)) return false;
    roles.push_back(find_role(cell));
    any |= roles.back() == memory;
  }
  if (!any) return false;
  layout.kind = "csv_columns";
  layout.columns.assign(cells.begin(), cells.end());
  layout.roles = std::move(roles);
  return true;
}

bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const std::vector<std::string_view> cells = split_cells(line);
  if (cells.size() != layout.columns.size()) return false;
  std::optional<double> at, time;
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int role = layout.roles[i];
    if (role == clock) {
      if (!time) time = parse_clock(cells[i]);
      continue;
    }
    const auto number = role == other ? std::nullopt : parse_number(cells[i]);
    if (role != other && !number && !cells[i].empty()) return false;
    if (!number) continue;
    if (role == step) at = number->value;
    if (role == seconds) time = number->value;
    if (role == memory) readings.push_back(make_reading(layout.columns[i], *number));
  }
  // The step is a better position than the time, so the time counts only without a step.
  if (at) sink.step({whole_number(*at), {}, {}});
  for (const Reading& r : readings) sink.reading(r, at, at ? std::nullopt : time);
  return true;
}

}  // namespace oomdoctor::parsers::csv_columns
