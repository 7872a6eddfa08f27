// nvidia-smi --query-gpu … --format=csv in all its variants, and the same columns under names that users chose.
//
// All amounts are MiB in every spelling. With nounits only the header keeps " [MiB]". Without a header the columns are
// inferred from the cells, and the report mentions it. --query-compute-apps lists processes, each as a separate series.
#include <algorithm>
#include <string>

#include "read/table.h"
#include "read/table_columns.h"
#include "read/table_inference.h"
#include "read/table_rows.h"

namespace oomdoctor::parsers::smi {

namespace {

/// True if the columns identify a query of nvidia-smi, or amounts with a time or an index.
bool is_query(std::string_view line, const TableHeader& header, Layout& layout) {
  const std::vector<TableColumn>& columns = header.columns;
  const auto has = [&](std::initializer_list<ColumnRole> roles) {
    return std::any_of(columns.begin(), columns.end(), [&](const TableColumn& column) {
      return std::find(roles.begin(), roles.end(), column.role) != roles.end();
    });
  };
  const bool memory = std::any_of(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.role == ColumnRole::amount && column.reading.label.empty();
  });
  const bool query = line.find("utilization.gpu") != line.npos || line.find("memory.") != line.npos ||
                     line.find("used_gpu_memory") != line.npos;
  if (has({ColumnRole::pid})) {
    layout.kind = "smi_apps_csv";
    return memory;
  }
  layout.kind = "smi_csv";
  layout.unread = query && !memory;
  if (layout.unread)
    layout.note =
        "the nvidia-smi query did not contain memory.used; utilization.memory is the time in which the memory was "
        "busy, not what is in use";
  return query
             ? has({ColumnRole::time, ColumnRole::index, ColumnRole::name, ColumnRole::uuid, ColumnRole::bus}) || memory
             : memory && has({ColumnRole::time, ColumnRole::index});
}

}  // namespace

bool header(std::string_view line, Layout& layout) {
  const auto found = read_header(line);
  if (!found) return false;
  layout = found->layout;
  return is_query(line, *found, layout);
}

std::unique_ptr<Rows> rows(const Layout& layout) { return table_rows(layout); }

bool sniff(const FirstLines& first, Layout& layout) {
  if (find_table_header(first, layout, is_query)) return true;
  const auto found = infer_columns(first.lines());
  layout = {};
  if (!found) {
    if (!are_numeric_rows(first.lines())) return false;
    layout.note =
        "rows of numbers without a header: it is unknown which column is memory. Export again with the header: "
        "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total --format=csv -l 1";
    return true;
  }
  for (std::size_t i = 0; i < found->count; ++i) layout.columns.push_back("column " + std::to_string(i + 1));
  const auto put = [&](std::optional<std::size_t> column, const char* name) {
    if (column) layout.columns[*column] = name;
  };
  put(found->time, "timestamp");
  put(found->index, "index");
  put(found->name, "name");
  put(found->uuid, "uuid");
  put(found->bus, "pci.bus_id");
  put(found->total, "memory.total [MiB]");
  put(found->free, "memory.free [MiB]");
  put(found->used, found->pid ? "used_gpu_memory [MiB]" : "memory.used [MiB]");
  put(found->pid, "pid");
  put(found->program, "process_name");
  layout.separator = found->separator;
  layout.sure_of_total = found->sure_of_total;
  layout.has_header = false;
  layout.kind = found->pid ? "smi_apps_csv" : "smi_csv";
  layout.note = "rows of nvidia-smi without a header: column " + std::to_string(*found->used + 1) + " was taken for " +
                (found->pid ? "used_gpu_memory of the process in column " + std::to_string(*found->pid + 1)
                            : "memory.used in MiB") +
                ", because of the cells' units and sizes";
  return true;
}

/// nvidia-smi prints only this line if it does not know a field.
bool unknown_field(std::string_view line, Layout& layout) {
  const std::size_t end = line.find("\" is not a valid field to query");
  if (!line.starts_with("Field \"") || end == line.npos || end > 80) return false;
  layout = {};
  layout.kind = "smi_csv";
  layout.note = "nvidia-smi printed no row: it does not know the field " + std::string(line.substr(7, end - 7));
  return true;
}

}  // namespace oomdoctor::parsers::smi
