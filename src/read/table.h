// Tables of memory over time, by their header or, without one, by their first rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "read/parser.h"

namespace oomdoctor {

/// Reads the names of the columns and their separator; false if the line is no header.
bool read_column_names(std::string_view line, Layout& layout);

/// True if the line is the header of a table with memory whose units the names contain. Fills `layout`.
bool read_table_header(std::string_view line, Layout& layout);

/// Finds a header among the first lines of an input, if rows follow it.
bool find_table_header(const FirstLines& first, Layout& layout, bool (*header)(std::string_view line, Layout& layout));

/// Finds such a header among the first lines of an input, if rows follow it. Units that no name contains follow from
/// the sizes in these rows. For Table::sniff.
bool sniff_table(const FirstLines& first, Layout& layout);

}  // namespace oomdoctor
