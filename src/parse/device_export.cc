#include "parse/device_export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "parse/line_format.h"

namespace oomdoctor {
namespace {

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "};

constexpr std::size_t max_cells = 256;  ///< nvidia-smi has about 200 fields

/// The word at `at`. Moves `at` to the next word.
std::string_view next_word(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  const std::string_view out = text.substr(at, end - at);
  at = std::min(text.find_first_not_of(' ', end), text.size());
  return out;
}

std::optional<int> parse_integer(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Reads the date after the weekday: "Oct 29 19:00:23 2024", "29 Oct 19:00:23 CET 2024", "Oct 29 07:00:23 PM CET
/// 2024", "29 Oct 2024 07:00:23 PM CET".
std::optional<double> read_date_words(std::string_view text) {
  constexpr int max_words = 6;
  std::optional<int> month, day, year;
  std::optional<double> clock;
  std::string_view half;
  std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  for (int i = 0; i < max_words && at < text.size(); ++i) {
    std::string_view w = next_word(text, at);
    while (!w.empty() && (w.back() == ',' || w.back() == '\r' || w.back() == '\t')) w.remove_suffix(1);
    const auto name = std::find(months.begin(), months.end(), w);
    const auto n = parse_integer(w);
    if (name != months.end())
      month = static_cast<int>(name - months.begin()) + 1;
    else if (const auto stamp = read_time(w); stamp && !clock)
      clock = stamp->seconds;
    else if (w == "AM" || w == "PM")
      half = w;
    else if (n && w.size() <= 2 && !day)
      day = n;
    else if (const auto four = parse_integer(w.substr(0, 4)); four && w.size() >= 4 && *four >= 1970 && !year)
      year = four;
    else if (i < 2)
      return std::nullopt;  // prose, not a date
  }
  if (!month || !day || !year || !clock) return std::nullopt;
  if (!half.empty()) *clock += (half == "PM" ? 43200 : 0) - (*clock >= 43200 ? 43200 : 0);
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count()) * 86400 + *clock;
}

/// Around the cells of exports, which may be quoted.
bool is_cell_padding(char c) { return is_blank(c) || c == '"' || c == '\0' || c == '\r'; }

std::string card_name(const Card& card) { return card.device ? std::to_string(*card.device) : std::string(card.label); }

/// What all cells of a column without a header have in common, and the range of its numbers.
struct ColumnSummary {
  bool times = true, mebibytes = true, whole = true, names = true, uuids = true, buses = true, counts = true;
  double min_value = 1e300, max_value = -1, first = -1;

  bool is_constant() const { return min_value == max_value; }
};

/// True if the column goes on like GPU numbers: all 0, or 0, 1, 2 … again and again.
bool continues_index(double value, std::optional<double> before) {
  return before ? value == *before + 1 || value == 0 : value == 0;
}

bool is_dated(std::string_view cell) {
  if (cell.size() <= 10) return false;
  const auto time = read_time(cell);
  return time && time->has_date;
}

bool is_gpu_name(std::string_view cell) {
  return cell.find("NVIDIA") != cell.npos || cell.starts_with("Tesla ") || cell.starts_with("GeForce") ||
         cell.starts_with("Quadro");
}

std::vector<ColumnSummary> summarise_columns(const std::vector<std::vector<std::string_view>>& rows) {
  std::vector<ColumnSummary> out;
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    ColumnSummary& column = out.emplace_back();
    std::optional<double> before;
    for (const auto& cells : rows) {
      const std::string_view cell = cells[c];
      std::size_t at = 0;
      const auto number = read_number(cell, at);
      const bool bare = number && at == cell.size() && number->decimals == 0;
      column.times = column.times && is_dated(cell);
      column.mebibytes = column.mebibytes && number && cell.ends_with(" MiB");
      column.whole = column.whole && bare;
      column.counts = column.counts && bare && continues_index(number->value, before);
      column.uuids = column.uuids && cell.starts_with("GPU-");
      column.buses = column.buses && cell.starts_with("0000") && cell.find(':') != cell.npos && cell.ends_with(".0");
      column.names = column.names && is_gpu_name(cell);
      if (!number) continue;
      before = number->value;
      if (column.first < 0) column.first = number->value;
      column.min_value = std::min(column.min_value, number->value);
      column.max_value = std::max(column.max_value, number->value);
    }
  }
  return out;
}

/// True if nvidia-smi prints this total for some GPU model. Its totals are up to a few per cent above those that
/// programs see.
bool is_total_of_gpu(double mebibytes) {
  constexpr double min_total = 1900, max_reserved_ratio = 1.065;
  constexpr std::array<double, 21> gibibytes{2,  4,  6,     8,  10, 10.75, 11,   12, 14.5, 15.7, 16,
                                             22, 24, 31.35, 32, 40, 44.3,  47.5, 64, 79.1, 80};
  constexpr std::array<double, 6> large{93, 94.5, 139.7, 178.3, 191.6, 287.9};
  if (mebibytes < min_total) return false;
  const auto near = [&](double size) {
    return mebibytes >= size * 1024 * 0.975 && mebibytes <= size * 1024 * max_reserved_ratio;
  };
  return std::any_of(gibibytes.begin(), gibibytes.end(), near) || std::any_of(large.begin(), large.end(), near);
}

constexpr double nearly_empty = 0.1;  ///< max share of memory in use on a GPU without a job
constexpr double rounding = 2;        ///< MiB; of the sum of two amounts
constexpr double max_mismatch = 0.1;  ///< of a move; used and free may be read at two moments

/// True if a column beside the total may be the free memory: an export that begins before the job begins with all of
/// it.
bool may_be_free(const ColumnSummary& column, double total) {
  return column.first == column.max_value && column.min_value < column.first &&
         column.first >= (1 - nearly_empty) * total;
}

/// Finds total, free and used among `amounts`. The largest column is the total. If two others add up to it, the one
/// next to it is free (the order of the query in nvidia-smi's manual). A single other column is used, unless it moves
/// against the largest or may be free, or is constant and a GPU's total.
bool assign_roles(const std::vector<ColumnSummary>& columns, const std::vector<std::size_t>& amounts,
                  InferredColumns& out) {
  if (amounts.empty() || amounts.size() > 3) return false;
  if (amounts.size() == 1) {
    if (columns[amounts[0]].is_constant() && is_total_of_gpu(columns[amounts[0]].max_value)) return false;
    return out.used = amounts[0], true;
  }
  const auto largest_column = *std::max_element(
      amounts.begin(), amounts.end(), [&](auto a, auto b) { return columns[a].max_value < columns[b].max_value; });
  std::vector<std::size_t> rest;
  for (const std::size_t a : amounts)
    if (a != largest_column) rest.push_back(a);
  out.total = largest_column;
  if (rest.size() == 1) {
    // Two columns that move against each other by the same amount are used and free. They are ambiguous unless one is
    // nearly empty.
    const ColumnSummary &one = columns[largest_column], &two = columns[rest[0]];
    const double move = one.max_value - one.min_value;
    if (move > 0 && std::abs(move - (two.max_value - two.min_value)) <= 0.02 * move) {
      const std::size_t less = one.first < two.first ? largest_column : rest[0];
      if (columns[less].first > nearly_empty * (one.first + two.first)) return false;
      out.total.reset();
      return out.used = less, out.free = less == largest_column ? rest[0] : largest_column,
             true;  // an export begins before the job
    }
    if (may_be_free(two, one.max_value)) return false;
    return out.used = rest[0], true;
  }
  const double sum = columns[rest[0]].min_value + columns[rest[1]].max_value;
  if (sum > columns[largest_column].max_value * 1.02 || sum < columns[largest_column].max_value * 0.9) return false;
  // What one of them gains, the other loses.
  const auto move = [&](std::size_t column) { return columns[column].max_value - columns[column].min_value; };
  const double moves = std::max(move(rest[0]), move(rest[1]));
  if (columns[largest_column].is_constant() &&
      std::abs(move(rest[0]) - move(rest[1])) > max_mismatch * moves + rounding)
    return false;
  out.free = largest_column < rest[0] ? rest[0] : rest[1];  // the one next to the total
  out.used = *out.free == rest[0] ? rest[1] : rest[0];
  return true;
}

/// Cells without units: finds three adjacent columns that are total, free and used by their sum.
std::vector<std::size_t> find_three_sizes(const std::vector<ColumnSummary>& columns,
                                          const std::vector<std::size_t>& plain) {
  std::vector<std::size_t> best;
  double best_share = 0;
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    const std::vector<std::size_t> three{plain[i], plain[i + 1], plain[i + 2]};
    const double a = columns[three[0]].max_value, b = columns[three[1]].max_value, c = columns[three[2]].max_value,
                 total = std::max({a, b, c});
    InferredColumns roles;
    const double share = (a + b + c - total) / total;
    if (total < 1000 || share < best_share || !assign_roles(columns, three, roles)) continue;
    best = three;
    best_share = share;
  }
  return best;
}

/// Finds memory columns without units among whole numbers: (1) total, used and free by their sum; (2) used and free
/// whose constant sum is a GPU's total, where the first row is nearly empty, because an export begins before the job;
/// (3) used, with a constant total of a GPU.
std::optional<InferredColumns> find_gpu_sizes(const std::vector<std::vector<std::string_view>>& rows,
                                              const std::vector<ColumnSummary>& columns,
                                              const std::vector<std::size_t>& plain) {
  constexpr double min_move = 0.02, percent = 100;
  InferredColumns out;
  if (const auto three = find_three_sizes(columns, plain); !three.empty() && assign_roles(columns, three, out))
    return out;
  const auto value = [&](std::size_t row, std::size_t column) {
    std::size_t at = 0;
    return read_number(rows[row][column], at)->value;
  };
  const auto used_and_free = [&](bool moving) {
    for (std::size_t i = 0; i < plain.size(); ++i)
      for (std::size_t k = i + 1; k < plain.size(); ++k) {
        const std::size_t a = plain[i], b = plain[k];
        const double sum = value(0, a) + value(0, b);
        bool constant = is_total_of_gpu(sum);
        for (std::size_t row = 1; row < rows.size(); ++row)
          constant = constant && std::abs(value(row, a) + value(row, b) - sum) <= rounding;
        const std::size_t less = value(0, a) <= value(0, b) ? a : b;
        const bool moves = columns[a].max_value - columns[a].min_value > min_move * sum;
        // A column that moves alone is no amount: a share of 0 to 100 moves by as little as rounding.
        if (columns[a].is_constant() != columns[b].is_constant()) continue;
        if (constant && moves == moving && value(0, less) <= nearly_empty * sum)
          return out.used = less, out.free = less == a ? b : a, true;
      }
    return false;
  };
  if (used_and_free(true)) return out;
  for (const std::size_t t : plain) {
    if (!columns[t].is_constant() || !is_total_of_gpu(columns[t].max_value)) continue;
    std::vector<std::size_t> rest;
    for (const std::size_t u : plain)
      if (u != t && columns[u].max_value <= columns[t].max_value && columns[u].max_value > percent) rest.push_back(u);
    if (rest.size() == 1 && !may_be_free(columns[rest[0]], columns[t].max_value))
      return out.total = t, out.used = rest[0], out;
  }
  if (used_and_free(false)) return out;
  return std::nullopt;
}

/// The first lines as rows of equal length. `dated`: a date is on a line before them.
std::vector<std::vector<std::string_view>> first_rows(std::span<const std::string> lines, bool& dated) {
  std::vector<std::vector<std::string_view>> rows;
  std::size_t dates = 0;
  for (const std::string& line : lines) {
    if (parse_date_line(line)) {
      ++dates;
      continue;
    }
    auto cells = split_at_commas(line);
    if (cells.size() < 2 || cells.size() > 40 || (!rows.empty() && cells.size() != rows[0].size())) break;
    rows.push_back(std::move(cells));
  }
  dated = dates > 0;
  if (rows.size() + dates < std::min<std::size_t>(lines.size(), 3)) rows.clear();
  return rows;
}

}  // namespace

std::optional<double> parse_date_line(std::string_view line) {
  return line.size() < 48 && line.find(',') == line.npos ? read_calendar_time(line) : std::nullopt;
}

std::optional<InferredColumns> infer_columns(std::span<const std::string> first_lines) {
  bool times = false;
  const auto rows = first_rows(first_lines, times);
  if (rows.empty()) return std::nullopt;
  const auto columns = summarise_columns(rows);
  InferredColumns out;
  out.count = columns.size();
  std::vector<std::size_t> amounts, plain;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].times && !out.time)
      out.time = c;
    else if (columns[c].names && !out.name)
      out.name = c;
    else if (columns[c].uuids && !out.uuid)
      out.uuid = c;
    else if (columns[c].buses && !out.bus)
      out.bus = c;
    else if (columns[c].mebibytes)
      amounts.push_back(c);
    else if (columns[c].whole)
      plain.push_back(c);
  }
  const bool units = !amounts.empty();
  // The number of the GPU is the first column, or the one after the time.
  if (units && !plain.empty() && columns[plain[0]].counts && (plain[0] == 0 || out.time == plain[0] - 1))
    out.index = plain[0];
  times = times || out.time;
  const bool of_gpus = out.time || out.name || out.uuid || out.bus;
  if (!units && of_gpus && !plain.empty() && columns[plain[0]].counts) out.index = plain[0], plain.erase(plain.begin());
  if (!units && of_gpus)
    if (const auto found = find_gpu_sizes(rows, columns, plain)) {
      out.used = found->used, out.total = found->total, out.free = found->free;
      return out;
    }
  if (!times && !(units && (out.name || out.index || amounts.size() > 1))) return std::nullopt;
  if (!units && out.name) amounts = find_three_sizes(columns, plain);
  return assign_roles(columns, amounts, out) ? std::optional(out) : std::nullopt;
}

bool are_numeric_rows(std::span<const std::string> first_lines) {
  bool dated = false;
  const auto rows = first_rows(first_lines, dated);
  if (rows.size() < 3) return false;
  const auto columns = summarise_columns(rows);
  const auto known = [](const ColumnSummary& c) {
    return c.times || c.mebibytes || c.whole || c.names || c.uuids || c.buses;
  };
  return std::all_of(columns.begin(), columns.end(), known) &&
         std::any_of(columns.begin(), columns.end(),
                     [](const ColumnSummary& c) { return c.mebibytes || c.max_value >= 1000; });
}

std::optional<double> read_calendar_time(std::string_view text) {
  for (const std::string_view weekday : weekdays) {
    const std::size_t at = text.find(weekday);
    if (at == text.npos) continue;
    if (const auto time = read_date_words(text.substr(at + weekday.size()))) return time;
  }
  return std::nullopt;
}

std::string_view trimmed_cell(std::string_view cell) {
  while (!cell.empty() && is_cell_padding(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_cell_padding(cell.back())) cell.remove_suffix(1);
  return cell;
}

std::vector<std::string_view> split_at_commas(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; out.size() < max_cells;) {
    const std::size_t comma = line.find(',', at);
    out.push_back(trimmed_cell(line.substr(at, comma - at)));
    if (comma == line.npos) break;
    at = comma + 1;
  }
  return out;
}

std::vector<std::string_view> split_at_blanks(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size() && out.size() < max_cells;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return out;
}

bool is_absent(std::string_view cell) {
  if (cell.starts_with('[')) return true;
  static constexpr std::array<std::string_view, 9> words{"",
                                                         "-",
                                                         "N/A",
                                                         "n/a",
                                                         "Not Supported",
                                                         "Insufficient Permissions",
                                                         "Not Found",
                                                         "Unknown Error",
                                                         "Requested functionality has been deprecated"};
  return std::find(words.begin(), words.end(), cell) != words.end();
}

std::string instance_name(std::string_view card, std::string_view gpu_instance, std::string_view compute_instance) {
  const std::string out = "MIG " + std::string(card) + '/' + std::string(gpu_instance);
  return compute_instance.empty() ? out : out + '/' + std::string(compute_instance);
}

void emit_gpu_reading(EventSink& sink, const Card& card, const GpuAmount& amount, std::optional<double> time) {
  Origin where;
  where.device = card.device;
  sink.at(where);
  Reading reading;
  reading.metric = amount.metric;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = amount.number * amount.unit_bytes;
  reading.quantum = std::max(1.0, amount.unit_bytes / std::pow(10.0, amount.decimals));
  reading.unit = std::string(amount.unit);
  if (!card.device && !card.alone) reading.label = std::string(card.label);
  if (!card.machine.empty())
    reading.label = std::string(card.machine) + (reading.label.empty() ? "" : " ") + reading.label;
  sink.reading(reading, {}, time);
}

void emit_process_memory(EventSink& sink, i64 pid, double number, double unit_bytes, std::optional<double> time) {
  Origin where;
  where.pid = pid;
  sink.at(where);
  Reading reading;
  reading.metric = Metric::memory;
  reading.kind = SeriesKind::sampled_gauge;
  reading.value = number * unit_bytes;
  reading.quantum = std::max(1.0, unit_bytes);
  reading.unit = "MiB";
  reading.label = "process " + std::to_string(pid);
  sink.reading(reading, {}, time);
}

void emit_capacity(EventSink& sink, const Card& card, i64 number, std::string_view unit) {
  if (number <= 0) return;
  const std::string text = std::to_string(number) + ' ' + std::string(unit);
  if (card.alone) sink.setting("capacity", text);
  if (const std::string name = card_name(card); !name.empty()) sink.setting("capacity/" + name, text);
}

}  // namespace oomdoctor
