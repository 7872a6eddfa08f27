#include "parse/table_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "parse/device_export.h"
#include "parse/line_format.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

/// Around the cells of exports, which may be quoted.
bool is_cell_padding(char c) { return is_blank(c) || c == '"' || c == '\0' || c == '\r'; }

/// The number of `size` digits at `at`; -1 for anything else.
int digits_at(std::string_view text, std::size_t at, std::size_t size) {
  if (at + size > text.size() || !only_digits(text.substr(at, size))) return -1;
  return static_cast<int>(leading_integer(text.substr(at, size)));
}

/// "02-21-2026 09:04:10", "21/02/2026 09:04:10", "21.02.2026 …" as "2026-02-21 09:04:10", which read_time() reads. A
/// month comes first if either number can be a month, but behind points the day does. "" for anything else.
std::string year_first(std::string_view cell) {
  constexpr std::size_t date = 10;
  if (cell.size() <= date || (cell[2] != '-' && cell[2] != '/' && cell[2] != '.') || cell[5] != cell[2]) return {};
  int month = digits_at(cell, 0, 2), day = digits_at(cell, 3, 2);
  if (month < 0 || day < 0 || digits_at(cell, 6, 4) < 0) return {};
  if (month > 12 || cell[2] == '.') std::swap(month, day);
  const auto two = [](int n) { return std::string{static_cast<char>('0' + n / 10), static_cast<char>('0' + n % 10)}; };
  return std::string(cell.substr(6, 4)) + '-' + two(month) + '-' + two(day) + std::string(cell.substr(date));
}

/// The time stamp that begins the cell and is all of it, but for a time zone or AM and PM.
std::optional<double> read_whole_stamp(std::string_view cell) {
  constexpr std::size_t max_zone_length = 6;  // such as "+01:00"
  constexpr double half_day = 43200;
  const auto stamp = read_time(cell);
  if (!stamp || stamp->length + max_zone_length < cell.size()) return std::nullopt;
  const std::string_view rest = trimmed(cell.substr(stamp->length));
  if (rest != "AM" && rest != "PM") return stamp->seconds;
  const bool twelve = std::fmod(stamp->seconds, 2 * half_day) >= half_day;
  return stamp->seconds - (twelve ? half_day : 0) + (rest == "PM" ? half_day : 0);
}

/// The end of the quoted text that begins the cell at `at`; `at` if the cell is not quoted.
std::size_t skip_quoted(std::string_view line, std::size_t at) {
  const std::size_t open = line.find_first_not_of(" \t", at);
  return open != line.npos && line[open] == '"' ? std::min(line.find('"', open + 1), line.size()) : at;
}

}  // namespace

std::optional<char> find_separator(std::string_view line) {
  for (const char separator : {'\t', ';', ',', '|'})
    if (line.find(separator) != line.npos) return separator;
  const std::string_view inside = trimmed(line);
  return inside.find(' ') != inside.npos ? std::optional(' ') : std::nullopt;
}

void split_table_line(std::string_view line, char separator, std::vector<std::string_view>& cells) {
  cells.clear();
  if (separator == ' ') {
    for (std::size_t at = line.find_first_not_of(" \t\r"); at < line.size() && cells.size() <= max_table_columns;) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(" \t\r", end);
    }
    return;
  }
  if (separator == '|') {
    line = trimmed(line);
    if (line.starts_with('|')) line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
  }
  const bool quoted = line.find('"') != line.npos;
  for (std::size_t at = 0; cells.size() <= max_table_columns;) {
    const std::size_t end = std::min(line.find(separator, quoted ? skip_quoted(line, at) : at), line.size());
    cells.emplace_back(line.data() + at, end - at);
    if (end == line.size()) break;
    at = end + 1;
  }
}

std::string_view trimmed_cell(std::string_view cell) {
  while (!cell.empty() && is_cell_padding(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_cell_padding(cell.back())) cell.remove_suffix(1);
  return cell;
}

bool is_absent(std::string_view cell) {
  if (cell.starts_with('[')) return true;
  static constexpr std::array<std::string_view, 14> words{"",
                                                          "-",
                                                          "N/A",
                                                          "n/a",
                                                          "NA",
                                                          "nan",
                                                          "NaN",
                                                          "null",
                                                          "None",
                                                          "Not Supported",
                                                          "Insufficient Permissions",
                                                          "Not Found",
                                                          "Unknown Error",
                                                          "Requested functionality has been deprecated"};
  return std::find(words.begin(), words.end(), cell) != words.end();
}

std::optional<double> read_cell_time(std::string_view cell) {
  if (const auto seconds = read_whole_stamp(cell)) return seconds;
  std::size_t at = 0;
  const auto n = read_number(cell, at);
  if (n && at == cell.size()) {
    // Since 1970 in seconds, or in thousandths, millionths or billionths of one.
    for (double unit = 1; unit <= 1e9; unit *= 1000)
      if (n->value / unit > first_dated_time && n->value / unit < 1e11) return n->value / unit;
    return std::nullopt;
  }
  if (const std::string sorted = year_first(cell); !sorted.empty()) return read_whole_stamp(sorted);
  return read_calendar_time(cell);
}

std::optional<double> read_cell_day(std::string_view cell) {
  if (cell.size() != 10) return std::nullopt;
  const std::string midnight = std::string(cell) + " 00:00:00";
  auto stamp = read_time(midnight);
  if (!stamp)
    if (const std::string sorted = year_first(midnight); !sorted.empty()) stamp = read_time(sorted);
  return stamp && stamp->has_date ? std::optional(stamp->seconds) : std::nullopt;
}

}  // namespace oomdoctor
