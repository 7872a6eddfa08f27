// nvidia-smi dmon with memory (-s m).
//
// The column fb is memory in MiB, labelled MB. The column mem next to it is memory bandwidth utilization in percent.
// The two header lines repeat every screenful. "-" is an absent value. With --format csv commas separate the cells.
// Without a header (noheader) the columns are unknown. pmon lists processes: with its column fb (-s m) each process has
// a separate series.
#include <algorithm>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/recorded_rows.h"

namespace oomdoctor::parsers::smi_monitor {
namespace {

enum SmiMonitorColumn : int { other, gpu, pid, fb, date, clock_time };

/// Splits at blanks, or at commas with --format csv.
std::vector<std::string_view> split_cells(std::string_view line) {
  return line.find(',') == line.npos ? split_at_blanks(line) : split_at_commas(line);
}

bool is_value(std::string_view cell) { return cell == "-" || cell.find_first_not_of("0123456789.:") == cell.npos; }

/// Parses the cells "20250201" and "12:00:05" into seconds since 1970.
std::optional<double> parse_time(std::string_view day, std::string_view clock) {
  if (clock.empty()) return std::nullopt;
  std::string text(clock);
  if (day.size() == 8)
    text = std::string(day.substr(0, 4)) + '-' + std::string(day.substr(4, 2)) + '-' + std::string(day.substr(6)) +
           ' ' + text;
  const auto stamp = read_time(text);
  return stamp ? std::optional(stamp->seconds) : std::nullopt;
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  line = trimmed(line);
  if (line.empty() || line.front() != '#') return false;
  layout = {};
  layout.kind = "smi_dmon";
  for (const std::string_view cell : split_cells(line.substr(1))) {
    layout.columns.emplace_back(cell);
    layout.roles.push_back(cell == "gpu"    ? gpu
                           : cell == "pid"  ? pid
                           : cell == "fb"   ? fb
                           : cell == "Date" ? date
                           : cell == "Time" ? clock_time
                                            : other);
  }
  const auto has = [&](int role) { return std::count(layout.roles.begin(), layout.roles.end(), role) == 1; };
  if (has(pid))
    layout.kind = "smi_pmon";
  else if (!has(fb))
    layout.note = "nvidia-smi dmon ran without memory (-s m); its column mem is the time in which the memory was busy";
  return has(gpu) && layout.columns.size() > 1;
}

bool row(std::string_view line, const Layout& layout, EventSink& sink) {
  const auto cells = split_cells(line);
  // The line of units: "# Idx     MB     MB". Another line of this kind may be the header of any table.
  if (trimmed(line).starts_with('#')) return std::find(cells.begin(), cells.end(), "Idx") != cells.end();
  const bool processes = layout.kind == "smi_pmon";
  if (processes ? cells.size() < layout.roles.size() || !is_value(cells[0]) : cells.size() != layout.roles.size())
    return false;
  if (processes) {
    std::string_view used, process;
    for (std::size_t i = 0; i < layout.roles.size(); ++i) {
      if (layout.roles[i] == fb) used = cells[i];
      if (layout.roles[i] == pid) process = cells[i];
    }
    if (!used.empty() && used != "-" && process != "-" && !process.empty())
      emit_process_memory(sink, {.pid = leading_integer(process)}, static_cast<double>(leading_integer(used)),
                          static_cast<double>(MiB), {});
    return true;
  }
  if (!std::all_of(cells.begin(), cells.end(), is_value)) return false;
  Card card;
  std::string_view used, day, clock;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int role = layout.roles[i];
    if (role == gpu) card.device = static_cast<int>(leading_integer(cells[i].substr(0, 4)));
    if (role == fb) used = cells[i];
    if (role == date) day = cells[i];
    if (role == clock_time) clock = cells[i];
  }
  if (!used.empty() && used != "-")
    emit_gpu_reading(sink, card, {.number = static_cast<double>(leading_integer(used)), .unit = "MB"},
                     parse_time(day, clock));
  return true;
}

}  // namespace oomdoctor::parsers::smi_monitor
