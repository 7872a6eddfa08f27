#include "read/table_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

/// Around the cells of exports, which may be quoted.
bool is_cell_padding(char c) { return is_blank(c) || c == '"' || c == '\0' || c == '\r'; }

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

/// A time as a spreadsheet program saves it, without seconds: "2025/3/7 19:05", "3/7/2025 7:05 PM".
std::optional<double> read_spreadsheet_time(std::string_view cell) {
  constexpr std::size_t count = 5, longest = 16, most_digits = 4;  // "2025/10/17 19:05"
  constexpr double half_day = 43200;
  const bool morning = cell.ends_with(" AM"), evening = cell.ends_with(" PM");
  if (morning || evening) cell.remove_suffix(3);
  std::array<int, count> n{};
  std::array<char, count> mark{};
  if (cell.size() > longest) return std::nullopt;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = at;
    for (; at < cell.size() && at - begin < most_digits && is_digit(cell[at]); ++at)
      n[i] = n[i] * 10 + (cell[at] - '0');
    if (at == begin) return std::nullopt;
    mark[i] = at < cell.size() ? cell[at++] : '\0';
  }
  const bool year_first = n[0] > 1969;
  if ((mark[0] != '/' && mark[0] != '-') || mark[1] != mark[0] || mark[2] != ' ' || mark[3] != ':' || mark[4] != '\0')
    return std::nullopt;
  if (!year_first) std::rotate(n.begin(), n.begin() + 2, n.begin() + 3);
  if (n[1] > 12) std::swap(n[1], n[2]);  // the day before the month
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  const auto stamp =
      read_time(std::to_string(n[0]) + '-' + two(n[1]) + '-' + two(n[2]) + ' ' + two(n[3]) + ':' + two(n[4]) + ":00");
  if (!stamp || !stamp->has_date) return std::nullopt;
  const bool twelve = n[3] == 12;
  return stamp->seconds + (evening && !twelve ? half_day : 0) - (morning && twelve ? half_day : 0);
}

/// "21:0:43.720" with two digits in each part, as monitors of Windows may leave out zeros; "" for other text.
std::string padded_clock(std::string_view cell) {
  constexpr std::size_t longest = 16;  // bytes
  std::string out;
  std::size_t parts = 0, at = 0;
  for (; cell.size() <= longest && parts < 3; ++parts) {
    const std::size_t begin = at;
    while (at < cell.size() && at - begin < 2 && is_digit(cell[at])) ++at;
    if (at == begin || (parts < 2 && (at == cell.size() || cell[at] != ':'))) return {};
    out.append(at - begin == 1 ? "0" : "").append(cell.substr(begin, at - begin)).append(parts < 2 ? ":" : "");
    if (parts < 2) ++at;
  }
  return parts == 3 ? out.append(cell.substr(at)) : std::string();
}

/// The end of the quoted text that begins the cell at `at`; `at` if the cell is not quoted. A doubled quote is a part
/// of the text.
std::size_t skip_quoted(std::string_view line, std::size_t at) {
  const std::size_t open = line.find_first_not_of(" \t", at);
  if (open == line.npos || line[open] != '"') return at;
  std::size_t close = line.find('"', open + 1);
  while (close != line.npos && close + 1 < line.size() && line[close + 1] == '"') close = line.find('"', close + 2);
  return std::min(close, line.size());
}

}  // namespace

std::optional<char> find_separator(std::string_view line) {
  // A tab after each semicolon or comma is only a blank.
  const auto pads = [line](char separator) {
    for (std::size_t at = line.find('\t'); at != line.npos; at = line.find('\t', at + 1))
      if (at == 0 || line[at - 1] != separator) return false;
    return line.find('\t') != line.npos;
  };
  for (const char separator : {';', ','})
    if (pads(separator)) return separator;
  for (const char separator : {'\t', ';', ',', '|'})
    if (line.find(separator) != line.npos) return separator;
  const std::string_view inside = trimmed(line);
  return inside.find(' ') != inside.npos ? std::optional(' ') : std::nullopt;
}

bool split_json_object(std::string_view line, std::vector<ObjectField>& fields, std::size_t most) {
  constexpr std::size_t max_depth = 4;
  fields.clear();
  line = trimmed(line);
  if (line.ends_with(',')) line.remove_suffix(1);
  if (!line.starts_with('{') || !line.ends_with('}')) return false;
  std::vector<std::size_t> parents{0};
  std::size_t at = 1;
  const auto skip_blanks = [&] { at = std::min(line.find_first_not_of(" \t", at), line.size()); };
  const auto end_of_text = [&](std::size_t open) {
    std::size_t end = open + 1;
    while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? std::size_t{2} : std::size_t{1};
    return end;
  };
  const auto end_of_array = [&](std::size_t open) {
    std::size_t depth = 0, end = open;
    for (; end < line.size(); ++end) {
      if (line[end] == '"') end = end_of_text(end);
      if (end < line.size() && (line[end] == '[' || line[end] == '{')) ++depth;
      if (end < line.size() && (line[end] == ']' || line[end] == '}') && --depth == 0) break;
    }
    return end;
  };
  while (!parents.empty()) {
    skip_blanks();
    if (at >= line.size()) return false;
    if (line[at] == '}') {
      parents.pop_back(), ++at;
      continue;
    }
    if (line[at] == ',') {
      ++at;
      continue;
    }
    const std::size_t key_end = end_of_text(at);
    if (line[at] != '"' || key_end >= line.size() || fields.size() == most) return false;
    ObjectField& field = fields.emplace_back();
    field.key = line.substr(at + 1, key_end - at - 1);
    field.parent = parents.back();
    at = key_end + 1;
    skip_blanks();
    if (at >= line.size() || line[at] != ':') return false;
    ++at;
    skip_blanks();
    if (at >= line.size()) return false;
    if (line[at] == '{') {
      if (parents.size() == max_depth) return false;
      parents.push_back(fields.size()), ++at;
      continue;
    }
    const std::size_t end = line[at] == '"'   ? end_of_text(at) + 1
                            : line[at] == '[' ? end_of_array(at) + 1
                                              : line.find_first_of(",}", at);
    if (end > line.size()) return false;
    field.value = line.substr(at, end - at);
    at = end;
  }
  return at == line.size();
}

ObjectKeys::ObjectKeys(std::string_view record) {
  if (!split_json_object(record, fields_)) return;
  for (const ObjectField& field : fields_) keys_.push_back({std::string(field.key), field.parent});
}

bool ObjectKeys::find_values(std::string_view line, std::vector<std::string_view>& cells) {
  cells.assign(keys_.size(), {});
  found_.assign(keys_.size(), false);
  if (!split_json_object(line, fields_)) return false;
  numbers_.assign(fields_.size(), 0);
  std::size_t next = 0;  // records mostly have the same keys in the same order
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const ObjectField& field = fields_[i];
    const std::size_t parent = field.parent > 0 ? numbers_[field.parent - 1] : 0;
    if (field.parent > 0 && parent == 0) continue;
    for (std::size_t tried = 0; tried < keys_.size(); ++tried) {
      const std::size_t k = (next + tried) % keys_.size();
      if (keys_[k].parent != parent || keys_[k].name != field.key) continue;
      cells[k] = field.value;
      found_[k] = true;
      numbers_[i] = k + 1;
      next = k + 1;
      break;
    }
  }
  return true;
}

void split_table_line(std::string_view line, char separator, std::vector<std::string_view>& cells, std::size_t most) {
  cells.clear();
  if (separator == json_object) {
    std::vector<ObjectField> fields;
    if (!split_json_object(line, fields, most)) return;
    for (const ObjectField& field : fields) cells.push_back(field.value);
    return;
  }
  if (separator == ' ') {
    for (std::size_t at = line.find_first_not_of(" \t\r"); at < line.size() && cells.size() <= most;) {
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
  for (std::size_t at = 0; cells.size() <= most;) {
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
  static constexpr std::array<std::string_view, 15> words{
      "",          "undefined",     "-",
      "N/A",       "n/a",           "NA",
      "nan",       "NaN",           "null",
      "None",      "Not Supported", "Insufficient Permissions",
      "Not Found", "Unknown Error", "Requested functionality has been deprecated"};
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
  // "Feb-11 12:00:00" and "02-11 12:00:00" have no year, and only their clock is certain.
  constexpr std::size_t named = 7;
  if (cell.size() > named && cell[3] == '-' && cell[6] == ' ' && is_upper(cell[0]) && is_lower(cell[1]) &&
      is_lower(cell[2]) && is_digit(cell[5]))
    if (const auto clock = read_whole_stamp(cell.substr(named))) return clock;
  constexpr std::size_t date = 6;
  if (cell.size() > date && cell[5] == ' ' && (cell[2] == '-' || cell[2] == '/'))
    if (const auto clock = read_whole_stamp(cell.substr(date))) return clock;
  if (const std::string clock = padded_clock(cell); !clock.empty()) return read_whole_stamp(clock);
  if (const auto saved = read_spreadsheet_time(cell)) return saved;
  return read_calendar_time(cell);
}

namespace {

/// The numbers in front of the year: "04-11-2026", "4/11/2026".
struct DateBeforeYear {
  int first = 0, second = 0;
  std::size_t length = 0;  ///< up to the year
};
std::optional<DateBeforeYear> read_before_year(std::string_view cell) {
  DateBeforeYear out;
  std::size_t at = 0;
  for (int* number : {&out.first, &out.second}) {
    const std::size_t begin = at;
    for (; at < cell.size() && at - begin < 2 && is_digit(cell[at]); ++at) *number = *number * 10 + (cell[at] - '0');
    if (at == begin || at >= cell.size() || (cell[at] != '-' && cell[at] != '/')) return std::nullopt;
    ++at;
  }
  out.length = at;
  const std::string_view year = cell.substr(at, 4);
  if (year.size() < 4 || !only_digits(year) || (cell.size() > at + 4 && is_digit(cell[at + 4]))) return std::nullopt;
  return out;
}

}  // namespace

std::string with_month_first(std::string_view cell) {
  const auto date = read_before_year(cell);
  if (!date) return std::string(cell);
  const std::size_t mark = cell.find_first_of("-/");
  std::string out(cell.substr(mark + 1, date->length - mark - 2));
  return out.append(cell.substr(mark, 1)).append(cell.substr(0, mark)).append(cell.substr(date->length - 1));
}

bool begin_with_day(std::span<const std::string_view> cells) {
  constexpr double day = 86400, month = 27 * day;
  const auto read = [](const std::string& text) {
    const auto time = read_cell_time(text);
    return time && *time >= first_dated_time ? time : read_cell_day(text);
  };
  std::optional<double> last, last_by_day;
  double longest = 0, longest_by_day = 0;
  for (const std::string_view cell : cells) {
    const auto date = read_before_year(cell);
    if (!date) continue;
    if (date->first > 12 || date->second > 12) return date->first > 12;
    const auto time = read(std::string(cell)), by_day = read(with_month_first(cell));
    if (!time || !by_day) continue;
    if (last) longest = std::max(longest, std::abs(*time - *last));
    if (last_by_day) longest_by_day = std::max(longest_by_day, std::abs(*by_day - *last_by_day));
    last = time, last_by_day = by_day;
  }
  return longest >= month && longest_by_day <= 2 * day;
}

std::optional<double> read_cell_day(std::string_view cell) {
  constexpr std::size_t date = 10;
  // "5.2.2021": without zeros, as Windows prints it.
  std::string padded;
  if (cell.size() < date && cell.size() > 7 && std::count(cell.begin(), cell.end(), '.') == 2) {
    std::size_t digits = 0;
    for (const char c : cell) {
      if (c != '.' && !is_digit(c)) return std::nullopt;
      if (c == '.' && digits == 1) padded.insert(padded.size() - 1, 1, '0');
      digits = c == '.' ? 0 : digits + 1;
      padded += c;
    }
    cell = padded;
  }
  if (cell.size() != date) return std::nullopt;
  const auto stamp = read_time(std::string(cell) + " 00:00:00");
  return stamp && stamp->has_date ? std::optional(stamp->seconds) : std::nullopt;
}

}  // namespace oomdoctor
