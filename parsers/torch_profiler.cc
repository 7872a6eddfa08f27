// The table of key_averages() with profile_memory=True: a row for each operator. "Self CUDA Mem" is what the operator
// itself allocated less what it freed, summed over its calls. The units b, Kb, Mb and Gb are powers of 2^10.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "read/parser.h"

namespace oomdoctor::parsers::torch_profiler {
namespace {

/// The cells of a row: at least two blanks are between them.
std::vector<std::string_view> split_cells(std::string_view row) {
  std::vector<std::string_view> cells;
  for (std::size_t at = row.find_first_not_of(' '); at != row.npos;) {
    const std::size_t end = std::min(row.find("  ", at), row.size());
    cells.push_back(row.substr(at, end - at));
    at = row.find_first_not_of(' ', end);
  }
  return cells;
}

/// "14.32 Gb"; nullopt for what was freed, "-112.00 Mb".
std::optional<Bytes> read_size_cell(std::string_view cell) {
  const std::size_t blank = cell.find(' ');
  return blank == cell.npos || cell[0] == '-' ? std::nullopt
                                              : read_bytes(cell.substr(0, blank), cell.substr(blank + 1));
}

}  // namespace

void table(const Match& m, EventSink& sink) {
  constexpr int max_rows = 400;
  const auto columns = split_cells(m.cursor.line().text);
  const auto found = std::find(columns.begin(), columns.end(), m[1]);
  if (found == columns.end()) return;
  const auto column = static_cast<std::size_t>(found - columns.begin());
  std::optional<Bytes> largest;
  std::string operation;
  i64 last = m.cursor.line().number;
  int rules = 0;  // the line below the header, then the one below the rows
  m.cursor.forward(max_rows, [&](const Line& line) {
    const auto cells = split_cells(line.text);
    const bool rule = !cells.empty() && cells[0].find_first_not_of('-') == std::string_view::npos;
    if (rule && ++rules == 2) return false;
    if (rule) return true;
    if (cells.size() != columns.size()) return false;
    last = line.number;
    const auto size = read_size_cell(cells[column]);
    if (size && size->count > 0 && (!largest || size->count > largest->count)) {
      largest = size;
      operation = cells[0];
    }
    return true;
  });
  sink.claim_through(last);
  if (!largest) return;
  sink.setting("profiled_operation", operation);
  sink.setting("profiled_memory", decimal_bytes_text(largest->count));
}

}  // namespace oomdoctor::parsers::torch_profiler
