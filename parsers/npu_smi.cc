// npu-smi info: two lines for each chip, the first with the number of the NPU, the second with its memory. A chip with
// HBM prints its amount last, and the memory of its control processors before it.
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"

namespace oomdoctor::parsers::npu_smi {
namespace {

/// The chip, its memory in use and its total, in MiB.
struct ChipMemory {
  i64 chip = 0, used = 0, total = 0;
};

/// The number at the end of the text; nullopt if there is none.
std::optional<i64> read_last_number(std::string_view text) {
  text = trimmed(text);
  const auto digits = text.find_last_not_of("0123456789") + 1;
  constexpr std::size_t max_digits = 8;
  if (digits == text.size() || text.size() - digits > max_digits) return std::nullopt;
  return leading_integer(text.substr(digits));
}

/// Reads "| 0                         | 0000:C1:00.0  | 0           0    / 0          21340/ 65536         |".
std::optional<ChipMemory> read_chip(std::string_view line) {
  std::vector<std::string_view> cells;
  split_table_line(line, '|', cells);
  if (cells.size() != 3 || !trimmed(cells[1]).starts_with("0000:") || leading_integer(trimmed(cells[0])) < 0)
    return std::nullopt;
  std::optional<ChipMemory> found;
  for (std::size_t slash = cells[2].find('/'); slash != std::string_view::npos; slash = cells[2].find('/', slash + 1)) {
    const auto used = read_last_number(cells[2].substr(0, slash));
    const i64 total = leading_integer(trimmed(cells[2].substr(slash + 1)));
    if (used && total > 0 && *used <= total) found = {leading_integer(trimmed(cells[0])), *used, total};
  }
  return found;
}

}  // namespace

void card(const Match& m, EventSink& sink) {
  std::optional<ChipMemory> memory;
  m.cursor.forward(1, [&](const Line& line) {
    memory = read_chip(line.body());
    if (memory) sink.claim_through(line.number);
    return false;
  });
  if (!memory) return;
  // Cards with several chips number them from 0.
  const std::string name = "NPU " + std::string(m[1]) + " chip " + std::to_string(memory->chip);
  Card card{.device = static_cast<int>(leading_integer(m[1]))};
  if (memory->chip != 0) card = {.device = {}, .label = name};
  emit_gpu_reading(sink, card, {.number = static_cast<double>(memory->used), .unit = "MB"});
  emit_capacity(sink, card, memory->total, "MiB");
}

}  // namespace oomdoctor::parsers::npu_smi
