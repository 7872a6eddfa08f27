// amd-smi: the rows of "monitor" and the amounts of "metric --mem-usage", as text and as JSON. Its MB are 2^20 bytes.
//
// A cell of "monitor" is a number, a blank and a unit, or only "N/A". The columns depend on the options of the call, so
// the index of a cell determines its column.
#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::amd_smi {
namespace {

constexpr int max_lines = 400;  ///< lines of one GPU in "metric"

enum AmdSmiColumn : int { other, gpu, used, total };

bool is_unit(std::string_view cell) {
  static constexpr std::array<std::string_view, 9> units{"W",
                                                         "\xc2\xb0"
                                                         "C",
                                                         "C",
                                                         "%",
                                                         "MHz",
                                                         "MB",
                                                         "GB",
                                                         "Mb/s",
                                                         "V"};
  return std::find(units.begin(), units.end(), cell) != units.end();
}

bool is_number(std::string_view cell) { return !cell.empty() && cell.size() < 10 && only_digits(cell); }

/// The GPU number of the nearest "GPU: 3" or "\"gpu\": 3," above.
std::optional<int> find_device(const Cursor& cursor, std::string_view key) {
  std::optional<int> card;
  cursor.backward(max_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    if (!text.starts_with(key)) return true;
    const std::string_view digits = trimmed(text.substr(key.size()));
    if (!digits.empty() && is_digit(digits[0])) card = static_cast<int>(leading_integer(digits.substr(0, 4)));
    return false;
  });
  return card;
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  layout = {};
  layout.kind = "amd_smi";
  for (const auto cell : split_at_blanks(line)) {
    layout.columns.emplace_back(cell);
    layout.roles.push_back(cell == "GPU" ? gpu : cell == "VRAM_USED" ? used : cell == "VRAM_TOTAL" ? total : other);
  }
  return std::count(layout.roles.begin(), layout.roles.end(), used) == 1 &&
         std::count(layout.roles.begin(), layout.roles.end(), gpu) == 1;
}

bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  std::vector<std::string_view> cells, units;
  for (const auto word : split_at_blanks(line)) {
    // A unit belongs to the cell before it.
    if (is_unit(word) && !cells.empty()) {
      units.back() = word;
      continue;
    }
    cells.push_back(word);
    units.emplace_back();
  }
  if (cells.size() != layout.roles.size()) return false;
  Card card;
  std::optional<i64> in_use, whole;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int role = layout.roles[i];
    if (role == gpu && (!is_number(cells[i]) || cells[i].size() > 4)) return false;
    if (role == gpu) card.device = static_cast<int>(leading_integer(cells[i]));
    if ((role == used || role == total) && is_number(cells[i]) && units[i] == "MB")
      (role == used ? in_use : whole) = leading_integer(cells[i]);
  }
  if (in_use) emit_gpu_reading(sink, card, {.number = static_cast<double>(*in_use), .unit = "MB"});
  if (whole) emit_capacity(sink, card, *whole, "MiB");
  return true;
}

void text_form(const Match& m, EventSink& sink) {
  const auto device = find_device(m.cursor, "GPU: ");
  if (!device) return;
  if (m[1] == "USED")
    emit_gpu_reading(sink, {.device = device}, {.number = static_cast<double>(leading_integer(m[2])), .unit = "MB"});
  else
    emit_capacity(sink, {.device = device}, leading_integer(m[2]), "MiB");
}

void json_form(const Match& m, EventSink& sink) {
  const auto device = find_device(m.cursor, "\"gpu\": ");
  std::optional<i64> value;
  m.cursor.forward(1, [&](const Line& line) {
    const std::string_view text = trimmed(line.body());
    constexpr std::string_view key = "\"value\": ";
    if (text.starts_with(key) && text.size() > key.size() && is_digit(text[key.size()]))
      value = leading_integer(text.substr(key.size()));
    return false;
  });
  if (!device || !value) return;
  if (m[1] == "used")
    emit_gpu_reading(sink, {.device = device}, {.number = static_cast<double>(*value), .unit = "MB"});
  else
    emit_capacity(sink, {.device = device}, *value, "MiB");
}

}  // namespace oomdoctor::parsers::amd_smi
