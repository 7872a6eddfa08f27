// Tables of memory over time that programs, trackers and dashboards write. The columns say what they hold; see
// read/table_columns.h.
#include "read/table.h"
#include "read/table_rows.h"

namespace oomdoctor::parsers::tables {

bool header(std::string_view line, Layout& layout) { return read_table_header(line, layout); }
bool sniff(const FirstLines& first, Layout& layout) { return sniff_table(first, layout); }
std::unique_ptr<Rows> rows(const Layout& layout) { return table_rows(layout); }

}  // namespace oomdoctor::parsers::tables
