// The tables of cnmon (Cambricon's MLU) and mthreads-gmi (Moore Threads' GPUs): the amount in use and the total of each
// card, in MiB. Their only time is the date above the table. radeontop's dump prints one AMD GPU a line, in mb of 2^20
// bytes, with its time. neuron-monitor prints an object of JSON at a time, with the bytes of each process on all of its
// Neuron devices together.
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"

namespace oomdoctor::parsers::other_monitors {
namespace {

constexpr int max_rows = 80;  ///< lines of a table above one card: 16 cards of four lines each, and the heading

void emit_card(const Match& m, const Card& card, std::string_view used, std::string_view total, EventSink& sink) {
  std::optional<double> time;
  m.cursor.backward_texts(max_rows, [&](std::string_view text) { return !(time = read_calendar_time(text)); });
  emit_gpu_reading(sink, card, {.number = static_cast<double>(leading_integer(used))}, time);
  emit_capacity(sink, card, leading_integer(total), "MiB");
}

}  // namespace

/// The row above begins with the number of the card: "| 0     /   MLU370-X8    v1.1.4 |".
void cnmon(const Match& m, EventSink& sink) {
  std::string row;
  m.cursor.backward(1, [&](const Line& line) {
    row = trimmed(line.body());
    return false;
  });
  const auto cells = split_at_blanks(row);
  if (cells.size() < 4 || cells[0] != "|" || !only_digits(cells[1]) || cells[1].size() > 3) return;
  emit_card(m, {.device = static_cast<int>(leading_integer(cells[1]))}, m[1], m[2], sink);
  sink.setting("gpu", cells[3]);
}

void mthreads_gmi(const Match& m, EventSink& sink) {
  emit_card(m, {.device = static_cast<int>(leading_integer(m[1]))}, m[3], m[4], sink);
  sink.setting("gpu", m[2]);
}

void radeontop(const Match& m, EventSink& sink) {
  const std::string_view decimals = m[2].substr(m[2].find('.') + 1);
  emit_gpu_reading(sink, {.device = {}, .alone = true},
                   {.number = leading_number(m[2]), .unit = "mb", .decimals = static_cast<int>(decimals.size())},
                   leading_number(m[1]));
}

void neuron_monitor(const Match& m, EventSink& sink) {
  const std::string_view before = m.text.substr(0, static_cast<std::size_t>(m[1].data() - m.text.data()));
  static constexpr std::string_view key = "\"pid\":";
  const std::size_t at = before.rfind(key);
  const i64 pid = at == before.npos ? 0 : leading_integer(trimmed(before.substr(at + key.size())));
  if (pid > 0) emit_process_memory(sink, {.pid = pid}, static_cast<double>(leading_integer(m[2])), 1);
}

}  // namespace oomdoctor::parsers::other_monitors
