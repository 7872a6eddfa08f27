// free(1), printed once or repeatedly: host memory of the whole machine, not of one process.
//
// The cells contain a unit only with -h ("40Gi", or "40G" with --si). Otherwise the unit depends on an option of the
// command, KiB by default, and the total reveals it: no host has 4 TiB and counts in MiB, or has 2 GiB and counts in
// KiB. Between them, a small machine in KiB looks like a large one in MiB, which has one of few sizes. Whole numbers
// below 512 are GiB (-g) or 10^9 bytes (--giga). The output does not show which, so the series is marked as ambiguous.
// From 512 to 4096, a small machine in MiB (-m) looks like a large one in GiB: only a total just below the sizes of
// large machines is one, because the kernel takes 1.6% of any memory for its own pages, and of a small one much more.
// A total clearly below the size of a small machine is in MiB. So is any other with as many units of swap.
//
// Before procps 3.3.10 "used" includes the page cache. The line "-/+ buffers/cache" then contains the memory in use
// without it.
#include <algorithm>
#include <array>
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

namespace oomdoctor::parsers::free_table {
namespace {

/// The size of one unit of a unitless column.
struct Scale {
  double bytes = 0;
  std::string_view unit;
  bool ambiguous = false;
};

/// True if this many GiB are what a large machine has left of its memory.
bool is_large_machine(double total) {
  static constexpr auto sizes = std::to_array<double>({512, 768, 1024, 1536, 2048, 3072, 4096});
  return std::any_of(sizes.begin(), sizes.end(),
                     [total](double size) { return total >= 0.98 * size && total <= 0.99 * size; });
}

/// True if this many MiB are what a small machine has left of its memory: the kernel takes a larger part of it.
bool is_small_machine(double total) {
  static constexpr auto sizes = std::to_array<double>({1024, 2048, 4096});
  return std::any_of(sizes.begin(), sizes.end(),
                     [total](double size) { return total >= 0.86 * size && total <= 0.975 * size; });
}

/// Infers the unit from the magnitude of the total. 0 bytes if it is unknown.
Scale infer_scale(double total) {
  if (total >= 4e9) return {1, "bytes", false};
  if (total >= 4e6) return {static_cast<double>(KiB), "KiB", false};
  constexpr double small_machine = 1.98e6;  // KiB; as MiB above 1.9 TiB, where there are only the sizes below
  if (total >= small_machine && !is_large_machine(total / 1024)) return {static_cast<double>(KiB), "KiB", false};
  if (total >= 4096) return {static_cast<double>(MiB), "MiB", false};
  if (is_small_machine(total)) return {static_cast<double>(MiB), "MiB", false};
  constexpr double smallest = 512;
  if (total >= smallest && !is_large_machine(total)) return {};
  return {static_cast<double>(GiB), "GB", true};
}

/// The unit from the command's option if the command is printed above, else from the magnitude of the total.
Scale infer_scale(double total, const Cursor& cursor) {
  struct Option {
    std::string_view text;
    Scale scale;
  };
  static constexpr double gib = static_cast<double>(GiB), mib = static_cast<double>(MiB),
                          kib = static_cast<double>(KiB);
  static constexpr Option options[] = {{"free --giga", {1e9, "GB", false}}, {"free --mega", {1e6, "MB", false}},
                                       {"free -g", {gib, "GiB", false}},    {"free -m", {mib, "MiB", false}},
                                       {"free -k", {kib, "KiB", false}},    {"free -b", {1, "bytes", false}}};
  if (const auto command = find_before(cursor, 3, "free -"))
    for (const Option& o : options)
      if (command->text.find(o.text) != command->text.npos) return o.scale;
  if (const Scale scale = infer_scale(total); scale.bytes > 0) return scale;
  // No machine of these sizes in GiB has so much swap.
  static constexpr std::string_view label = "Swap:";
  constexpr double least_swap = 512;
  const auto swap = find_after(cursor, 1, label);
  if (!swap) return {};
  const std::string_view cells = trimmed(std::string_view(swap->text).substr(swap->text.find(label) + label.size()));
  return leading_number(cells) >= least_swap ? Scale{mib, "MiB", false} : Scale{};
}

bool has_letter(std::string_view cell) { return !cell.empty() && !is_digit(cell.back()); }

/// Emits one cell. `cursor` finds the command above; it is null for table rows, which are read without their context.
void emit(std::string_view total, std::string_view printed, Metric metric, const Cursor* cursor, EventSink& sink,
          std::optional<double> time = {}) {
  std::string cell(printed);
  std::replace(cell.begin(), cell.end(), ',', '.');  // decimal comma of the user's locale
  std::size_t at = 0, at_total = 0;
  const auto number = read_number(cell, at);
  const auto whole = read_number(total, at_total);
  if (!number || !whole || !(whole->value > 0)) return;
  Reading r;
  r.metric = metric;
  r.kind = SeriesKind::sampled_gauge;
  r.label = "free";
  if (has_letter(total)) {
    const auto size = read_size(cell);
    if (!size) return;
    r.value = static_cast<double>(size->count);
    if (const auto all = read_size(std::string(total))) r.capacity = static_cast<double>(all->count);
    r.quantum = static_cast<double>(std::max<i64>(1, 2 * size->slack));
    r.unit = cell.substr(at);
  } else {
    const Scale scale = cursor != nullptr ? infer_scale(whole->value, *cursor) : infer_scale(whole->value);
    if (scale.bytes == 0) return;
    r.value = number->value * scale.bytes;
    r.capacity = whole->value * scale.bytes;
    r.quantum = scale.bytes;
    r.unit = std::string(scale.unit);
    r.ambiguous_unit = scale.ambiguous;
  }
  sink.reading(r, {}, time);
}

/// The time on a line of its own above the table, as a loop with date(1) prints it.
std::optional<double> find_date(const Cursor& cursor) {
  constexpr int most_lines = 3;
  std::optional<double> time;
  cursor.backward_texts(most_lines, [&](std::string_view text) {
    const std::string_view line = trimmed(text);
    time = parse_date_line(line);
    if (!time) time = read_cell_time(line);
    return !time;
  });
  return time;
}

/// Reads the line below in old versions: "-/+ buffers/cache:   29187660   36786236", used and available.
void without_cache(const Match& m, EventSink& sink) {
  static constexpr std::string_view label = "-/+ buffers/cache:";
  const auto line = find_after(m.cursor, 1, label);
  if (!line) return;
  const std::string_view cells = trimmed(std::string_view(line->text).substr(line->text.find(label) + label.size()));
  const std::size_t blank = std::min(cells.find(' '), cells.size());
  sink.claim_through(line->number);
  emit(m[1], cells.substr(0, blank), Metric::host_used, &m.cursor, sink);
  emit(m[1], trimmed(cells.substr(blank)), Metric::host_available, &m.cursor, sink);
}

std::vector<std::string_view> split_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t at = line.find_first_not_of(" \t"); at != line.npos; at = line.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end;
  }
  return cells;
}

}  // namespace

void memory(const Match& m, EventSink& sink) {
  const auto head = find_before(m.cursor, 2, "total");
  if (!head || head->text.find("used") == head->text.npos || head->text.find("free") == head->text.npos) return;
  if (head->text.find("available") == head->text.npos) return without_cache(m, sink);
  const auto time = find_date(m.cursor);
  emit(m[1], m[2], Metric::host_used, &m.cursor, sink, time);
  emit(m[1], m[3], Metric::host_available, &m.cursor, sink, time);
  if (const auto swap = find_after(m.cursor, 1, "Swap:")) sink.claim_through(swap->number);
}

/// Accepts free's header after a time column: a loop printed the rows, each with a date instead of "Mem:".
bool timed_header(std::string_view line, Layout& layout) {
  const auto cells = split_cells(line);
  const auto total = std::find(cells.begin(), cells.end(), "total");
  if (total == cells.begin() || cells.end() - total < 6 || total[1] != "used" || total[2] != "free" ||
      cells.back() != "available")
    return false;
  layout.columns.assign(total, cells.end());
  layout.kind = "log";
  return true;
}

bool timed_row(std::string_view line, const Layout& layout, EventSink& sink) {
  auto time = read_time(line);
  if (!time) time = read_yearless_time(line);  // after ts(1)
  if (!time) return false;
  const auto cells = split_cells(line.substr(time->length));
  if (cells.size() < layout.columns.size()) return false;
  const auto first = cells.end() - static_cast<std::ptrdiff_t>(layout.columns.size());
  if (std::any_of(first, cells.end(), [](std::string_view c) { return !is_digit(c[0]); })) return false;
  emit(first[0], first[1], Metric::host_used, nullptr, sink, time->seconds);
  emit(first[0], cells.back(), Metric::host_available, nullptr, sink, time->seconds);
  return true;
}

}  // namespace oomdoctor::parsers::free_table
