#include "read/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/ascii.h"
#include "read/cell_reader.h"
#include "read/first_cells.h"
#include "read/label.h"
#include "read/line_format.h"
#include "read/moment_test.h"
#include "read/prometheus_labels.h"
#include "read/row_subjects.h"
#include "read/table_cells.h"
#include "read/table_columns.h"
#include "read/tokens.h"
#include "read/translation.h"
#include "read/transposed_rows.h"
#include "read/untimed_samples.h"
#include "text/number_spans.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_name = 120;  ///< bytes of a column's name; trackers put the run's name into it

/// True for text that can name a column. A number, an assignment or a sentence cannot. A script may separate the words
/// of docker stats' heading by commas, "MEM USAGE / LIMIT" too.
bool may_be_name(std::string_view cell) {
  if (cell.size() > max_name) return false;
  if (cell == "/") return true;
  if (is_digit(cell[0]) && only_digits(cell)) return false;
  return cell.find_first_of("={}") == cell.npos && !cell.ends_with(": ") &&
         std::any_of(cell.begin(), cell.end(), [](char c) { return is_letter_or_underscore(c) || c == '%'; });
}

/// Words of things whose memory is host RAM.
constexpr auto host_words = std::to_array<std::string_view>(
    {"pod", "container", "namespace", "instance", "node", "host", "server", "machine", "worker", "rss", "ram"});

constexpr auto device_words = std::to_array<std::string_view>({"gpu", "cuda", "vram"});

bool is_name_of_time(std::string_view name) {
  return name == "time" || name == "timestamp" || name == "date" || name == "datetime";
}

/// The name of a column that Grafana names by its series, {__name__=""container_memory_usage_bytes"", pod=""api-0""}:
/// the pod's, with its unit. "" if the series is not host RAM in use.
std::string name_of_series(std::string_view cell) {
  const std::size_t open = cell.find('{');
  if (open == cell.npos || !cell.ends_with('}')) return {};
  std::string labels(cell.substr(open + 1, cell.size() - open - 2));
  for (std::size_t at = 0; (at = labels.find("\"\"", at)) != labels.npos; ++at) labels.erase(at, 1);
  const std::string_view metric = open > 0 ? cell.substr(0, open) : label_value(labels, "__name__");
  if (metric != "container_memory_usage_bytes" && metric != "container_memory_working_set_bytes" &&
      metric != "container_memory_rss" && metric != "process_resident_memory_bytes")
    return {};
  std::string name;
  for (const std::string_view label : {"pod", "container", "name", "instance"})
    if (const std::string_view value = label_value(labels, label); !value.empty() && name.find(value) == name.npos)
      name.append(name.empty() ? "" : " ").append(value);
  return name.append(name.empty() ? "container - host RAM (B)" : " - host RAM (B)");
}

/// "(MiB)", "[GB]"
bool is_bracketed_unit(std::string_view text) {
  const bool bracketed =
      text.size() > 2 && ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']'));
  return bracketed && read_unit(text.substr(1, text.size() - 2), true);
}

/// The names in a line that separates them so; empty if it is not a header. The column of the row's number has no name.
std::vector<std::string> read_names(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  line = trimmed(line);
  const bool plain = separator == ' ' && !line.starts_with('#');
  if (line.starts_with('#')) line = trimmed(line.substr(1));
  split_table_line(line, separator, cells);
  std::vector<std::string> names;
  if (cells.size() > 2 && trimmed_cell(cells.back()).empty()) cells.pop_back();  // a separator ends the line
  if (cells.size() < 2 || cells.size() > max_table_columns) return names;
  // A program that reserves room for its header writes the first row on the same line, after a hole.
  const auto is_moment = [](std::string_view cell) { return cell.find(':') != cell.npos && read_cell_time(cell); };
  if (separator != ' ' && is_name_of_time(lower(trimmed_cell(cells[0]))))
    cells.erase(std::find_if(cells.begin() + 2, cells.end(), [&](auto cell) { return is_moment(trimmed_cell(cell)); }),
                cells.end());
  // After a column of times, a dashboard names its columns as it likes: "{pod=""trainer-0""}".
  const bool timed = separator != ' ' && line.starts_with('"') && is_name_of_time(lower(trimmed_cell(cells[0])));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = trimmed_cell(cells[i]);
    if (plain && names.size() > 1 && is_bracketed_unit(cell)) {  // "step  allocated (MiB)"
      names.back().append(" ").append(cell);
      continue;
    }
    if (cell.empty() ? i > 0 : !(timed || may_be_name(cell))) return {};
    std::string series = timed ? name_of_series(cell) : std::string();
    names.push_back(series.empty() ? std::string(cell) : std::move(series));
  }
  return names;
}

/// Numbers without a unit.
struct BareNumbers {
  double largest = 0, smallest = 0;
  bool decimals = false;
  bool whole_pages = true, round = true;  ///< as bytes: of 4 KiB, and of 1 MiB
  std::size_t count = 0, changes = 0;
  double last = 0;

  void add(double number, bool has_decimals) {
    constexpr double page = 4096;
    smallest = count++ == 0 ? number : std::min(smallest, number);
    largest = std::max(largest, number);
    decimals |= has_decimals;
    whole_pages = whole_pages && std::fmod(number, page) == 0;
    round = round && std::fmod(number, mebibyte) == 0;
    if (number != last) ++changes;
    last = number;
  }
  bool are_pages() const {
    constexpr std::size_t least = 4;  // numbers
    constexpr double least_bytes = 1e6;
    return whole_pages && !round && changes >= least && largest > least_bytes;
  }
};

/// The unit of amounts that have none in their name: no GPU has so many MiB, and no job uses so few bytes.
/// Smaller numbers may be percent, fractions or gigabytes.
///
/// Memory that no word gives to a GPU or to an allocator may also be in KiB, as ps and `time` count it: then only
/// numbers below the KiB of any program, or with decimals, are MiB.
///
/// Linux counts memory in pages of 4 KiB: in bytes, all numbers are multiples of 4096, which numbers of KiB or MiB are
/// by chance only. A machine uses more than some KiB, and less than thousands of GiB.
CellUnit infer_unit(const BareNumbers& numbers, bool pages, bool machine, const TableColumn& column) {
  constexpr double min_host_bytes = 4e9;                       // fewer may be KiB of a machine
  constexpr double min_other_bytes = 1e9;                      // fewer may be KiB of a process
  constexpr double min_mebibytes = 256;                        // fewer may be GiB, or per cent
  constexpr double min_kibibytes = 6000;                       // no Python process takes fewer
  constexpr double max_gibibytes = 2048, min_machine = 20000;  // the latter in KiB
  const double largest = numbers.largest;
  if (pages) return CellUnit::bytes;
  if (column.host && largest >= min_host_bytes) return CellUnit::bytes;
  if (column.host && column.reading.metric == Metric::host_used && machine && largest > max_gibibytes &&
      numbers.smallest < min_machine && largest <= max_mebibytes)
    return CellUnit::mebibytes;
  if (column.host) return CellUnit::unknown;
  const bool kibibytes = !column.of_device && !column.of_driver();
  if (largest > (kibibytes ? min_other_bytes : min_bytes)) return CellUnit::bytes;
  if (largest > max_mebibytes || (kibibytes && !numbers.decimals && largest > min_kibibytes)) return CellUnit::unknown;
  return column.of_driver() || largest >= min_mebibytes ? CellUnit::mebibytes : CellUnit::unknown;
}

/// Names the columns that /proc/meminfo names, in its KiB, or in bytes if no machine has so many KiB. What is free
/// next to the caches says nothing.
void name_meminfo(std::span<const std::string> lines, Layout& layout) {
  const auto at = [&](std::string_view name) { return std::find(layout.columns.begin(), layout.columns.end(), name); };
  const auto available = at("MemAvailable");
  if (available == layout.columns.end()) return;
  std::vector<std::string_view> cells;
  double largest = 0;
  for (const std::string& line : lines) {
    split_table_line(line, layout.separator, cells);
    if (cells.size() == layout.columns.size())
      largest = std::max(
          largest, leading_number(trimmed_cell(cells[static_cast<std::size_t>(available - layout.columns.begin())])));
  }
  constexpr double most_kibibytes = 1e9, least_bytes = 4e9;  // 1 TB, 4 GB: between them it may be either
  *available = largest > least_bytes      ? "host RAM available (B)"
               : largest < most_kibibytes ? "host RAM available (KiB)"
                                          : "unused";
  for (const std::string_view name : {"MemTotal", "MemFree"})
    if (const auto other = at(name); other != layout.columns.end()) *other = "unused";
}

/// True for a cell of bare words, which may contain a separator.
bool may_be_split(std::string_view cell) {
  cell = trimmed(cell);
  return !cell.empty() && (is_letter_or_underscore(cell[0]) || cell[0] == '[' || cell[0] == '{') && !is_absent(cell);
}

/// Adds columns without a name where a program writes more cells than its header names, after a time. Cells after one
/// of bare words may be of another column than the one at their place.
void add_unnamed_columns(std::span<const std::string> lines, Layout& layout) {
  constexpr std::size_t most = 16, least_rows = 3;
  if (layout.separator == ' ' || layout.separator == json_object || layout.columns.size() < 2) return;
  if (read_columns(layout.columns, {})[0].role != ColumnRole::time) return;
  std::vector<std::string_view> cells;
  std::vector<std::size_t> rows(most + 1);  // with so many cells more than names
  std::size_t known = layout.columns.size();
  for (const std::string& line : lines) {
    split_table_line(line, layout.separator, cells);
    if (cells.size() < layout.columns.size() || cells.size() > layout.columns.size() + most) continue;
    if (!read_cell_time(trimmed_cell(cells[0])) || trimmed(cells.back()).empty()) continue;
    ++rows[cells.size() - layout.columns.size()];
    known = std::min(known,
                     static_cast<std::size_t>(std::find_if(cells.begin(), cells.end(), may_be_split) - cells.begin()));
  }
  const auto more = static_cast<std::size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
  if (more == 0 || rows[more] < least_rows) return;
  for (std::size_t i = known; i < layout.columns.size(); ++i) layout.columns[i] = "unused";
  layout.columns.resize(layout.columns.size() + more, "unnamed");
}

/// Names the unit of the fields that the kernel prints in kB of a process: those of /proc/PID/status, and what
/// Android's dumpsys meminfo sums up next to them.
void name_process_status(std::span<const std::string> lines, Layout& layout) {
  constexpr double least = 6000, most = 1e9;  // kB of a program; a script may have divided them
  const auto is_status = [](std::string_view name) { return one_of(name, {"VmRSS", "VmHWM", "VmSize", "VmPeak"}); };
  if (std::none_of(layout.columns.begin(), layout.columns.end(), is_status)) return;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    std::string& name = layout.columns[i];
    const bool sum = one_of(name, {"Total Pss", "TotalPss", "Total PSS", "TOTAL PSS"});
    if (!sum && name != "VmRSS" && name != "VmHWM") continue;
    const std::vector<double> numbers = first_numbers(lines, layout, i);
    if (numbers.empty()) continue;
    const double largest = *std::max_element(numbers.begin(), numbers.end());
    const bool whole = std::all_of(numbers.begin(), numbers.end(), [](double n) { return n == std::floor(n); });
    if (whole && largest > least && largest < most) name = (sum ? "Pss" : name) + " (KiB)";
  }
}

/// Names the unit of what a machine uses, next to its constant total: only one unit makes a machine of that number.
void name_by_total(std::span<const std::string> lines, Layout& layout) {
  constexpr double smallest = 256, largest = 2 * 1024.0 * 1024;  // MiB of a machine
  std::size_t total = layout.columns.size();
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const std::string lowered = lower(layout.columns[i]);
    IdentifierWords words(layout.columns[i], lowered);
    bool whole = false, memory = false, other = false;
    while (const auto word = words.next()) {
      whole |= *word == "total";
      memory |= one_of(*word, {"ram", "mem", "memory"});
      other |= !one_of(*word, {"total", "ram", "mem", "memory", "value", "physical", "system", "host"});
    }
    if (!whole || !memory || other) continue;
    if (total < layout.columns.size()) return;  // two of them
    total = i;
  }
  if (total == layout.columns.size()) return;
  const std::vector<double> totals = first_numbers(lines, layout, total);
  if (totals.empty() || std::any_of(totals.begin(), totals.end(), [&](double t) { return t != totals[0]; })) return;
  const auto is_machine = [&](double unit) {
    return totals[0] * unit >= smallest * mebibyte && totals[0] * unit <= largest * mebibyte;
  };
  const bool bytes = is_machine(1), kibibytes = is_machine(static_cast<double>(KiB)), mebibytes = is_machine(mebibyte);
  if (bytes + kibibytes + mebibytes != 1) return;
  const char* unit = bytes ? " (B)" : kibibytes ? " (KiB)" : " (MiB)";
  const std::vector<TableColumn> columns = read_columns(layout.columns, {});
  bool any = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == total || !columns[i].lacks_unit() || columns[i].of_device) continue;
    const std::vector<double> numbers = first_numbers(lines, layout, i);
    if (numbers.empty() || std::any_of(numbers.begin(), numbers.end(), [&](double n) { return n > totals[0]; }))
      continue;
    layout.columns[i] += unit, any = true;
  }
  if (any) layout.columns[total] = std::string("memory total") + unit;
}

/// True for the fields of process.memoryUsage() of Node.js, which are in bytes.
bool names_node_memory(const std::vector<std::string>& names) {
  return std::count(names.begin(), names.end(), "rss") == 1 &&
         std::count(names.begin(), names.end(), "heapTotal") == 1 &&
         std::count(names.begin(), names.end(), "heapUsed") == 1;
}

/// True if a table has these fields only: a program prints them again and again.
bool has_node_memory_only(const std::vector<std::string>& names) {
  return names_node_memory(names) && std::all_of(names.begin(), names.end(), [](std::string_view name) {
           return one_of(name, {"rss", "heapTotal", "heapUsed", "external", "arrayBuffers"});
         });
}

/// Finds whether the dates of the first rows begin with the day.
bool find_day_first(std::span<const std::string> lines, const Layout& layout) {
  const auto columns = read_columns(layout.columns, {});
  const auto time = std::find_if(columns.begin(), columns.end(),
                                 [](const TableColumn& column) { return column.role == ColumnRole::time; }) -
                    columns.begin();
  if (time == std::ssize(columns)) return false;
  std::vector<std::string_view> cells, times;
  for (const std::string& line : lines) {
    split_table_line(line, layout.separator, cells);
    if (cells.size() == columns.size()) times.push_back(trimmed_cell(cells[static_cast<std::size_t>(time)]));
  }
  return begin_with_day(times);
}

/// Names the fields of psutil.virtual_memory(), which are in bytes. A disk has nothing available next to what is free
/// of it.
bool name_virtual_memory(std::vector<std::string>& names) {
  for (const std::string_view field : {"total", "available", "percent", "used", "free"})
    if (std::count(names.begin(), names.end(), field) != 1) return false;
  for (std::string& name : names) {
    if (name == "total" || name == "available" || name == "used")
      name = "host RAM " + name + " (B)";
    else if (one_of(name, {"percent", "free", "active", "inactive", "buffers", "cached", "shared", "slab", "wired"}))
      name = "unused";
  }
  return true;
}

/// Reads the lines after a header as its rows. False if they are none. Fills in the units of the layout.
bool sample_rows(std::span<const std::string> lines, Layout& layout) {
  constexpr std::size_t enough = 40;  // rows
  add_unnamed_columns(lines, layout);
  name_meminfo(lines, layout);
  name_virtual_memory(layout.columns);
  name_process_status(lines, layout);
  name_by_total(lines, layout);
  layout.day_first = find_day_first(lines, layout);
  if (names_node_memory(layout.columns)) *std::find(layout.columns.begin(), layout.columns.end(), "rss") = "rss (B)";
  if (drop_row_numbers(lines, layout) && !has_position(read_columns(layout.columns, layout.roles))) {
    layout = {};
    layout.note = "the rows of the table are counted, but have no time: they may not show memory over time";
    return true;
  }
  if (const std::string setting = find_sweep(lines, layout); !setting.empty()) {
    layout = {};
    layout.note = "each row of the table has another " + setting + ": its rows do not show memory over time";
    return true;
  }
  find_subjects(lines, layout);
  find_key(lines, layout);
  CellReader reader(layout);
  std::vector<bool> bare, sized;        // amounts without a unit, and with one in their cells
  std::vector<BareNumbers> numbers;     // of each amount
  std::array<BareNumbers, 2> together;  // index: of the host
  std::size_t rows = 0, others = 0;
  MomentTest moments(read_columns(layout.columns, layout.roles));
  for (const std::string& line : lines) {
    if (trimmed(line).empty()) continue;
    TableRow row;
    if (!reader.read(line, row)) {
      if (++others > rows + 1) break;
      continue;
    }
    const auto& amounts = reader.amounts();
    bare.resize(amounts.size());
    sized.resize(amounts.size());
    numbers.resize(amounts.size());
    for (std::size_t k = 0; k < amounts.size(); ++k) {
      if (!amounts[k].bare) {
        sized[k] = sized[k] || amounts[k].unit > 0;
        continue;
      }
      bare[k] = true;
      numbers[k].add(amounts[k].number, amounts[k].decimals > 0);
      together[reader.column_of(k).host ? 1 : 0].add(amounts[k].number, amounts[k].decimals > 0);
    }
    moments.add(row);
    if (++rows == enough) break;
  }
  if (rows == 0 || rows < others) return false;
  if (const std::string_view fault = moments.fault(); !fault.empty()) {
    layout = {};
    layout.note = fault;
    return true;
  }
  layout.roles.assign(layout.columns.size(), static_cast<int>(CellUnit::as_named));
  const std::vector<TableColumn> columns = read_columns(layout.columns, {});
  const bool machine = std::none_of(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.role >= ColumnRole::index && column.role <= ColumnRole::group;
  });
  bool any = false;
  for (std::size_t k = 0; k < bare.size(); ++k) {
    const TableColumn& column = reader.column_of(k);
    // A column that is empty in the first rows may begin with anything.
    const bool empty = !bare[k] && !sized[k] && column.lacks_unit() && !column.of_driver();
    const CellUnit unit = bare[k] ? infer_unit(together[column.host ? 1 : 0], numbers[k].are_pages(), machine, column)
                          : empty ? CellUnit::unknown
                                  : CellUnit::as_named;
    layout.roles[reader.index_of(k)] = static_cast<int>(unit);
    any |= unit != CellUnit::unknown && k < reader.memory_count();
    if (unit == CellUnit::mebibytes && bare[k] && !column.of_driver() && layout.note.empty())
      layout.note = "column " + layout.columns[reader.index_of(k)] +
                    " has no unit: oomdoctor reads it as MiB, because of the size of its values";
  }
  return any;
}

/// Finds times across: the first line has a name, perhaps more, then nothing but times. Fills `layout` if a row below
/// it is memory.
bool read_transposed_header(std::span<const std::string> first_lines, Layout& layout) {
  constexpr std::size_t min_times = 4, max_names = 4;
  if (first_lines.size() < 2) return false;
  layout = {};
  layout.separator = find_separator(first_lines[0]).value_or(' ');
  if (layout.separator == ' ') return false;
  std::vector<std::string_view> cells;
  split_table_line(first_lines[0], layout.separator, cells, max_transposed_columns);
  const auto is_time = [](std::string_view cell) { return read_cell_time(trimmed_cell(cell)).has_value(); };
  const auto first = std::find_if(cells.begin(), cells.end(), is_time);
  if (first == cells.begin() || first - cells.begin() > static_cast<std::ptrdiff_t>(max_names) ||
      cells.end() - first < static_cast<std::ptrdiff_t>(min_times) || !std::all_of(first, cells.end(), is_time))
    return false;
  for (const std::string_view cell : cells) layout.columns.emplace_back(trimmed_cell(cell));
  layout.kind = "csv_columns";
  layout.transposed = true;
  TransposedReader reader(layout);
  return std::any_of(first_lines.begin() + 1, first_lines.end(),
                     [&](const std::string& line) { return reader.read(line) && !reader.readings().empty(); });
}

/// True for "8.10 GiB": an amount with its own unit of bytes.
bool is_size(std::string_view cell) {
  std::size_t at = 0;
  if (!read_number(cell, at)) return false;
  const bool glued = at < cell.size() && cell[at] != ' ';
  const std::string_view unit = trimmed(cell.substr(at));
  return unit.size() > 1 && unit.ends_with('B') && read_unit(unit, glued);
}

/// True for a whole word of a name, or its plural.
bool has_word(std::string_view lowered, std::string_view word) {
  for (std::size_t at = lowered.find(word); at != lowered.npos; at = lowered.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if (end < lowered.size() && lowered[end] == 's') ++end;
    const auto is_letter_at = [&](std::size_t i) { return i < lowered.size() && is_letter(lowered[i]); };
    if ((at == 0 || !is_letter(lowered[at - 1])) && !is_letter_at(end)) return true;
  }
  return false;
}

/// True for words of what a dashboard also draws in bytes: it is not memory, or no memory in use.
bool names_no_memory(std::string_view lowered) {
  static constexpr auto words = std::to_array<std::string_view>(
      {"disk", "network", "read", "write", "receive", "transmit", "swap", "volume", "file", "limit", "request", "total",
       "capacity", "free", "available", "traffic", "rx", "tx", "cache"});
  return std::any_of(words.begin(), words.end(), [&](auto word) { return has_word(lowered, word); });
}

/// A column of sizes with a name that says that they are memory; "" if they are not. The name of a dashboard's column
/// is that of what it shows, such as a pod.
std::string name_of_memory(std::string_view name) {
  std::string shown(name);
  for (std::size_t at = 0; (at = shown.find("\"\"", at)) != shown.npos; ++at) shown.erase(at, 1);
  const std::string lowered = lower(name);
  if (names_no_memory(lowered)) return {};
  const auto is_amount = [](const std::string& printed) {
    return read_columns(std::vector{printed}, {}).front().role == ColumnRole::amount;
  };
  const auto any_of = [&](const auto& words) {
    return std::any_of(words.begin(), words.end(), [&](auto word) { return has_word(lowered, word); });
  };
  const bool host = any_of(host_words) && !any_of(device_words);
  if (std::string plain = shown + " memory"; !host && is_amount(plain)) return plain;
  return shown + (host ? " - host RAM" : " - memory");  // what is before a dash is the name of a run
}

/// Gives the columns of sizes such names, if nothing but a time is next to them. False if there is none.
bool name_sizes(std::span<const std::string> rows, Layout& layout) {
  constexpr std::size_t most_rows = 8;
  const auto columns = read_columns(layout.columns, {});
  std::vector<int> sizes(columns.size()), others(columns.size());
  std::vector<std::string_view> cells;
  for (std::size_t r = 0; r < std::min(most_rows, rows.size()); ++r) {
    split_table_line(rows[r], layout.separator, cells);
    if (cells.size() != columns.size()) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = trimmed_cell(cells[i]);
      if (!is_absent(cell)) ++(is_size(cell) ? sizes : others)[i];
    }
  }
  bool any = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool named = columns[i].role == ColumnRole::amount || columns[i].role == ColumnRole::total;
    if (columns[i].role == ColumnRole::time || named || sizes[i] == 0 || others[i] > 0) continue;
    std::string renamed = name_of_memory(layout.columns[i]);
    any |= !renamed.empty();
    if (!renamed.empty()) layout.columns[i] = std::move(renamed);
  }
  return any;
}

/// Finds a header whose columns have a time, and sizes with their units in the cells.
bool find_sized_cells(const FirstLines& first, Layout& layout) {
  constexpr std::size_t most_headers = 4;  // lines before it: the title of a panel, "sep=,"
  const std::span<const std::string> lines = first.lines();
  for (std::size_t i = 0; i + 1 < lines.size() && i < most_headers; ++i) {
    const TableHeader* header = first.header(i);
    if (header == nullptr || header->layout.separator == ' ' || !has_position(header->columns)) continue;
    layout = header->layout;
    if (name_sizes(lines.subspan(i + 1), layout) && sample_rows(lines.subspan(i + 1), layout))
      return layout.header = lines[i], true;
  }
  return false;
}

/// Finds a header whose column of times has another name, or none, as the index of a data frame: its cells are dates
/// with a clock.
bool find_times_by_cells(const FirstLines& first, Layout& layout) {
  constexpr std::size_t least_rows = 3;
  const std::span<const std::string> lines = first.lines();
  const TableHeader* header = first.separated_header(least_rows);
  if (header == nullptr || has_position(header->columns)) return false;
  layout = header->layout;
  const auto is_date = [](const std::string& cell) {
    return cell.find(':') != cell.npos && read_cell_time(cell).value_or(0) > first_dated_time;
  };
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (header->columns[i].role != ColumnRole::other) continue;
    const std::vector<std::string> cells = first_cells(lines.subspan(1), layout, i);
    if (cells.size() < least_rows || !std::all_of(cells.begin(), cells.end(), is_date)) continue;
    layout.columns[i] = "time";
    if (!is_memory_table(read_columns(layout.columns, {})) || !sample_rows(lines.subspan(1), layout)) return false;
    layout.header = lines[0];
    return true;
  }
  return false;
}

bool is_number(std::string_view cell) { return !cell.empty() && is_digit(cell.front()); }

/// Why columns of memory are not read. It names all of them, because the reader must know which one is of use.
std::string unit_note(std::span<const std::string> rows, const Layout& layout, std::span<const TableColumn> columns) {
  constexpr std::size_t most = 6;
  constexpr double whole = 100;  // %
  const std::vector<std::string>& names = layout.columns;
  std::vector<std::string> bare;
  bool may_be_share = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!columns[i].lacks_unit()) continue;
    bare.push_back(names[i]);
    const std::vector<double> values = first_numbers(rows, layout, i);
    may_be_share = may_be_share && std::all_of(values.begin(), values.end(), [](double v) { return v <= whole; });
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(most, bare.size()); ++i)
    list += (i == 0 ? "" : i + 1 == bare.size() ? " and " : ", ") + bare[i];
  if (bare.size() > most) list += " and " + std::to_string(bare.size() - most) + " others";
  const bool one = bare.size() == 1;
  return (one ? "column " : "columns ") + list + (one ? " has" : " have") + " no unit, and the size of " +
         (one ? "its" : "their") + " values shows none: oomdoctor does not read " + (one ? "it" : "them") +
         ". Write the unit into " + (one ? "its name" : "the names") + ", for example " + bare.front() + " (MiB)" +
         (may_be_share ? " or " + bare.front() + " (%)" : "");
}

/// Keys of records of a log or of Weights & Biases: other formats read them.
bool is_key_of_log(std::string_view key) {
  return one_of(key, {"msg", "message", "level", "levelname", "severity", "log", "text", "event", "logger", "stream",
                      "error", "exception", "stdout", "stderr", "_wandb", "_runtime"});
}

/// Finds lines that are JSON objects with the same keys, one of them memory next to a time. A step belongs to the line
/// of a trainer, which other formats read.
bool find_records(const FirstLines& first, Layout& layout) {
  const std::span<const std::string> lines = first.lines();
  const auto record = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    const std::string_view text = trimmed(line);
    return !text.empty() && text != "[";
  });
  std::vector<ObjectField> fields;
  if (record == lines.end() || !split_json_object(*record, fields)) return false;
  layout = {};
  layout.separator = json_object;
  layout.kind = "json_records";
  layout.header = *record;
  for (const ObjectField& field : fields) {
    std::string name(field.key);
    const bool timed = read_columns(std::vector{name}, {}).front().role == ColumnRole::time;
    for (std::size_t p = field.parent; p > 0 && !timed; p = fields[p - 1].parent)
      name = std::string(fields[p - 1].key) + " " + name;
    if (name.empty() || name.size() > max_name || is_key_of_log(lower(name))) return false;
    layout.columns.push_back(std::move(name));
  }
  const auto columns = read_columns(layout.columns, {});
  const auto has = [&](ColumnRole role) {
    return std::any_of(columns.begin(), columns.end(), [&](const TableColumn& column) { return column.role == role; });
  };
  // A time is a better position than an epoch.
  if (has(ColumnRole::step) || (has(ColumnRole::epoch) && !has(ColumnRole::time)) || !is_memory_table(columns) ||
      !has_position(columns))
    return false;
  if (sample_rows(lines.subspan(static_cast<std::size_t>(record - lines.begin())), layout)) return true;
  const auto memory =
      std::find_if(columns.begin(), columns.end(), std::mem_fn(&TableColumn::lacks_unit)) - columns.begin();
  constexpr std::size_t fewest = 3;  // records
  std::vector<ObjectField> last;
  if (memory == std::ssize(columns) || lines.size() < fewest || !split_json_object(lines[fewest - 1], last) ||
      !is_number(trimmed_cell(fields[static_cast<std::size_t>(memory)].value)))
    return false;
  std::string note = unit_note(lines, layout, columns);
  layout = {};
  layout.note = std::move(note);
  return true;
}

/// "step  allocated  reserved (MiB)": the only unit of a header without other separators is that of all amounts.
void share_unit(std::vector<std::string>& names) {
  const std::string& last = names.back();
  const std::size_t open = last.rfind(' ');
  if (open == last.npos || !is_bracketed_unit(std::string_view(last).substr(open + 1))) return;
  const std::string unit = last.substr(open);
  std::vector<std::string> with_unit = names;
  for (std::string& name : with_unit) name += unit;
  const std::vector<TableColumn> bare = read_columns(names, {}), columns = read_columns(with_unit, {});
  for (std::size_t i = 0; i + 1 < names.size(); ++i)
    if (columns[i].role == ColumnRole::amount && bare[i].unit == 0 && !bare[i].share) names[i] = with_unit[i];
}

}  // namespace

std::optional<TableHeader> read_header(std::string_view line) {
  const auto separator = find_separator(line);
  if (!separator) return std::nullopt;
  TableHeader header;
  header.layout.separator = *separator;
  header.layout.kind = "csv_columns";
  const std::string english = in_english(line);
  header.layout.columns = read_names(english.empty() ? line : english, *separator);
  if (header.layout.columns.empty()) return std::nullopt;
  if (*separator == ' ') share_unit(header.layout.columns);
  header.columns = read_columns(header.layout.columns, {});
  return header;
}

FirstLines::FirstLines(std::span<const std::string> all) : lines_(all), headers_(all.size()) {
  NumberSpans numbers;
  std::vector<LineHash> known;
  for (const std::string& line : lines_) {
    const LineHash form = template_hash(numbers.find(line) ? numbers.form() : std::string_view(line));
    forms_.push_back(static_cast<std::size_t>(std::find(known.begin(), known.end(), form) - known.begin()));
    if (forms_.back() == known.size()) known.push_back(form);
  }
}

const TableHeader* FirstLines::header(std::size_t i) const {
  auto& header = headers_[i];
  if (!header) header.emplace(read_header(lines_[i]));
  return *header ? &**header : nullptr;
}

const TableHeader* FirstLines::separated_header(std::size_t rows) const {
  const TableHeader* first = lines_.size() <= rows ? nullptr : header(0);
  return first != nullptr && first->layout.separator != ' ' ? first : nullptr;
}

// No names lie in the numbers of a line: each form is refused once.
bool find_table_header(const FirstLines& first, Layout& layout,
                       bool (*accepts)(std::string_view line, const TableHeader& header, Layout& layout)) {
  const std::span<const std::string> lines = first.lines();
  std::vector<bool> refused(lines.size());
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (refused[first.form(i)]) continue;
    const TableHeader* header = first.header(i);
    if (header != nullptr) layout = header->layout;
    if (header == nullptr || !accepts(lines[i], *header, layout))
      refused[first.form(i)] = true;
    else if (sample_rows(lines.subspan(i + 1), layout))
      return layout.header = lines[i], true;
  }
  return false;
}

namespace {

/// True if only a column like "seconds" could say when a row was written. Without its rows, it may as well be how long
/// the work of each took.
bool may_have_durations_only(const Layout& layout, std::span<const TableColumn> columns) {
  bool duration = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnRole role = columns[i].role;
    const std::string name = lower(layout.columns[i]);
    const bool bare =
        role == ColumnRole::elapsed && (name == "seconds" || name == "sec" || name == "secs" || name == "minutes" ||
                                        name == "hours" || name.starts_with("runtime"));
    if (!bare && role >= ColumnRole::time && role <= ColumnRole::group) return false;
    duration |= bare;
  }
  return duration;
}

}  // namespace

bool read_table_header(std::string_view line, Layout& layout) {
  auto header = read_header(line);
  if (!header) return false;
  layout = std::move(header->layout);
  const std::vector<TableColumn>& columns = header->columns;
  for (const TableColumn& column : columns) {
    const bool known = column.unit > 0 || column.of_driver();
    layout.roles.push_back(static_cast<int>(known ? CellUnit::as_named : CellUnit::unknown));
  }
  return is_memory_table(read_columns(layout.columns, layout.roles)) && !may_have_durations_only(layout, columns);
}

/// Finds a header whose only memory has no unit, nor values whose size shows one: the report says why it reads none.
bool find_unknown_unit(const FirstLines& first, Layout& layout) {
  const TableHeader* header = first.separated_header(1);
  if (header == nullptr) return false;
  const std::vector<TableColumn>& columns = header->columns;
  if (!is_memory_table(columns) || !has_position(columns)) return false;
  const auto memory = std::find_if(columns.begin(), columns.end(), std::mem_fn(&TableColumn::lacks_unit));
  const auto k = static_cast<std::size_t>(memory - columns.begin());
  std::vector<std::string_view> cells;
  split_table_line(first.lines()[1], header->layout.separator, cells);
  if (memory == columns.end() || cells.size() != columns.size()) return false;
  if (!is_number(trimmed_cell(cells[k]))) return false;
  layout = {};
  layout.note = unit_note(first.lines().subspan(1), header->layout, columns);
  return true;
}

namespace {

/// True for a name of memory that a program measured, with its unit: "peak_memory_mb", "RSSMemoryMB", "glm_vram_gb".
bool names_measured_memory(const std::string& name) {
  const std::string lowered = lower(name);
  IdentifierWords words(name, lowered);
  bool measured = false;
  while (const auto word = words.next()) {
    measured |= one_of(*word, {"peak", "used", "usage", "rss", "uss", "pss", "vram", "gpu", "cuda", "torch", "pytorch",
                               "alloc", "allocated", "reserved"});
    if (one_of(*word, {"price", "model", "weights", "size", "total", "limit", "free", "available"})) return false;
  }
  const TableColumn column = read_columns(std::vector{name}, {}).front();
  return measured && column.role == ColumnRole::amount && column.unit > 0 && !column.share;
}

/// The numbers of a column; empty if a cell of it is none.
std::vector<double> read_numbers(const std::vector<std::string>& cells) {
  std::vector<double> numbers;
  for (const std::string& cell : cells) {
    if (is_absent(cell)) continue;
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (!number || at != cell.size()) return {};
    numbers.push_back(number->value);
  }
  return numbers;
}

/// What the row is of by the columns before its memory: "attention Flash, seq_len 2048".
std::string name_of_row(const std::vector<std::vector<std::string>>& columns, const std::vector<std::string>& names,
                        std::size_t row, std::size_t memory) {
  constexpr std::size_t most = 3;  // names
  std::string out;
  std::size_t named = 0;
  for (std::size_t i = 0; i < memory && named < most; ++i) {
    const std::vector<std::string>& cells = columns[i];
    const bool varies = std::any_of(cells.begin(), cells.end(), [&](const auto& cell) { return cell != cells[0]; });
    const bool short_cells = std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
      constexpr std::size_t longest = 40;  // bytes
      return !cell.empty() && cell.size() <= longest && (!is_digit(cell[0]) || only_digits(cell));
    });
    if (!varies || !short_cells || names[i].empty()) continue;
    out += (named == 0 ? "" : ", ") + names[i] + " " + cells[row];
    ++named;
  }
  return out;
}

/// Finds a header with memory, but nothing that shows an order of its rows: the results of experiments. The report says
/// why it reads them not as memory over time, and the largest.
bool find_results(const FirstLines& first, Layout& layout) {
  constexpr std::size_t least_rows = 2, all_rows = 60;
  const std::span<const std::string> lines = first.lines();
  const TableHeader* header = first.separated_header(least_rows);
  if (header == nullptr || has_position(header->columns)) return false;
  const std::vector<std::string>& names = header->layout.columns;
  const auto sold = [](const std::string& name) {
    const std::string lowered = lower(name);
    return lowered.find("price") != lowered.npos || lowered.find("msrp") != lowered.npos;
  };
  if (std::any_of(names.begin(), names.end(), sold)) return false;
  const auto column = std::find_if(names.begin(), names.end(), names_measured_memory);
  if (column == names.end()) return false;
  const auto memory = static_cast<std::size_t>(column - names.begin());
  std::vector<std::vector<std::string>> columns(names.size());
  std::vector<std::string_view> cells;
  for (const std::string& line : lines.subspan(1)) {
    split_table_line(line, header->layout.separator, cells);
    if (cells.size() != names.size() || is_absent(trimmed_cell(cells[memory]))) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].emplace_back(trimmed_cell(cells[i]));
  }
  const std::vector<double> values = read_numbers(columns[memory]);
  if (values.size() < least_rows || values.size() != columns[memory].size()) return false;
  const auto largest = static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  const std::string row = name_of_row(columns, names, largest, memory);
  layout = {};
  layout.note = "the rows of the table have no time or step: they do not show memory over time. The largest " +
                names[memory] + (values.size() < all_rows ? "" : " of its first rows") + " is " +
                columns[memory][largest] + (row.empty() ? "" : ", of " + row);
  return true;
}

}  // namespace

namespace {

/// The name of a column with the values of a quantity that the rows name: its own if it is memory with a unit, one of a
/// share if the words and the values say so, else "".
std::string name_of_quantity(const std::string& quantity, const std::vector<double>& values) {
  const TableColumn column = read_columns(std::vector<std::string>{"time", quantity}, {})[1];
  if (column.role == ColumnRole::amount && column.unit > 0) return quantity;
  const std::string lowered = lower(quantity);
  IdentifierWords words(quantity, lowered);
  bool memory = false, share = false, other = false;
  while (const auto word = words.next()) {
    memory |= one_of(*word, {"memory", "mem", "ram"});
    share |= one_of(*word, {"utilization", "utilisation", "ratio", "percent", "percentage"});
    other |= one_of(*word, {"gpu", "cuda", "swap", "free", "available", "limit", "request", "requests", "rate"});
  }
  if (!memory || !share || other || values.empty()) return {};
  const double largest = *std::max_element(values.begin(), values.end());
  const bool whole = std::all_of(values.begin(), values.end(), [](double v) { return v == std::floor(v); });
  if (whole || largest > 100 || *std::min_element(values.begin(), values.end()) < 0) return {};
  return largest <= 1 ? "memory used (%, " + std::string(share_of_one) + ")" : "memory used (%)";
}

/// Finds an export of a database of metrics: each row has a time, a value, and in a third column the name of what the
/// value is of. The rows of the first such name that is memory are read.
bool find_named_quantities(const FirstLines& first, Layout& layout) {
  constexpr std::size_t least_rows = 3;
  const std::span<const std::string> lines = first.lines();
  const TableHeader* header = first.separated_header(least_rows);
  if (header == nullptr) return false;
  std::vector<std::string> names = header->layout.columns;
  const auto find = [&](std::initializer_list<std::string_view> any) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const auto& name) { return one_of(lower(name), any); });
    return static_cast<std::size_t>(found - names.begin());
  };
  const std::size_t quantity = find({"metric", "metric_name", "__name__", "_measurement"}),
                    value = find({"value", "_value", "y"}), time = find({"ds", "_time"});
  if (quantity == names.size() || value == names.size()) return false;
  if (time < names.size()) names[time] = "time";  // as forecasting tools and InfluxDB call it
  std::vector<std::string> quantities;
  std::vector<std::vector<double>> values;
  std::vector<std::string_view> cells;
  for (const std::string& line : lines.subspan(1)) {
    split_table_line(line, header->layout.separator, cells);
    if (cells.size() != names.size()) continue;
    const std::string name(trimmed_cell(cells[quantity]));
    const std::string_view cell = trimmed_cell(cells[value]);
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (!number || at != cell.size()) continue;
    const auto known = std::find(quantities.begin(), quantities.end(), name) - quantities.begin();
    if (known == std::ssize(quantities)) quantities.push_back(name), values.emplace_back();
    values[static_cast<std::size_t>(known)].push_back(number->value);
  }
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    std::string renamed = name_of_quantity(quantities[i], values[i]);
    if (renamed.empty()) continue;
    layout = header->layout;
    layout.columns = names;
    layout.columns[value] = std::move(renamed);
    layout.roles.assign(names.size(), static_cast<int>(CellUnit::as_named));
    layout.quantity = quantities[i];
    layout.quantity_at = quantity;
    layout.header = lines[0];
    const auto columns = read_columns(layout.columns, layout.roles);
    return has_position(columns) && is_memory_table(columns);
  }
  return false;
}

/// Finds a file of one column whose name is memory with its unit.
bool find_one_column(const FirstLines& first, Layout& layout) {
  constexpr std::size_t least_rows = 5;
  const std::span<const std::string> lines = first.lines();
  if (lines.size() <= least_rows) return false;
  const std::string name(trimmed_cell(lines[0]));
  if (name.empty() || name.size() > max_name || !may_be_name(name) || find_separator(name)) return false;
  const TableColumn column = read_columns(std::vector{name}, {}).front();
  if (column.role != ColumnRole::amount || column.unit == 0 || column.of_driver()) return false;
  for (const std::string& line : lines.subspan(1)) {
    const std::string_view cell = trimmed_cell(line);
    std::size_t at = 0;
    if (!cell.empty() && (!read_number(cell, at) || at != cell.size())) return false;
  }
  layout = {};
  layout.kind = "csv_columns";
  layout.columns = {name};
  layout.roles = {static_cast<int>(CellUnit::as_named)};
  layout.header = lines[0];
  return true;
}

}  // namespace

bool sniff_table(const FirstLines& first, Layout& layout) {
  if (read_transposed_header(first.lines(), layout)) return true;
  const auto is_memory = [](std::string_view, const TableHeader& header, Layout&) {
    // Blanks also separate the words of a sentence. A screen of a tool has no times, and a reader of its own.
    const bool by_sign = header.layout.separator == ',' || header.layout.separator == ';';
    if (by_sign && has_node_memory_only(header.layout.columns)) return true;
    if (std::vector<std::string> names = header.layout.columns; by_sign && name_virtual_memory(names)) return true;
    return is_memory_table(header.columns) && (by_sign || has_position(header.columns));
  };
  return find_table_header(first, layout, is_memory) || find_records(first, layout) ||
         find_sized_cells(first, layout) || find_named_quantities(first, layout) || find_one_column(first, layout) ||
         find_times_by_cells(first, layout) || find_untimed_samples(first, layout) ||
         find_unknown_unit(first, layout) || find_results(first, layout);
}

}  // namespace oomdoctor
