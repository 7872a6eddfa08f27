#include "read/first_cells.h"

#include <string_view>

#include "read/line_format.h"
#include "read/table_cells.h"
#include "read/tokens.h"

namespace oomdoctor {

std::vector<std::string> first_cells(std::span<const std::string> lines, const Layout& layout, std::size_t column) {
  constexpr std::size_t enough = 120;  // rows
  std::vector<std::string> out;
  std::vector<std::string_view> cells;
  ObjectKeys keys(layout.separator == json_object ? layout.header : std::string_view());
  for (const std::string& line : lines) {
    if (out.size() == enough) break;
    if (layout.separator == json_object) {
      if (!keys.find_values(line, cells) || cells.size() != layout.columns.size() || cells[column].empty()) continue;
      out.emplace_back(trimmed_cell(cells[column]));
    } else {
      split_table_line(line, layout.separator, cells);
      if (cells.size() == layout.columns.size()) out.emplace_back(trimmed_cell(cells[column]));
    }
  }
  return out;
}

std::vector<double> first_numbers(std::span<const std::string> lines, const Layout& layout, std::size_t column) {
  std::vector<double> numbers;
  for (const std::string_view cell : first_cells(lines, layout, column)) {
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (!number || at != cell.size()) return {};
    numbers.push_back(number->value);
  }
  return numbers;
}

}  // namespace oomdoctor
