// Tables of memory over time, by their header or, without one, by their first rows.
#pragma once

#include <string_view>

#include "read/first_lines.h"

namespace oomdoctor {

/// True if the line is the header of a table with memory whose units the names contain. Fills `layout`.
bool read_table_header(std::string_view line, Layout& layout);

/// Finds a header that `accepts` among the first lines of an input, if rows follow it. `accepts` may change the layout,
/// which has the names of the columns.
bool find_table_header(const FirstLines& first, Layout& layout,
                       bool (*accepts)(std::string_view line, const TableHeader& header, Layout& layout));

/// Finds such a header among the first lines of an input, if rows follow it. Units that no name contains follow from
/// the sizes in these rows. For Table::sniff.
bool sniff_table(const FirstLines& first, Layout& layout);

}  // namespace oomdoctor
