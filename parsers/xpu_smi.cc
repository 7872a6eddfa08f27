// Intel's xpu-smi: the table of "stats". "dump" prints comma-separated rows, which the parser of nvidia-smi's rows
// reads.
//
// A GPU with several tiles prints one line per tile in one cell. Only the number of the whole GPU is read.

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"

namespace oomdoctor::parsers::xpu_smi {
namespace {

constexpr int max_lines = 60;  ///< rows of the table above the memory row

/// Finds the table's row "| Device ID                   | 0      |" above the hit.
std::optional<int> device_above(const Cursor& cursor) {
  std::optional<int> device;
  cursor.backward(max_lines, [&](const Line& line) {
    std::string_view text = trimmed(line.body());
    if (!text.starts_with("| Device ID ")) return text.starts_with('|') || text.starts_with('+');
    text = trimmed(text.substr(std::min(text.find('|', 1) + 1, text.size())));
    if (!text.empty() && is_digit(text[0])) device = static_cast<int>(leading_integer(text.substr(0, 4)));
    return false;
  });
  return device;
}

}  // namespace

void used(const Match& m, EventSink& sink) {
  emit_gpu_reading(sink, {.device = device_above(m.cursor)}, {.number = static_cast<double>(leading_integer(m[1]))});
}

}  // namespace oomdoctor::parsers::xpu_smi
