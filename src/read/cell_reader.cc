#include "read/cell_reader.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "read/context.h"
#include "read/line_format.h"
#include "read/table_cells.h"
#include "read/tokens.h"

namespace oomdoctor {
namespace {

constexpr int max_index = 1024;

/// A number and how many decimals are printed. Small enough for registers: this is the hot path of exports.
struct PrintedNumber {
  double value = 0;
  int decimals = 0;
  bool found = false;
};

/// Reads the number at the front of a cell and moves `at` after it. Nearly all cells contain only digits, so that case
/// has a fast path. Languages that write a comma before decimals separate cells by ';'.
PrintedNumber front_number(std::string_view cell, char separator, std::size_t& at) {
  constexpr std::size_t max_digits = 15;  // a double represents all integers of this length
  i64 whole = 0;
  std::size_t i = 0;
  const char* const bytes = cell.data();  // the bound is checked once
  for (const std::size_t end = std::min(cell.size(), max_digits); i < end && is_digit(bytes[i]); ++i)
    whole = whole * 10 + (bytes[i] - '0');
  if (i > 0 && (i == cell.size() || cell[i] == ' ')) return at = i, PrintedNumber{static_cast<double>(whole), 0, true};
  std::string pointed;
  if (separator == ';' && std::count(cell.begin(), cell.end(), ',') == 1) {
    pointed = cell;
    pointed[cell.find(',')] = '.';
    cell = pointed;
  }
  const auto any = read_number(cell, at);
  return any ? PrintedNumber{any->value, any->decimals, true} : PrintedNumber{};
}

/// The number of the whole cell.
std::optional<double> whole_cell(std::string_view cell, char separator) {
  std::size_t at = 0;
  const PrintedNumber number = front_number(cell, separator, at);
  return number.found && at == cell.size() ? std::optional(number.value) : std::nullopt;
}

/// Reads an amount, perhaps with its limit: "1.2GiB / 7.6GiB". The cell's own unit has precedence over the column's.
/// Leaves `out` as it is for [N/A] and similar cells; `fits` becomes false for anything else.
void read_amount(std::string_view cell, char separator, const TableColumn& column, CellAmount& out, bool& fits) {
  std::size_t at = 0;
  const PrintedNumber number = front_number(cell, separator, at);
  if (!number.found || number.value < 0) {
    fits = fits && is_absent(cell);
    return;
  }
  const bool glued = at < cell.size() && (cell[at] != ' ' || at + 2 == cell.size());  // "5,000 K"
  while (at < cell.size() && cell[at] == ' ') ++at;
  const std::string_view unit = cell.substr(at);
  double bytes = 0;
  if (unit.empty() || (unit == "%" && column.share)) {
    bytes = column.unit;
  } else if (unit == "MiB") {
    bytes = mebibyte;
  } else if (const auto read = read_unit(unit, glued); read && (unit.back() == 'B' || !column.of_driver())) {
    bytes = read->bytes;
  } else if (const std::size_t slash = cell.find(" / ");
             slash != cell.npos && cell.find(" / ", slash + 1) == cell.npos) {
    CellAmount whole;
    read_amount(cell.substr(slash + 3), separator, column, whole, fits);
    if (whole.number == 0) return;  // docker's "0B / 0B" of a container that no longer runs
    read_amount(cell.substr(0, slash), separator, column, out, fits);
    out.whole = whole.number * whole.unit;
    return;
  } else {
    fits = false;
  }
  out.number = number.value;
  out.decimals = number.decimals;
  // Without a unit anywhere, it is in MiB as in nvidia-smi, unless no GPU is so large.
  out.bare = bytes == 0;
  out.unit = bytes != 0 ? bytes : number.value > min_bytes ? 1 : mebibyte;
}

}  // namespace

CellReader::CellReader(const Layout& layout)
    : separator_(layout.separator),
      day_first_(layout.day_first),
      columns_(read_columns(layout.columns, layout.roles)),
      quantity_(layout.quantity),
      quantity_at_(layout.quantity_at),
      keys_(separator_ == json_object ? layout.header : std::string_view()) {
  bool identity = false, used = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnRole role = columns_[i].role;
    if (role == ColumnRole::amount) memory_.push_back(i);
    if (role == ColumnRole::total) totals_.push_back(i);
    if (role != ColumnRole::amount && role != ColumnRole::total && role != ColumnRole::other) others_.push_back(i);
    if (role == ColumnRole::command && !command_) command_ = i;
    identity |= role == ColumnRole::step || role == ColumnRole::epoch || role == ColumnRole::group ||
                role == ColumnRole::pid || role == ColumnRole::rank || role == ColumnRole::elapsed;
    used |= role == ColumnRole::amount && columns_[i].reading.label.empty();
    identity |= role == ColumnRole::amount && columns_[i].device.has_value();
  }
  by_order_ = used && !identity;
}

/// Splits a line that is a JSON object. A record may lack values, but not its time, what it is of or all memory.
bool CellReader::has_keys(std::string_view line) {
  const auto found = [&](std::size_t i) { return keys_.found(i); };
  return keys_.find_values(line, cells_) && cells_.size() == columns_.size() &&
         std::all_of(others_.begin(), others_.end(), found) && std::any_of(memory_.begin(), memory_.end(), found);
}

/// Splits the line into one cell per column; false if there are more or fewer cells, because other log lines may follow
/// a table. Names of programs may contain separators. A script may print its own time before that of a monitor.
bool CellReader::split(std::string_view line) {
  if (separator_ == json_object) return has_keys(line);
  split_table_line(line, separator_, cells_);
  if (cells_.size() > columns_.size() && command_) {
    const auto from = cells_.begin() + static_cast<std::ptrdiff_t>(*command_);
    cells_.erase(from, from + static_cast<std::ptrdiff_t>(cells_.size() - columns_.size()));
  }
  if (cells_.size() == columns_.size() + 1 && trimmed(cells_.back()).empty()) cells_.pop_back();
  const auto is_time = [](std::string_view cell) { return read_cell_time(trimmed_cell(cell)).has_value(); };
  if (cells_.size() == columns_.size() + 1 && columns_[0].role == ColumnRole::time && is_time(cells_[0]) &&
      is_time(cells_[1]) && trimmed(cells_[1]).find(':') != std::string_view::npos)
    cells_.erase(cells_.begin());
  return cells_.size() == columns_.size();
}

bool CellReader::read_cell(std::string_view cell, const TableColumn& column, TableRow& row) {
  std::string by_month;
  switch (column.role) {
    case ColumnRole::time:
      if (day_first_) cell = by_month = with_month_first(cell);
      if (const auto day = cell.find(':') == cell.npos ? read_cell_day(cell) : std::nullopt)
        day_ = day;
      else if (const auto time = read_cell_time(cell))
        row.time = *time;
      else if (const auto seconds = whole_cell(cell, separator_); seconds && !row.elapsed)
        row.elapsed = *seconds * (column.unit > 0 ? column.unit : 1);
      else if (!seconds && !is_absent(cell))
        return false;
      return true;
    case ColumnRole::am_pm: {
      constexpr double half_day = 43200;
      if (!row.time || (cell != "AM" && cell != "PM")) return false;
      *row.time += (cell == "PM" ? half_day : 0) - (*row.time >= half_day ? half_day : 0);
      return true;
    }
    case ColumnRole::elapsed:
      if (const auto seconds = whole_cell(cell, separator_); seconds && *seconds >= 0)
        row.elapsed = *seconds * column.unit;
      return true;
    case ColumnRole::step:
    case ColumnRole::epoch: {
      const auto number = whole_cell(cell, separator_);
      (column.role == ColumnRole::step ? row.step : row.epoch) = number;
      return number || is_absent(cell);
    }
    case ColumnRole::index: {
      std::size_t at = 0;
      const PrintedNumber number = front_number(cell, separator_, at);
      if (!number.found) {  // some users call the GPU's name "gpu"
        if (!is_absent(cell)) row.subject.name = cell;
        return true;
      }
      if (at != cell.size() || number.decimals != 0 || number.value < 0 || number.value > max_index) return false;
      // If a user added a "gpu" column before "index", that column is the user's own numbering and has precedence.
      if (!row.subject.index) row.subject.index = static_cast<int>(number.value);
      return true;
    }
    case ColumnRole::rank:
      if (const auto number = whole_cell(cell, separator_); number && *number >= 0 && *number < 1e6)
        row.subject.rank = static_cast<int>(*number);
      return true;
    case ColumnRole::pid: {
      const i64 pid = leading_integer(cell);
      if (pid > 0) row.subject.pid = pid;
      return pid > 0 || cell == "0" || is_absent(cell);  // the header of another table is not a row of a process
    }
    case ColumnRole::uuid:
      return row.subject.uuid = cell, true;
    case ColumnRole::bus:
      return row.subject.bus = cell, true;
    case ColumnRole::tile:
      return row.subject.tile = cell, true;
    case ColumnRole::name:
      return row.subject.name = cell, true;
    case ColumnRole::group:
      if (!is_absent(cell)) (row.subject.group.empty() ? row.subject.group : row.subject.subgroup) = cell;
      return true;
    default:
      return true;
  }
}

/// If one amount without a unit is in bytes, all are.
bool CellReader::read_amounts(TableRow& row) {
  amounts_.clear();
  bool fits = true, bytes = false;
  for (const std::size_t i : memory_) {
    read_amount(trimmed_cell(cells_[i]), separator_, columns_[i], amounts_.emplace_back(), fits);
    bytes |= amounts_.back().unit == 1 && amounts_.back().bare;
  }
  for (const std::size_t i : totals_) {
    read_amount(trimmed_cell(cells_[i]), separator_, columns_[i], amounts_.emplace_back(), fits);
    bytes |= amounts_.back().unit == 1 && amounts_.back().bare;
  }
  for (std::size_t k = 0; k < amounts_.size() && bytes; ++k)
    if (amounts_[k].bare) amounts_[k].unit = 1;
  // Neither MiB of a GPU nor its bytes.
  if (!bytes && std::any_of(amounts_.begin(), amounts_.end(),
                            [](const CellAmount& a) { return a.bare && a.number > max_mebibytes; }))
    fits = false;
  for (std::size_t k = memory_.size(); k < amounts_.size(); ++k)
    if (amounts_[k].unit > 0 && !column_of(k).device && !column_of(k).host)
      row.subject.total = amounts_[k].number * amounts_[k].unit;
  return fits;
}

bool CellReader::read(std::string_view line, TableRow& row) {
  // A row of results may contain a message of a failure, which other formats read.
  constexpr std::size_t shortest_with_message = 60;  // bytes
  if (line.size() > shortest_with_message && line.find("ut of memory") != line.npos) return false;
  if (columns_.empty() || !split(line)) return false;
  row = {};
  day_.reset();
  for (const std::size_t i : others_) {
    if (columns_[i].role == ColumnRole::command) continue;
    // A cell of words is the time of nothing; between commas, it may be damaged.
    const bool damaged = columns_[i].role == ColumnRole::time && separator_ != ' ';
    if (!read_cell(trimmed_cell(cells_[i]), columns_[i], row) && !damaged) return false;
  }
  if (!quantity_.empty() && trimmed_cell(cells_[quantity_at_]) != quantity_)
    amounts_.assign(memory_.size() + totals_.size(), {});
  else if (!read_amounts(row))
    return false;
  // Next to a clock, seconds may also be how long the work of the row took.
  if (row.time)
    row.elapsed.reset();
  else
    row.time = row.elapsed;
  // A clock without a date counts from the date in the other column.
  constexpr double day = 86400;
  if (day_ && row.time && *row.time < day) *row.time += *day_;
  if (day_ && !row.time) row.time = day_;
  if (row.time || std::any_of(amounts_.begin(), amounts_.end(), [](const CellAmount& a) { return a.unit > 0; }))
    return true;
  return std::none_of(others_.begin(), others_.end(),
                      [&](std::size_t i) { return columns_[i].role == ColumnRole::time; });
}

}  // namespace oomdoctor
