// The cells of a column in the first rows of a table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// Of each line that is a row of the layout. At most 120.
std::vector<std::string> first_cells(std::span<const std::string> lines, const Layout& layout, std::size_t column);

/// Their numbers; empty if a cell is none.
std::vector<double> first_numbers(std::span<const std::string> lines, const Layout& layout, std::size_t column);

}  // namespace oomdoctor
