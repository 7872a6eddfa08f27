#include "read/row_subjects.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/first_cells.h"
#include "read/label.h"
#include "read/table_cells.h"
#include "read/table_columns.h"
#include "read/tokens.h"

namespace oomdoctor {
namespace {

/// The moments of the first rows of a table: rows of one moment are about several things.
struct FirstMoments {
  std::vector<std::vector<std::string>> rows;  ///< the cells of each
  std::vector<std::size_t> moment;             ///< of each row, counted from 0
  std::size_t largest = 0;                     ///< rows of one moment
};

FirstMoments read_first_moments(std::span<const std::string> lines, const Layout& layout,
                                std::span<const TableColumn> columns) {
  constexpr std::size_t enough = 120;  // rows
  constexpr double one_query = 0.05;   // seconds
  FirstMoments out;
  std::vector<std::string_view> cells;
  std::optional<double> last;
  std::string last_text;
  std::size_t of_moment = 0;
  for (const std::string& line : lines) {
    split_table_line(line, layout.separator, cells);
    if (cells.size() != columns.size()) continue;
    std::string text;
    std::optional<double> time;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].role != ColumnRole::time && columns[i].role != ColumnRole::elapsed) continue;
      text.append(trimmed_cell(cells[i])).append(1, ' ');
      if (!time) time = read_cell_time(trimmed_cell(cells[i]));
    }
    const bool same =
        !out.rows.empty() && (text == last_text || (time && last && *time >= *last && *time - *last < one_query));
    of_moment = same ? of_moment + 1 : 1;
    out.moment.push_back(out.rows.empty() ? 0 : out.moment.back() + (same ? 0 : 1));
    out.largest = std::max(out.largest, of_moment);
    last = time, last_text = text;
    std::vector<std::string>& row = out.rows.emplace_back();
    for (const std::string_view cell : cells) row.emplace_back(trimmed_cell(cell));
    if (out.rows.size() == enough) break;
  }
  return out;
}

/// True if this column names what each row is about: its cells differ within a moment and come back in others.
bool names_rows(const FirstMoments& first, std::size_t column) {
  constexpr std::size_t longest = 64;                       // bytes
  std::map<std::string, std::vector<std::size_t>> moments;  // of each cell
  for (std::size_t r = 0; r < first.rows.size(); ++r) {
    const std::string& cell = first.rows[r][column];
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (cell.size() > longest || is_absent(cell) || (number && at == cell.size() && number->decimals > 0)) return false;
    std::vector<std::size_t>& of_cell = moments[cell];
    if (!of_cell.empty() && of_cell.back() == first.moment[r]) return false;
    of_cell.push_back(first.moment[r]);
  }
  const auto again = std::count_if(moments.begin(), moments.end(), [](const auto& m) { return m.second.size() > 2; });
  return moments.size() > 1 && moments.size() <= 2 * first.largest &&
         2 * static_cast<std::size_t>(again) > moments.size();
}

/// Words of columns that say what a row is about where its rows compare things: each row of "model" is about another
/// one. Next to a step, such rows would seem to be one thing that grows.
bool names_subject(std::string_view printed) {
  static constexpr auto subjects = std::to_array<std::string_view>(
      {"dataset",      "model",     "method",       "algorithm", "algo",      "config",   "configuration",  "test",
       "testcase",     "benchmark", "variant",      "backend",   "framework", "scenario", "implementation", "impl",
       "codec",        "encoder",   "video",        "compiler",  "browser",   "solver",   "precision",      "dtype",
       "quantization", "strategy",  "architecture", "arch",      "workload"});
  const std::string lowered = lower(printed);
  IdentifierWords words(printed, lowered);
  bool subject = false;
  while (const auto word = words.next()) {
    const bool found = std::find(subjects.begin(), subjects.end(), *word) != subjects.end();
    if (!found && !one_of(*word, {"name", "id", "type", "case", "data", "set"})) return false;
    subject |= found;
  }
  return subject;
}

/// Words of settings that a script sweeps over.
bool names_swept_setting(std::string_view printed) {
  return one_of(lower(printed),
                {"batch_size", "batchsize", "batch size", "bs", "seq_len", "seqlen", "sequence_length", "seq_length",
                 "context_length", "ctx_len", "resolution", "image_size", "img_size", "input_size", "problem_size"});
}

/// Words of what happened to one thing, or of a request to it: they name no thing of their own.
bool is_state(std::string_view cell) {
  return one_of(cell, {"pass", "passed", "fail", "failed", "ok", "error", "true", "false", "yes", "no", "get", "post",
                       "put", "patch", "delete", "head", "options"});
}

}  // namespace

void find_key(std::span<const std::string> lines, Layout& layout) {
  const auto columns = read_columns(layout.columns, layout.roles);
  const auto is_key = [](const TableColumn& c) { return c.role >= ColumnRole::index && c.role <= ColumnRole::group; };
  const auto is_clock = [](const TableColumn& c) {
    return c.role == ColumnRole::time || c.role == ColumnRole::elapsed;
  };
  if (layout.separator == ' ' || std::any_of(columns.begin(), columns.end(), is_key) ||
      std::none_of(columns.begin(), columns.end(), is_clock))
    return;
  const FirstMoments first = read_first_moments(lines, layout, columns);
  constexpr std::size_t least_moments = 3;
  if (first.rows.empty() || first.moment.back() + 1 < least_moments || first.largest < 2 ||
      3 * (first.moment.back() + 1) > 2 * first.rows.size())
    return;
  const bool cards = std::any_of(columns.begin(), columns.end(),
                                 [](const TableColumn& c) { return c.role == ColumnRole::amount && c.of_driver(); });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != ColumnRole::other || !names_rows(first, i)) continue;
    const bool numbers = std::all_of(first.rows.begin(), first.rows.end(),
                                     [&](const auto& row) { return row[i].size() < 4 && only_digits(row[i]); });
    layout.columns[i] = cards && numbers ? "gpu_index" : "container";
    return;
  }
}

void find_subjects(std::span<const std::string> lines, Layout& layout) {
  constexpr std::size_t longest = 64;  // bytes
  const auto columns = read_columns(layout.columns, layout.roles);
  if (layout.separator == ' ' || !has_position(columns) ||
      std::any_of(columns.begin(), columns.end(),
                  [](const TableColumn& c) { return c.role >= ColumnRole::index && c.role <= ColumnRole::group; }))
    return;
  // A row may have a subject and a part of it: one of them may change only far below.
  std::vector<std::size_t> found;
  bool several = false;
  for (std::size_t i = 0; i < columns.size() && found.size() < 2; ++i) {
    if (columns[i].role != ColumnRole::other || !names_subject(layout.columns[i])) continue;
    const std::vector<std::string> cells = first_cells(lines, layout, i);
    const auto is_name = [](const std::string& cell) {
      std::size_t at = 0;
      return cell.size() <= longest && !is_state(lower(cell)) && !(read_number(cell, at) && at == cell.size());
    };
    if (cells.empty() || !std::all_of(cells.begin(), cells.end(), is_name)) continue;
    several |= std::any_of(cells.begin(), cells.end(), [&](const auto& cell) { return cell != cells[0]; });
    found.push_back(i);
  }
  if (!several) return;
  for (const std::size_t i : found) layout.columns[i] = "session";
}

std::string find_sweep(std::span<const std::string> lines, const Layout& layout) {
  constexpr std::size_t least_rows = 4;
  const auto columns = read_columns(layout.columns, layout.roles);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != ColumnRole::other || !names_swept_setting(layout.columns[i])) continue;
    std::vector<double> values;
    for (const std::string& cell : first_cells(lines, layout, i)) {
      std::size_t at = 0;
      const auto number = read_number(cell, at);
      values.push_back(number && at == cell.size() ? number->value : values.empty() ? 0 : values.back());
    }
    // A length that grows by the same in each row may be that of one text which a model continues.
    const bool length = lower(layout.columns[i]).find("batch") == std::string::npos && lower(layout.columns[i]) != "bs";
    const auto grows_evenly = [&] {
      for (std::size_t k = 2; k < values.size(); ++k)
        if (values[k] - values[k - 1] != values[1] - values[0]) return false;
      return true;
    };
    if (length && grows_evenly()) continue;
    const auto not_rising = std::adjacent_find(values.begin(), values.end(), std::greater_equal<>());
    const auto not_falling = std::adjacent_find(values.begin(), values.end(), std::less_equal<>());
    if (values.size() >= least_rows && (not_rising == values.end() || not_falling == values.end()))
      return layout.columns[i];
  }
  return {};
}

bool drop_row_numbers(std::span<const std::string> lines, Layout& layout) {
  constexpr std::size_t least_rows = 3, most_devices = 16, enough = 40;
  constexpr double one_query = 1;  // seconds
  const auto columns = read_columns(layout.columns, layout.roles);
  const auto is_time = [](const TableColumn& c) { return c.role == ColumnRole::time; };
  const auto index = std::find_if(layout.columns.begin(), layout.columns.end(),
                                  [](const std::string& name) { return lower(name) == "index"; }) -
                     layout.columns.begin();
  const auto time = std::find_if(columns.begin(), columns.end(), is_time) - columns.begin();
  if (index == std::ssize(columns) || columns[static_cast<std::size_t>(index)].role != ColumnRole::index) return false;
  std::vector<std::string_view> cells;
  std::optional<double> last, last_time;
  std::string first_time;
  std::size_t rows = 0;
  bool apart = time < std::ssize(columns), moves = !apart;
  for (const std::string& line : lines) {
    split_table_line(line, layout.separator, cells);
    if (cells.size() != columns.size()) continue;
    const std::string_view cell = trimmed_cell(cells[static_cast<std::size_t>(index)]);
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (!number || at != cell.size() || (last && number->value != *last + 1)) return false;
    if (time < std::ssize(columns)) {
      const std::string_view text = trimmed_cell(cells[static_cast<std::size_t>(time)]);
      const auto now = read_cell_time(text);
      apart = apart && now && (!last_time || *now >= *last_time + one_query);
      last_time = now;
      if (rows == 0) first_time = text;
      moves |= text != first_time;
    }
    last = number->value;
    if (++rows == enough) break;
  }
  const bool of_machine = std::all_of(columns.begin(), columns.end(), [](const TableColumn& c) {
    return c.role != ColumnRole::amount || c.host || to_string(c.reading.metric).starts_with("host");
  });
  const bool beyond_devices = moves && rows > most_devices;
  const bool of_no_device = (apart || of_machine) && rows >= least_rows;
  if (!beyond_devices && !of_no_device) return false;
  layout.columns[static_cast<std::size_t>(index)] = "row";
  return true;
}

}  // namespace oomdoctor
