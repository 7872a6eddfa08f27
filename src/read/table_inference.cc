#include "read/table_inference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "read/device_export.h"
#include "read/line_format.h"
#include "read/table_cells.h"
#include "read/table_columns.h"
#include "text/lines.h"

namespace oomdoctor {
namespace {

/// What all cells of a column without a header have in common, and the range of its numbers.
struct ColumnSummary {
  bool times = true, seconds = true, mebibytes = true, whole = true, names = true, uuids = true, buses = true,
       counts = true, percents = true, pids = true, programs = true;
  double min_value = 1e300, max_value = -1, first = -1;
  double own_min = 1e300, own_max = -1;  ///< in the rows of the first row's GPU

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

/// True if the column goes on like seconds or milliseconds since 1970. Nothing else of this size moves so little, and
/// never back.
bool goes_on(double value, std::optional<double> before) {
  constexpr double day = 86400, thousand = 1000;
  const double unit = value > thousand * 1e9 ? thousand : 1;
  return value > 1e9 * unit && value < 4e9 * unit && (!before || (value >= *before && value - *before < day * unit));
}

bool is_gpu_name(std::string_view cell) {
  return cell.find("NVIDIA") != cell.npos || cell.starts_with("Tesla ") || cell.starts_with("GeForce") ||
         cell.starts_with("Quadro");
}

/// True for the name or the path of a program.
bool is_program(std::string_view cell) {
  return !cell.empty() && (is_letter(cell.front()) || cell.front() == '/' || cell.front() == '[') &&
         !cell.starts_with("GPU-") && !is_gpu_name(cell);
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
      column.seconds = column.seconds && number && at == cell.size() && goes_on(number->value, before);
      column.mebibytes = column.mebibytes && number && cell.ends_with(" MiB");
      column.percents = column.percents && number && cell.ends_with(" %");
      column.whole = column.whole && bare;
      column.counts = column.counts && bare && continues_index(number->value, before);
      column.uuids = column.uuids && cell.starts_with("GPU-");
      column.buses = column.buses && cell.starts_with("0000") && cell.find(':') != cell.npos && cell.ends_with(".0");
      column.names = column.names && is_gpu_name(cell);
      // No temperature, which is the only bare number next to sizes, is so high.
      constexpr double least_pid = 200;
      column.pids = column.pids && bare && number->value > least_pid;
      column.programs = column.programs && is_program(cell);
      if (!number) continue;
      before = number->value;
      if (column.first < 0) column.first = number->value;
      column.min_value = std::min(column.min_value, number->value);
      column.max_value = std::max(column.max_value, number->value);
    }
    column.times = column.times || (column.seconds && !column.is_constant());
  }
  const auto card =
      std::find_if(out.begin(), out.end(), [](const ColumnSummary& column) { return column.uuids || column.buses; }) -
      out.begin();
  for (const auto& cells : rows) {
    if (card < std::ssize(out) && cells[static_cast<std::size_t>(card)] != rows[0][static_cast<std::size_t>(card)])
      continue;
    for (std::size_t c = 0; c < out.size(); ++c) {
      std::size_t at = 0;
      const auto number = read_number(cells[c], at);
      if (!number) continue;
      out[c].own_min = std::min(out[c].own_min, number->value);
      out[c].own_max = std::max(out[c].own_max, number->value);
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

/// True if a column next to the total may be the free memory: an export that begins before the job begins with all of
/// it.
bool may_be_free(const ColumnSummary& column, double total) {
  return column.first == column.own_max && column.own_min < column.first && column.first >= (1 - nearly_empty) * total;
}

/// True if these two columns may be the used and the free part of the total.
bool adds_up(const std::vector<ColumnSummary>& columns, const std::vector<std::size_t>& rest,
             std::size_t largest_column) {
  const double sum = columns[rest[0]].min_value + columns[rest[1]].max_value;
  if (sum > columns[largest_column].max_value * 1.02 || sum < columns[largest_column].max_value * 0.9) return false;
  // What one of them gains, the other loses.
  const auto move = [&](std::size_t column) { return columns[column].max_value - columns[column].min_value; };
  const double moves = std::max(move(rest[0]), move(rest[1]));
  if (columns[largest_column].is_constant() &&
      std::abs(move(rest[0]) - move(rest[1])) > max_mismatch * moves + rounding)
    return false;
  return true;
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
  if (!adds_up(columns, rest, largest_column)) return false;
  // The one next to the total, but after it queries name either first.
  out.free = largest_column < rest[0] ? rest[0] : rest[1];
  if (largest_column < rest[0]) {
    const double total = columns[largest_column].max_value;
    constexpr double min_fall = 0.02;  // of the total: what a full GPU moves by is less
    const auto is_free = [&](std::size_t column) {
      const ColumnSummary& c = columns[column];
      return (may_be_free(c, total) && c.own_max - c.own_min >= min_fall * total) ||
             c.min_value >= (1 - nearly_empty) * total;
    };
    const bool first = is_free(rest[0]);
    if (!first && !is_free(rest[1])) return false;
    out.free = first ? rest[0] : rest[1];
  }
  out.used = *out.free == rest[0] ? rest[1] : rest[0];
  return true;
}

/// Cells without units: finds three adjacent columns that are total, free and used by their sum.
std::vector<std::size_t> find_three_sizes(const std::vector<ColumnSummary>& columns,
                                          const std::vector<std::size_t>& plain) {
  std::vector<std::size_t> best;
  double best_share = 0;
  for (std::size_t i = 0; i + 2 < plain.size(); ++i) {
    std::vector<std::size_t> rest{plain[i], plain[i + 1], plain[i + 2]};
    const std::vector<std::size_t> three = rest;
    const auto largest = std::max_element(rest.begin(), rest.end(),
                                          [&](auto a, auto b) { return columns[a].max_value < columns[b].max_value; });
    const std::size_t whole = *largest;
    rest.erase(largest);
    const double total = columns[whole].max_value;
    const double share = (columns[rest[0]].max_value + columns[rest[1]].max_value) / total;
    if (total < 1000 || share < best_share || !adds_up(columns, rest, whole)) continue;
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
  if (const auto three = find_three_sizes(columns, plain); !three.empty())
    return assign_roles(columns, three, out) ? std::optional(out) : std::nullopt;
  const auto value = [&](std::size_t row, std::size_t column) {
    std::size_t at = 0;
    return read_number(rows[row][column], at)->value;
  };
  const auto used_and_free = [&](bool moving) {
    std::vector<std::pair<std::size_t, std::size_t>> found;  // used, free
    for (std::size_t i = 0; i < plain.size(); ++i)
      for (std::size_t k = i + 1; k < plain.size(); ++k) {
        const std::size_t a = plain[i], b = plain[k];
        const double sum = value(0, a) + value(0, b);
        bool constant = is_total_of_gpu(sum);
        for (std::size_t row = 1; row < rows.size(); ++row)
          constant = constant && std::abs(value(row, a) + value(row, b) - sum) <= rounding;
        const std::size_t less = value(0, a) <= value(0, b) ? a : b;
        const bool moves = columns[a].max_value - columns[a].min_value > min_move * sum;
        // A column that moves alone is not an amount: a share of 0 to 100 moves by as little as rounding.
        if (columns[a].is_constant() != columns[b].is_constant()) continue;
        if (constant && moves == moving && value(0, less) <= nearly_empty * sum)
          found.emplace_back(less, less == a ? b : a);
      }
    if (found.empty()) return false;
    if (found.size() == 1 || moving) return out.used = found[0].first, out.free = found[0].second, true;
    // Small numbers may also be shares of an idle GPU: the used memory is next to what may be its free memory or total.
    std::erase_if(found, [](const auto& pair) {
      return std::max(pair.first, pair.second) - std::min(pair.first, pair.second) > 1;
    });
    if (found.size() != 1) return false;
    return out.used = found[0].first, true;
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

/// True for a number that has no other unit than MiB, as all cells of a column of memory are.
bool may_be_amount(std::string_view cell) {
  std::size_t at = 0;
  return read_number(cell, at) && (at == cell.size() || cell.ends_with(" MiB"));
}

/// A line that a script prints again and again before its rows, "== GPUs of node7, 41 s ==": the same first word.
class StatusLine {
 public:
  bool repeats(std::string_view line) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (word_.empty()) word_ = word;
    return !word.empty() && word == word_;
  }

 private:
  std::string_view word_;
};

/// The first lines as rows of equal length; none if the first one has no amount.
struct FirstRows {
  std::vector<std::vector<std::string_view>> rows;
  char separator = ',';
  bool dated = false;  ///< a date is on a line before them
};

/// True for a line that only separates, "----".
bool is_ruler(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.size() >= 3 && text.find_first_not_of(text[0]) == text.npos &&
         std::string_view("-=*_#").find(text[0]) != std::string_view::npos;
}

FirstRows read_first_rows(std::span<const std::string> lines) {
  constexpr std::size_t max_columns = 40;
  FirstRows out;
  std::size_t dates = 0, others = 0;
  std::vector<std::string_view> cells;
  StatusLine status;
  // Rows with units may have a status line before each, which is not a header: it has another number of cells.
  const auto is_sized = [&](std::string_view line) {
    split_table_line(line, ',', cells);
    return std::any_of(cells.begin(), cells.end(), [](auto cell) { return trimmed_cell(cell).ends_with(" MiB"); });
  };
  const bool sized = std::any_of(lines.begin(), lines.end(), is_sized);
  const std::size_t row_cells = sized ? cells.size() : 0;
  for (const std::string& line : lines) {
    if (parse_date_line(line)) {
      ++dates;
      continue;
    }
    if (is_ruler(line)) continue;
    if (sized && !is_sized(line) && cells.size() != row_cells && others <= out.rows.size() && status.repeats(line)) {
      ++others;
      continue;
    }
    if (out.rows.empty()) out.separator = find_separator(line).value_or(',');
    if (out.separator == ' ' || out.separator == '|') break;  // text, and boxes
    split_table_line(line, out.separator, cells);
    if (cells.size() < 2 || cells.size() > max_columns || (!out.rows.empty() && cells.size() != out.rows[0].size()))
      break;
    std::transform(cells.begin(), cells.end(), cells.begin(), trimmed_cell);
    if (out.rows.empty() && std::none_of(cells.begin(), cells.end(), may_be_amount)) break;
    out.rows.push_back(cells);
  }
  out.dated = dates > 0;
  if (others > 0 && out.rows.size() < 2) out.rows.clear();
  if (out.rows.size() + dates + others < std::min<std::size_t>(lines.size(), 3)) out.rows.clear();
  return out;
}

/// Three columns and nothing else: sizes without a unit are used, free and total only if the total is a GPU's and what
/// one of the others gains, the other loses.
bool are_three_sizes(const std::vector<ColumnSummary>& columns, const std::vector<std::size_t>& plain) {
  if (plain.size() != 3 || columns.size() != 3) return false;
  const auto total = std::max_element(columns.begin(), columns.end(),
                                      [](const auto& a, const auto& b) { return a.max_value < b.max_value; });
  return total->is_constant() && is_total_of_gpu(total->max_value) &&
         std::count_if(columns.begin(), columns.end(), [](const auto& column) { return column.is_constant(); }) == 1;
}

}  // namespace

std::optional<InferredColumns> infer_columns(std::span<const std::string> first_lines) {
  const auto [rows, separator, dated] = read_first_rows(first_lines);
  if (rows.empty()) return std::nullopt;
  const auto columns = summarise_columns(rows);
  InferredColumns out;
  out.count = columns.size();
  out.separator = separator;
  std::vector<std::size_t> amounts, plain;
  bool utilization = false;  // "41 %" next to amounts, as nvidia-smi prints both
  for (std::size_t c = 0; c < columns.size(); ++c) {
    utilization |= columns[c].percents;
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
  // "4711, python, 1812 MiB": what nvidia-smi --query-compute-apps prints of each process.
  if (amounts.size() == 1 && plain.size() == 1 && columns[plain[0]].pids && plain[0] < amounts[0]) {
    out.pid = plain[0], out.used = amounts[0];
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (columns[c].programs && !out.program) out.program = c;
    if (out.program || out.time || dated) return out;
    out.pid.reset(), out.used.reset();
  }
  // The same without units: the GPU in the row shows that it is nvidia-smi's.
  if (!units && plain.size() == 2 && columns[plain[0]].pids && (out.uuid || out.bus) &&
      columns[plain[1]].max_value <= max_mebibytes) {
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (columns[c].programs && !out.program) out.program = c;
    if (out.program) return out.pid = plain[0], out.used = plain[1], out;
  }
  // Nothing that nvidia-smi counts is so large and moves: it is a disk or a network in bytes.
  constexpr double too_large = 1e9;
  if (!units && std::any_of(plain.begin(), plain.end(), [&](std::size_t c) {
        return columns[c].max_value > too_large && !columns[c].is_constant();
      }))
    return std::nullopt;
  // The number of the GPU is the first column, or the one after the time.
  if (units && !plain.empty() && columns[plain[0]].counts && (plain[0] == 0 || out.time == plain[0] - 1))
    out.index = plain[0];
  const bool of_gpus = out.time || out.name || out.uuid || out.bus;
  // Zeros may also be the utilization before the job.
  if (!units && of_gpus && !plain.empty() && columns[plain[0]].counts &&
      (!columns[plain[0]].is_constant() || !out.time || !columns[*out.time].seconds))
    out.index = plain[0], plain.erase(plain.begin());
  if (!units && of_gpus)
    if (const auto found = find_gpu_sizes(rows, columns, plain)) {
      out.used = found->used, out.total = found->total, out.free = found->free;
      out.sure_of_total = out.total.has_value();
      return out;
    }
  const bool three = are_three_sizes(columns, plain);
  if (!dated && !out.time && !three && !(units && (out.name || out.index || utilization || amounts.size() > 1)))
    return std::nullopt;
  if (!units && (out.name || three || dated)) amounts = find_three_sizes(columns, plain);
  if (!assign_roles(columns, amounts, out)) return std::nullopt;
  out.sure_of_total = out.total && out.free;
  return out;
}

bool are_numeric_rows(std::span<const std::string> first_lines) {
  const auto rows = read_first_rows(first_lines).rows;
  if (rows.size() < 3) return false;
  const auto columns = summarise_columns(rows);
  const auto known = [](const ColumnSummary& c) {
    return c.times || c.mebibytes || c.whole || c.names || c.uuids || c.buses;
  };
  // Only nvidia-smi names GPUs so: its other columns may be anything.
  const bool of_gpus =
      std::any_of(columns.begin(), columns.end(), [](const ColumnSummary& c) { return c.uuids || c.buses || c.names; });
  return (of_gpus || std::all_of(columns.begin(), columns.end(), known)) &&
         std::any_of(columns.begin(), columns.end(),
                     [](const ColumnSummary& c) { return c.mebibytes || c.max_value >= 1000; });
}

}  // namespace oomdoctor
