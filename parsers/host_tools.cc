// The memory of a machine or of its processes as top, atop, nmon, ps, psrecord, vmstat, pidstat, sar, dstat and
// tegrastats print it again and again, most with their own clock.
//
// top's "used" and dstat's leave the page cache out. vmstat prints no amount in use: what is free, and the buffers and
// the cache, which the kernel gives up, are available. sar prints the kernel's own estimate of that, kbavail; its
// kbmemused contains the cache in old versions. A Jetson has one memory for its CPU and its GPU: tegrastats prints what
// both use, in MB of 2^20 bytes.
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/parser.h"
#include "read/recorded_rows.h"
#include "read/sizes.h"
#include "read/table_cells.h"
#include "read/table_rows.h"
#include "read/tokens.h"
#include "text/lines.h"

namespace oomdoctor::parsers::host_tools {
namespace {

enum VmstatRole : int { other, available, end_of_names };

/// Names the columns of sysstat's table after its clock, "12:00:01 AM   UID       PID …", for the reader of tables;
/// pidstat -h writes "# Time" there. False if a line is none.
bool read_sysstat_names(std::string_view line, Layout& layout) {
  const auto cells = split_at_blanks(line);
  layout = {};
  layout.separator = ' ';
  layout.kind = "log";
  if (cells.size() < 4) return false;
  std::size_t i = read_cell_time(cells[0]) ? 1 : 0;  // the clock may be cut off already, as the line's own
  if (cells[0] == "#") i = cells[1] == "Time" ? 2 : 1;
  layout.columns.emplace_back("time");
  if (cells[i] == "AM" || cells[i] == "PM") layout.columns.emplace_back("am_pm"), ++i;
  for (; i < cells.size(); ++i) layout.columns.emplace_back(cells[i]);
  return true;
}

bool rename(Layout& layout, std::string_view from, const char* to) {
  const auto column = std::find(layout.columns.begin(), layout.columns.end(), from);
  if (column == layout.columns.end()) return false;
  *column = to;
  return true;
}

}  // namespace

/// A number of top, perhaps with the decimal comma of the user's locale.
double number_of_top(std::string_view text) {
  std::string copy(text);
  std::replace(copy.begin(), copy.end(), ',', '.');
  return leading_number(copy);
}

/// The clock of top's first line, above the line of memory.
std::optional<double> clock_of_top(const Match& m) {
  constexpr int most_lines = 8;  // between them; one for each CPU may be more
  std::optional<double> time;
  m.cursor.backward_texts(most_lines, [&](std::string_view text) {
    if (!text.starts_with("top - ")) return true;
    if (const auto stamp = read_time(text.substr(6))) time = stamp->seconds;
    return false;
  });
  return time;
}

void top(const Match& m, EventSink& sink) {
  const double unit = static_cast<double>(unit_bytes(m[1]).value_or(1));
  Reading r = sampled_reading(Metric::host_used, number_of_top(m[4]) * unit, unit / 10, m[1], "top");
  r.capacity = number_of_top(m[2]) * unit;
  const std::optional<double> time = clock_of_top(m);
  sink.reading(r, {}, time);
  // The line of swap below ends with the kernel's estimate of what is available.
  m.cursor.forward(1, [&](const Line& line) {
    static constexpr std::string_view label = " avail Mem";
    const std::size_t at = line.text.find(label);
    if (at == line.text.npos || at == 0) return false;
    const std::size_t from = line.text.find_last_not_of("0123456789.,", at - 1) + 1;
    sink.reading(sampled_reading(Metric::host_available, number_of_top(line.text.substr(from, at - from)) * unit,
                                 unit / 10, m[1], "top"),
                 {}, time);
    sink.claim_through(line.number);
    return false;
  });
}

/// top before procps-ng 3.3.10 counts the cache as used and ends the line of swap with it. Free memory, buffers and
/// cache are available.
void old_top(const Match& m, EventSink& sink) {
  std::optional<double> cached;
  m.cursor.forward(1, [&](const Line& line) {
    static constexpr std::string_view free = " free";  // and a comma or a point
    const std::size_t at = line.text.find(free);
    if (at == line.text.npos || line.text.find(" cached") == line.text.npos) return false;
    cached = leading_number(trimmed(line.text.substr(std::min(at + free.size() + 1, line.text.size()))));
    sink.claim_through(line.number);
    return false;
  });
  if (!cached) return;
  constexpr double unit = static_cast<double>(KiB);
  Reading r = sampled_reading(Metric::host_available, (leading_number(m[2]) + leading_number(m[3]) + *cached) * unit,
                              unit, "KiB", "top");
  r.capacity = leading_number(m[1]) * unit;
  sink.reading(r, {}, clock_of_top(m));
}

/// atop's line of memory in each screen, below one with its date and clock. Its "free" leaves out the buffers and the
/// cache, which the kernel gives up. Its letters are powers of 1024.
void atop(const Match& m, EventSink& sink) {
  const auto amount = [&](std::size_t number) {
    return leading_number(m[number]) * static_cast<double>(unit_bytes(std::string(m[number + 1]) + "iB").value_or(1));
  };
  constexpr int most_lines = 80;  // between them; one for each CPU
  std::optional<double> time;
  m.cursor.backward_texts(most_lines, [&](std::string_view text) {
    if (!text.starts_with("ATOP - ")) return true;
    const auto cells = split_at_blanks(text);
    for (std::size_t i = 2; i + 1 < cells.size() && !time; ++i)
      if (const auto date = read_cell_day(cells[i]))
        if (const auto clock = read_cell_time(cells[i + 1])) time = *date + *clock;
    return false;
  });
  Reading r = sampled_reading(Metric::host_available, amount(3) + amount(5) + amount(7),
                              amount(1) / leading_number(m[1]) / 10, m[2], "atop");
  r.capacity = amount(1);
  sink.reading(r, {}, time);
}

/// nmon's line of memory in each snapshot, in MB of 2^20 bytes, below the one with its clock. Free memory, cache and
/// buffers are available.
void nmon(const Match& m, EventSink& sink) {
  constexpr int most_lines = 300;  // between them; one for each CPU
  std::optional<double> time;
  m.cursor.backward_texts(most_lines, [&](std::string_view text) {
    if (!text.starts_with("ZZZZ,T")) return true;
    if (const std::size_t at = text.find(',', 6); at != text.npos) time = read_cell_time(text.substr(at + 1, 8));
    return false;
  });
  constexpr double unit = static_cast<double>(MiB);
  Reading r = sampled_reading(Metric::host_available,
                              (leading_number(m[2]) + leading_number(m[3]) + leading_number(m[4])) * unit, unit / 10,
                              "MB", "nmon");
  r.capacity = leading_number(m[1]) * unit;
  sink.reading(r, {}, time);
}

/// vmstat -s prints the counters of a machine one a line, in KiB, the total first. free, buffers and cache, which
/// vmstat calls the cache of swap, are available. A loop may print its clock before or after them, which nothing shows.
void vmstat_counters(const Match& m, EventSink& sink) {
  constexpr int most_lines = 9;  // of memory
  constexpr std::array<std::string_view, 3> unused{" K free memory", " K buffer memory", " K swap cache"};
  double available = 0;
  std::size_t found = 0;
  i64 last = 0;
  m.cursor.forward(most_lines, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    const auto ends = [&](std::string_view name) { return text.ends_with(name); };
    if (text.empty() || !is_digit(text.front()) || text.find(" K ") == text.npos) return false;
    last = line.number;
    if (std::any_of(unused.begin(), unused.end(), ends))
      ++found, available += leading_number(text) * static_cast<double>(KiB);
    return true;
  });
  if (found != unused.size()) return;
  Reading r = sampled_reading(Metric::host_available, available, static_cast<double>(KiB), "K", "vmstat -s");
  r.capacity = leading_number(m[1]) * static_cast<double>(KiB);
  sink.reading(r);
  sink.claim_through(last);
}

/// With -t, the zone of the time is the last name, and the time itself is two cells. In German, the names are "Frei",
/// "Puffer" and "Cache".
bool vmstat_header(std::string_view line, Layout& layout) {
  layout = {};
  for (const auto printed : split_at_blanks(line)) {
    const std::string name = lower(printed);
    layout.columns.emplace_back(name == "frei" ? "free" : printed);
    const bool counts = one_of(name, {"free", "frei", "buff", "puffer", "cache"});
    layout.roles.push_back(counts ? available : other);
    if (one_of(name, {"id", "wa", "st", "gu"})) layout.roles.back() = end_of_names;
  }
  layout.kind = "log";
  return std::count(layout.roles.begin(), layout.roles.end(), available) == 3;
}

namespace {

/// The unit is KiB, or MiB with -S M; the table does not print it. A running system caches more than 128 MiB, unless
/// little of its memory is free or it has swapped. The first row decides for the rows below its header. Each has
/// values.
class VmstatRows final : public Rows {
  static constexpr double half_day = 43200;

 public:
  explicit VmstatRows(const Layout& layout) : layout_(layout) {}

  bool read(std::string_view line, RowsRead) override {
    const auto cells = split_at_blanks(line);
    const std::size_t names = layout_.columns.size();
    const bool timed = layout_.roles.back() != end_of_names && cells.size() == names + 1;
    if (!timed && cells.size() != names) return false;
    VmstatRow row;
    double free = 0, swapped = 0;
    row.sar = layout_.columns[0] == "time";
    if (row.sar && !(row.time = read_cell_time(cells[0]))) return false;
    if (row.sar && cells[1] == "PM" && *row.time < half_day) *row.time += half_day;
    if (row.sar && cells[1] == "AM" && *row.time >= half_day) *row.time -= half_day;
    for (std::size_t i = 0; i + 1 < names; ++i) {
      if (row.sar && layout_.roles[i] != available) continue;
      if (cells[i].empty() || !only_digits(cells[i])) return false;
      if (layout_.columns[i] == "swpd") swapped = leading_number(cells[i]);
      if (layout_.roles[i] != available) continue;
      row.available += leading_number(cells[i]);
      if (layout_.columns[i] == "free" || layout_.columns[i] == "kbmemfree") free = leading_number(cells[i]);
    }
    constexpr double least = 128 * 1024, max_mebibytes = 4 * 1024 * 1024;  // of one machine
    row.mebibytes = !row.sar && row.available - free < least && (free >= least || row.available < least) &&
                    swapped < least / 2 && row.available < max_mebibytes;
    if (timed) row.time = read_cell_time(std::string(cells[names - 1]) + ' ' + std::string(cells[names]));
    rows_.push_back(row);
    return true;
  }

  void emit(std::size_t i, std::any& memory, EventSink& sink) override {
    const VmstatRow& row = rows_[i];
    if (!memory.has_value()) memory = row.mebibytes;
    const bool mebibytes = std::any_cast<bool>(memory);
    const double unit = static_cast<double>(mebibytes ? MiB : KiB);
    sink.reading(sampled_reading(Metric::host_available, row.available * unit, unit, mebibytes ? "MiB" : "KiB",
                                 row.sar ? "sar" : "vmstat"),
                 {}, row.time);
  }

 private:
  struct VmstatRow {
    double available = 0;
    bool mebibytes = false, sar = false;
    std::optional<double> time;
  };
  const Layout& layout_;
  std::vector<VmstatRow> rows_;
};

}  // namespace

std::unique_ptr<Rows> vmstat_rows(const Layout& layout) { return std::make_unique<VmstatRows>(layout); }

/// Other tables of pidstat may follow the one of memory, so their headers open a table as well.
bool pidstat_header(std::string_view line, Layout& layout) {
  if (!read_sysstat_names(line, layout) || !rename(layout, "PID", "pid")) return false;
  rename(layout, "RSS", "rss (KiB)");
  return true;
}

bool sar_header(std::string_view line, Layout& layout) {
  return read_sysstat_names(line, layout) && rename(layout, "kbavail", "host_mem_available (KiB)");
}

/// Before sysstat 11.7 there is no kbavail. What is free or holds files is available, as in the rows of vmstat.
bool old_sar_header(std::string_view line, Layout& layout) {
  if (!read_sysstat_names(line, layout)) return false;
  for (const std::string& name : layout.columns)
    layout.roles.push_back(name == "kbmemfree" || name == "kbbuffers" || name == "kbcached" ? available : other);
  return std::count(layout.columns.begin(), layout.columns.end(), "kbavail") == 0 &&
         std::count(layout.roles.begin(), layout.roles.end(), available) == 3;
}

bool dstat_header(std::string_view line, Layout& layout) {
  layout = {};
  for (const auto cell : split_at_commas(line)) layout.columns.emplace_back(cell);
  layout.kind = "log";
  rename(layout, "epoch", "timestamp");
  rename(layout, "run", "runnable");  // processes
  return layout.columns.size() > 4 && rename(layout, "used", "host_mem_used (B)");
}

/// ps names what the user asks for: "PID   RSS COMMAND". RSS is in KiB. A listing of all columns is not a series: it is
/// printed once, to see what runs.
bool ps_header(std::string_view line, Layout& layout) {
  layout = {};
  layout.separator = ' ';
  layout.kind = "log";
  for (const auto cell : split_at_blanks(line)) layout.columns.emplace_back(cell);
  const auto named = [&](std::string_view name) {
    return std::find(layout.columns.begin(), layout.columns.end(), name) != layout.columns.end();
  };
  constexpr std::size_t max_columns = 8;
  if (layout.columns.size() > max_columns || named("USER") || !rename(layout, "RSS", "rss (KiB)")) return false;
  rename(layout, "TIME", "cpu_time"), rename(layout, "ELAPSED", "age"), rename(layout, "START", "begin");
  for (const char* const name : {"COMMAND", "CMD"}) rename(layout, name, "command");
  return rename(layout, "PID", "pid");
}

/// Of the columns of a list of processes, only the share of memory: "PID PPID CMD %MEM %CPU".
bool ps_shares_header(std::string_view line, Layout& layout) {
  layout = {};
  layout.separator = ' ';
  layout.kind = "log";
  for (const auto cell : split_at_blanks(line)) layout.columns.emplace_back(cell);
  if (layout.columns.size() < 3 || layout.columns.size() > 7 || layout.columns[0] != "PID") return false;
  const auto named = [&](std::string_view name) {
    return std::find(layout.columns.begin(), layout.columns.end(), name) != layout.columns.end();
  };
  for (const char* const name : {"COMMAND", "CMD"}) rename(layout, name, "command");
  return named("%MEM") && named("command") && !named("RSS") && !named("RES") && rename(layout, "PID", "pid");
}

namespace {

enum ProcessRole : int { other_cell, pid_cell, resident_cell, state_cell, command_cell };

/// The name of a program at the front of its command line: "python" of "/usr/bin/python train.py".
std::string_view name_of_program(std::string_view command) {
  if (const std::size_t slash = command.rfind('/'); slash != command.npos && slash + 1 < command.size())
    command.remove_prefix(slash + 1);
  while (!command.empty() && command.back() == ':') command.remove_suffix(1);
  return command;
}

/// Processes of top, screen by screen. A listing that is printed once shows what runs, not how it grows: the memory of
/// a process is a series from its second row on. The clock is in the first line of each screen, or before each row. No
/// header is read as one.
class ProcessRows final : public Rows {
 public:
  explicit ProcessRows(const Layout& layout) : layout_(layout) {}

  bool read(std::string_view line, RowsRead) override {
    static constexpr std::string_view screen = "top - ";
    if (line.starts_with(screen)) {
      const auto stamp = read_time(line.substr(screen.size()));
      if (stamp) rows_.emplace_back().time = stamp->seconds;
      return stamp.has_value();
    }
    if (line.starts_with("Threads:")) return rows_.emplace_back().threads = true;
    ProcessRow row;
    auto stamp = read_time(line);
    if (!stamp) stamp = read_yearless_time(line);
    if (stamp) row.time = stamp->seconds, line.remove_prefix(stamp->length);
    const auto cells = split_at_blanks(line);
    if (cells.size() < layout_.columns.size() || !read_cells(cells, row)) return false;
    rows_.push_back(std::move(row));
    return true;
  }

  void emit(std::size_t i, std::any& memory, EventSink& sink) override {
    if (!memory.has_value()) memory.emplace<Screens>();
    Screens& screens = *std::any_cast<Screens>(&memory);
    const ProcessRow& row = rows_[i];
    if (row.threads) return screens.threads = true, void();
    if (row.pid == 0) return screens.time = row.time, screens.shown.clear();
    constexpr std::size_t max_processes = 4096;
    const auto known = screens.names.find(row.pid);
    if (known == screens.names.end()) {
      if (row.bytes > 0 && screens.names.size() < max_processes) screens.names.emplace(row.pid, row.name);
      return;
    }
    Reading r = sampled_reading(Metric::host_rss, row.bytes, row.quantum, "KiB", "");
    if (screens.threads) {
      if (!is_first_thread(row, screens)) return;
      r.label = "threads of " + row.name;
    } else {
      sink.at({.pid = row.pid});
      r.label = "process " + std::to_string(row.pid) + " (" + known->second + ")";
    }
    sink.reading(r, {}, row.time ? row.time : screens.time);
  }

 private:
  struct ProcessRow {
    i64 pid = 0;           ///< 0: the first line of a screen
    bool threads = false;  ///< the rows below are threads
    double bytes = 0, quantum = 1;
    std::optional<double> time;
    std::string name;
  };
  /// What earlier rows leave for later rows.
  struct Screens {
    std::optional<double> time;
    std::map<i64, std::string> names;  ///< of processes
    bool threads = false;
    std::map<std::string, double> shown;  ///< bytes of the threads of this screen, by their name
    std::set<std::string> mixed;          ///< names of threads of several processes
  };

  /// True for the first thread of its name in a screen: all threads of a process have the memory of the process.
  static bool is_first_thread(const ProcessRow& row, Screens& screens) {
    const auto [other, first] = screens.shown.emplace(row.name, row.bytes);
    if (!first && other->second != row.bytes) screens.mixed.insert(row.name);
    return first && !screens.mixed.contains(row.name);
  }

  bool read_cells(const std::vector<std::string_view>& cells, ProcessRow& row) const {
    for (std::size_t k = 0; k < layout_.roles.size(); ++k) {
      const std::string_view cell = cells[k];
      if (layout_.roles[k] == pid_cell && (!only_digits(cell) || (row.pid = leading_integer(cell)) <= 0)) return false;
      if (layout_.roles[k] == state_cell && (cell.size() != 1 || !is_letter(cell[0]))) return false;
      if (layout_.roles[k] == resident_cell && !read_resident(cell, row)) return false;
      if (layout_.roles[k] == command_cell)
        row.name = name_of_program(k + 1 == layout_.roles.size() && last_is_name_ ? cells.back() : cell);
    }
    return row.pid > 0;
  }

  /// "5242880" is in KiB; a larger amount has the letter of its unit, "12.3g", perhaps with a decimal comma.
  static bool read_resident(std::string_view cell, ProcessRow& row) {
    std::string copy(cell);
    std::replace(copy.begin(), copy.end(), ',', '.');
    std::size_t at = 0;
    const auto number = read_number(copy, at);
    if (!number || at + 1 < copy.size()) return false;
    constexpr std::string_view letters = "kmgt";
    double unit = static_cast<double>(KiB);
    if (at < copy.size()) {
      const std::size_t power = letters.find(lower(copy[at]));
      if (power == letters.npos) return false;
      unit = std::pow(unit, static_cast<double>(power + 1));
    }
    row.bytes = number->value * unit;
    row.quantum = unit / std::pow(10.0, number->decimals);
    return true;
  }

  const Layout& layout_;
  bool last_is_name_ = layout_.columns.back() == "Name";  ///< Android's, after cells that may be empty
  std::vector<ProcessRow> rows_;
};

bool read_process_names(std::string_view line, std::string_view resident, Layout& layout) {
  layout = {};
  layout.kind = "log";
  auto cells = split_at_blanks(line);
  const auto pid = std::find_if(cells.begin(), cells.end(), [](auto cell) { return lower(cell) == "pid"; });
  if (pid == cells.end() || pid - cells.begin() > 2) return false;  // "# date" may be before it
  bool found = false;
  for (auto cell = pid; cell != cells.end(); ++cell) {
    const std::string name = lower(*cell);
    layout.columns.emplace_back(*cell);
    layout.roles.push_back(cell == pid                           ? pid_cell
                           : name == resident                    ? resident_cell
                           : name == "s"                         ? state_cell
                           : name == "command" || name == "name" ? command_cell
                                                                 : other_cell);
    found |= layout.roles.back() == resident_cell;
  }
  return found && layout.roles.back() == command_cell;
}

}  // namespace

bool top_header(std::string_view line, Layout& layout) { return read_process_names(line, "res", layout); }
bool android_top_header(std::string_view line, Layout& layout) {
  return line.find(" VSS ") != line.npos && read_process_names(line, "rss", layout);
}
std::unique_ptr<Rows> process_rows(const Layout& layout) { return std::make_unique<ProcessRows>(layout); }

/// dstat on a screen: its groups of columns are separated by bars, its amounts have a letter for their unit.
bool dstat_screen_header(std::string_view line, Layout& layout) {
  layout = {};
  layout.kind = "log";
  std::vector<std::string_view> groups;
  split_table_line(line, '|', groups);
  for (const std::string_view group : groups) {
    const auto cells = split_at_blanks(group);
    const auto named = [&](std::string_view name) {
      return std::find(cells.begin(), cells.end(), name) != cells.end();
    };
    // The group of swap has no buffers. Old versions print them before the free memory.
    const bool memory = !cells.empty() && cells[0] == "used" && named("free") && (named("buff") || named("buf"));
    layout.columns.emplace_back(memory ? "memory" : trimmed(group) == "time" ? "time" : "other");
  }
  return std::count(layout.columns.begin(), layout.columns.end(), "memory") == 1;
}

bool dstat_screen_row(std::string_view line, const Layout& layout, EventSink& sink) {
  std::vector<std::string_view> groups;
  split_table_line(line, '|', groups);
  if (groups.size() != layout.columns.size()) return false;
  std::optional<double> time;
  std::vector<std::string_view> memory;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (layout.columns[i] == "time") time = read_cell_time(trimmed(groups[i]));
    if (layout.columns[i] == "memory") memory = split_at_blanks(groups[i]);
  }
  const auto size = memory.empty() ? std::nullopt : read_size(memory[0]);
  if (!size) return false;
  const std::string_view used = memory[0];
  Reading r =
      sampled_reading(Metric::host_used, static_cast<double>(size->count),
                      static_cast<double>(std::max<i64>(1, 2 * size->slack)), used.substr(used.size() - 1), "dstat");
  constexpr std::size_t parts = 4;  // in use, buffers, cache and free: all memory, but for what rounding takes
  if (memory.size() == parts)
    for (const std::string_view part : memory)
      if (const auto one = read_size(part)) r.capacity += static_cast<double>(one->count);
  sink.reading(r, {}, time);
  return true;
}

/// psrecord: seconds since its start, and MB of 2^20 bytes.
bool psrecord_header(std::string_view line, Layout& layout) {
  layout = {};
  layout.separator = ' ';
  layout.kind = "log";
  layout.columns = {"elapsed_seconds", "cpu", "rss (MiB)", "virtual"};
  return trimmed(line).starts_with("# Elapsed time");
}

void tegrastats(const Match& m, EventSink& sink) {
  constexpr double unit = static_cast<double>(MiB);
  Reading r = sampled_reading(Metric::host_used, leading_number(m[1]) * unit, unit, "MB", "tegrastats");
  r.capacity = number_of_top(m[2]) * unit;
  const auto stamp = read_time(m.text);
  sink.reading(r, {}, stamp ? std::optional(stamp->seconds) : std::nullopt);
}

/// The memory of a machine as programs in Go print it, in bytes.
void gopsutil(const Match& m, EventSink& sink) {
  for (const auto& [metric, printed] : {std::pair(Metric::host_used, m[3]), {Metric::host_available, m[2]}}) {
    Reading r;
    r.metric = metric;
    r.kind = SeriesKind::sampled_gauge;
    r.value = leading_number(printed);
    r.capacity = leading_number(m[1]);
    r.quantum = 1;
    r.unit = "B";
    r.label = "gopsutil";
    sink.reading(r);
  }
}

/// time -v prints KiB, and so does FreeBSD's time -l; macOS prints bytes, which are whole pages.
void peak_of_command(const Match& m, EventSink& sink) {
  constexpr i64 page = 4096;
  const i64 number = leading_integer(m.has(1) ? m[1] : m[2]);
  const bool bytes = !m.has(1) && number >= MiB && number % page == 0;
  const i64 unit = bytes ? 1 : KiB;
  Reading r = sampled_reading(Metric::host_rss, static_cast<double>(number * unit), static_cast<double>(unit),
                              bytes ? "bytes" : "kB", "time");
  r.kind = SeriesKind::running_maximum;
  if (number > 0) sink.reading(r);
}

std::unique_ptr<Rows> rows(const Layout& layout) { return table_rows(layout); }

}  // namespace oomdoctor::parsers::host_tools
