// rocm-smi: the bytes of --showmeminfo vram as text and as JSON, and the percentages of its table.
//
// "VRAM Total Used" is the memory in use on the whole GPU and "VRAM Total" its capacity. VIS_VRAM is the part that the
// host can address, and GTT is host memory. JSON contains all GPUs on one line, or one key per line. The key of the GPU
// precedes its values.
#include <algorithm>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::rocm_smi {
namespace {

constexpr int max_keys = 200;         ///< keys of one GPU in JSON
constexpr int max_lines_around = 24;  ///< lines of the same report around one GPU's line
constexpr std::size_t max_cards_per_line = 64;

/// The number of the last "cardN" in `text`.
std::optional<int> last_card(std::string_view text) {
  const std::size_t at = text.rfind("\"card");
  if (at == text.npos || at + 6 > text.size()) return std::nullopt;
  const std::string_view digits = text.substr(at + 5, 4);
  const std::size_t end = digits.find_first_not_of("0123456789");
  if (end == 0 || end == digits.npos || digits[end] != '"') return std::nullopt;
  return static_cast<int>(leading_integer(digits));
}

std::optional<int> card_above(const Cursor& cursor) {
  std::optional<int> card;
  cursor.backward(max_keys, [&](const Line& line) {
    card = last_card(line.body());
    return !card;
  });
  return card;
}

/// True if the hit's line or one of the `most` lines around it names a GPU other than `device`.
bool has_others(const Cursor& cursor, int device, int max_lines, std::string_view open, char close) {
  const auto names_other = [&](std::string_view text) {
    for (std::size_t at = text.find(open); at != text.npos; at = text.find(open, at + 1)) {
      const std::string_view digits = text.substr(at + open.size(), 4);
      const std::size_t end = digits.find(close);
      if (end != 0 && end != digits.npos && is_digit(digits[0]) && leading_integer(digits) != device) return true;
    }
    return false;
  };
  bool others = names_other(cursor.line().body());
  const auto look = [&](const Line& line) { return !(others = others || names_other(line.body())); };
  cursor.forward(max_lines, look);
  cursor.backward(others ? 0 : max_lines, look);
  return others;
}

void emit_used(EventSink& sink, int device, i64 bytes, bool) {
  emit_gpu_reading(sink, {.device = device}, {.number = static_cast<double>(bytes), .unit_bytes = 1, .unit = "B"});
}

void emit_total(EventSink& sink, int device, i64 bytes, bool alone) {
  emit_capacity(sink, {.device = device, .alone = alone}, bytes, "B");
}

/// Calls `emit` for every `key` of a line of JSON, with its GPU.
void each_value(const Match& m, EventSink& sink, std::string_view key, void (*emit)(EventSink&, int, i64, bool),
                bool total) {
  std::size_t count = 0;
  for (std::size_t at = m.text.find(key); at != m.text.npos && count < max_cards_per_line;
       at = m.text.find(key, at + 1)) {
    const std::string_view rest = m.text.substr(at + key.size());
    ++count;
    if (rest.empty() || !is_digit(rest.front())) continue;  // "N/A"
    std::optional<int> card = last_card(m.text.substr(0, at));
    if (!card) card = card_above(m.cursor);
    if (card) emit(sink, *card, leading_integer(rest), total && !has_others(m.cursor, *card, max_keys, "\"card", '"'));
  }
}

/// "GPU Memory Allocated (VRAM%)" is the share of GPU memory in use. "GPU memory use (%)" next to it is the share of
/// time in which the memory was busy.
void emit_share(EventSink& sink, int device, i64 share, bool) {
  emit_gpu_reading(sink, {.device = device},
                   {.metric = Metric::utilization, .number = static_cast<double>(share), .unit_bytes = 1, .unit = "%"});
}

enum CsvRole : int { other, device, used_bytes, total_bytes };

}  // namespace

void text_used(const Match& m, EventSink& sink) {
  emit_used(sink, static_cast<int>(leading_integer(m[1])), leading_integer(m[2]), false);
}

void text_total(const Match& m, EventSink& sink) {
  const int device = static_cast<int>(leading_integer(m[1]));
  emit_total(sink, device, leading_integer(m[2]), !has_others(m.cursor, device, max_lines_around, "GPU[", ']'));
}

void json_used(const Match& m, EventSink& sink) {
  each_value(m, sink, "\"VRAM Total Used Memory (B)\": \"", emit_used, false);
}
void json_total(const Match& m, EventSink& sink) {
  each_value(m, sink, "\"VRAM Total Memory (B)\": \"", emit_total, true);
}

void text_share(const Match& m, EventSink& sink) {
  emit_share(sink, static_cast<int>(leading_integer(m[1])), leading_integer(m[2]), false);
}
void json_share(const Match& m, EventSink& sink) {
  each_value(m, sink, "\"GPU Memory Allocated (VRAM%)\": \"", emit_share, false);
}

/// Cells contain blanks, so the columns are counted from the right end of the line: "…  VRAM%  GPU%".
bool header(std::string_view line, Layout& layout) {
  const auto cells = split_at_blanks(line);
  const auto vram = std::find(cells.begin(), cells.end(), "VRAM%");
  if (cells.empty() || vram == cells.end() || (cells[0] != "Device" && cells[0] != "GPU")) return false;
  layout = {};
  layout.kind = "rocm_smi";
  for (const auto cell : cells) layout.columns.emplace_back(cell);
  layout.roles = {static_cast<int>(cells.end() - vram)};
  return true;
}

bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = split_at_blanks(line);
  const auto from_end = static_cast<std::size_t>(layout.roles.at(0));
  if (cells.size() < from_end + 5) return false;
  const std::string_view index = cells[0], share = cells[cells.size() - from_end];
  if (index.size() > 4 || !only_digits(index)) return false;
  if (!cells.back().ends_with('%') || share.find_first_not_of("0123456789") + 1 != share.size()) return false;
  emit_gpu_reading(sink, {.device = static_cast<int>(leading_integer(index))},
                   {.metric = Metric::utilization,
                    .number = static_cast<double>(leading_integer(share)),
                    .unit_bytes = 1,
                    .unit = "%"});
  return share.ends_with('%');
}

/// The header of --csv: "device,VRAM Total Memory (B),VRAM Total Used Memory (B)".
bool csv_header(std::string_view line, Layout& layout) {
  layout = {};
  layout.kind = "rocm_smi_csv";
  for (const auto cell : split_at_commas(line)) {
    layout.columns.emplace_back(cell);
    layout.roles.push_back(cell == "device"                       ? device
                           : cell == "VRAM Total Used Memory (B)" ? used_bytes
                           : cell == "VRAM Total Memory (B)"      ? total_bytes
                                                                  : other);
  }
  return layout.columns[0] == "device";
}

bool csv_row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = split_at_commas(line);
  if (cells.size() != layout.roles.size() || !cells[0].starts_with("card") || cells[0].size() > 8) return false;
  const std::string_view digits = cells[0].substr(4);
  if (digits.empty() || !only_digits(digits)) return false;
  const int card = static_cast<int>(leading_integer(digits));
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const bool number = !cells[i].empty() && only_digits(cells[i]);
    if (number && layout.roles[i] == used_bytes) emit_used(sink, card, leading_integer(cells[i]), false);
    if (number && layout.roles[i] == total_bytes) emit_total(sink, card, leading_integer(cells[i]), false);
  }
  return true;
}

}  // namespace oomdoctor::parsers::rocm_smi
