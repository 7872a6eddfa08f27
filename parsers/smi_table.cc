// The table of plain nvidia-smi, for every driver generation. It has two rows per GPU up to driver 418, a third row for
// MIG later, wider columns since 550, and a Driver-Model column on Windows.
//
// The row with the GPU's index contains its bus id. The row below it contains "used / total" in MiB. A MIG instance has
// a separate row with its own total, and a job inside it can use only that memory. Its name distinguishes it from its
// GPU, whose row includes the instance's memory. The only time is the date above the table. Many tables in one file
// form one series per GPU, and one per process.
#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"

namespace oomdoctor::parsers::smi_table {
namespace {

constexpr int max_rows = 160;  ///< lines of a table above one GPU: 32 GPUs of four lines each, and the heading

/// True if the row contains a bus id such as "00000000:4A:00.0" or "0000:04:00.0".
bool has_bus_id(std::string_view row) {
  for (std::size_t at = row.find(".0 "); at != row.npos; at = row.find(".0 ", at + 1)) {
    if (at < 10) continue;
    const std::string_view id = row.substr(at - 10, 10);  // for example "0000:4A:00"
    static constexpr std::string_view form = "hhhh:hh:hh";
    bool fits = true;
    for (std::size_t i = 0; i < form.size(); ++i) fits = fits && (form[i] == ':' ? id[i] == ':' : is_hex_digit(id[i]));
    if (fits) return true;
  }
  return false;
}

/// Also true for the rest of a row that a terminal of 80 columns broke: "----------+", "        0 |".
bool is_table_line(std::string_view body) {
  const std::string_view text = trimmed(body);
  const auto frame = [](char c) { return c == '|' || c == '+'; };
  return !text.empty() && (frame(text.front()) || frame(text.back()));
}

bool is_rest_of_row(std::string_view body) {
  const std::string_view text = trimmed(body);
  return is_table_line(text) && text.front() != '|' && text.front() != '+';
}

struct CardRow {
  int index = 0;
  std::string name;
};

/// Reads the index and the name from "|   0  Tesla V100-SXM2...  On   | 00000000:16:00.0 Off |". The word before the
/// bar is a mode.
std::optional<CardRow> read_card_row(std::string_view body) {
  if (!trimmed(body).starts_with('|') || !has_bus_id(body)) return std::nullopt;
  std::string_view cell = trimmed(body).substr(1);
  cell = trimmed(cell.substr(0, cell.find('|')));
  const std::size_t digits = cell.find_first_not_of("0123456789");
  if (digits == 0 || digits == cell.npos || digits > 4) return std::nullopt;
  CardRow row;
  row.index = static_cast<int>(leading_integer(cell));
  const std::size_t mode = cell.rfind(' ');
  row.name = std::string(trimmed(cell.substr(digits, mode == cell.npos || mode < digits ? 0 : mode - digits)));
  return row;
}

/// What the lines above an amount contain.
struct LinesAbove {
  std::optional<CardRow> own;
  bool others = false;
  std::optional<double> time;
};

/// Reads the lines above an amount: directly above the row of its GPU, then the rest of the table, then the line with
/// the date.
LinesAbove read_above(const Cursor& cursor) {
  LinesAbove above;
  bool first = true;
  cursor.backward(max_rows, [&](const Line& line) {
    const std::string_view body = line.body();
    if (first && !is_rest_of_row(body)) {
      first = false;
      above.own = read_card_row(body);
      return above.own.has_value();
    }
    if (!is_table_line(body)) {
      above.time = read_calendar_time(line.text);
      return false;
    }
    above.others = above.others || read_card_row(body).has_value();
    return true;
  });
  return above;
}

bool card_below(const Cursor& cursor) {
  bool found = false;
  cursor.forward(4, [&](const Line& line) {
    found = found || read_card_row(line.body()).has_value();
    return is_table_line(line.body()) && !found;
  });
  return found;
}

/// True if the GPU is divided into MIG instances: a job inside one of them cannot use the GPU's total.
bool is_divided(const Cursor& cursor) {
  bool divided = false;
  cursor.forward(3, [&](const Line& line) {
    divided = divided || line.body().find(" Enabled ") != std::string_view::npos;
    return is_table_line(line.body()) && !trimmed(line.body()).starts_with('+');
  });
  return divided;
}

/// True for a row of the MIG table, "|  0    2   0   1  |": the numbers of GPU, GPU instance, compute instance and MIG
/// device.
bool is_instance(const Line& line) {
  const std::string_view text = trimmed(line.body());
  if (!text.starts_with('|')) return false;
  const auto cells = split_at_blanks(text.substr(1, std::min(text.find('|', 1), text.size()) - 1));
  return cells.size() == 4 && only_digits(cells[0]);
}

/// True if the table lists no other MIG instance.
bool is_only_instance(const Cursor& cursor) {
  bool others = false;
  const auto look = [&](const Line& line) {
    others = others || is_instance(line);
    return is_table_line(line.body()) && !others && line.body().find("MIG devices") == std::string_view::npos;
  };
  cursor.backward(max_rows, look);
  cursor.forward(others ? 0 : max_rows, look);
  return !others;
}

}  // namespace

void amount(const Match& m, EventSink& sink) {
  const LinesAbove above = read_above(m.cursor);
  if (!above.own) return;
  const Card card{.device = above.own->index, .alone = !above.others && !card_below(m.cursor) && !is_divided(m.cursor)};
  emit_gpu_reading(sink, card, {.number = static_cast<double>(leading_integer(m[1]))}, above.time);
  emit_capacity(sink, card, leading_integer(m[2]), "MiB");
  if (!above.own->name.empty()) sink.setting("gpu", above.own->name);
}

void instance(const Match& m, EventSink& sink) {
  std::optional<double> time;
  int gaps = 0;  // an empty line separates the two tables
  m.cursor.backward(max_rows, [&](const Line& line) {
    if (is_table_line(line.body())) return true;
    time = read_calendar_time(line.text);
    return !time && ++gaps < 3;
  });
  const std::string name = instance_name(m[1], m[2], m[3]);
  const Card part{.device = {}, .label = name};
  emit_gpu_reading(sink, part, {.number = static_cast<double>(leading_integer(m[4]))}, time);
  emit_capacity(sink, {.device = {}, .label = name, .alone = is_only_instance(m.cursor)}, leading_integer(m[5]), "MiB");
}

/// A row below "Processes:". The name is the end of its path: the table cuts long paths at their front.
void process(const Match& m, EventSink& sink) {
  const std::string_view path = trimmed(m[3]);
  const std::size_t slash = path.find_last_of("/\\");
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  emit_process_memory(sink,
                      {.pid = leading_integer(m[2]), .name = name, .device = static_cast<int>(leading_integer(m[1]))},
                      static_cast<double>(leading_integer(m[4])), static_cast<double>(MiB));
}

}  // namespace oomdoctor::parsers::smi_table
