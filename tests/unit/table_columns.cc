#include "read/table_columns.h"

#include <string>
#include <vector>

#include "catch.h"
#include "read/table.h"
#include "read/table_cells.h"

namespace oomdoctor {
namespace {

using Names = std::vector<std::string>;

/// The only column of this name next to a time.
TableColumn column_of(const std::string& name) { return read_columns(Names{"time", name}, {})[1]; }

TEST_CASE("a column is memory by its words, its unit stands anywhere", "[table]") {
  struct NamedUnit {
    const char* name;
    double unit;
    Metric metric;
  };
  for (const NamedUnit& c : std::vector<NamedUnit>{{"mem_usage (MiB)", 1048576, Metric::memory},
                                                   {"gpu_mem_allocated [GB]", 1073741824, Metric::allocated},
                                                   {"peak_mem_reserved_bytes", 1, Metric::max_reserved},
                                                   {"GPU 1 memory used", 0, Metric::used},
                                                   {"vram_kb", 1024, Metric::memory},
                                                   {"host RAM (GiB)", 1073741824, Metric::host_used},
                                                   {"proc.memory.rssMB", 1048576, Metric::host_rss},
                                                   {"run-7 - system/gpu.0.memoryAllocatedBytes", 1, Metric::used}}) {
    CAPTURE(c.name);
    const TableColumn column = column_of(c.name);
    CHECK(column.role == ColumnRole::amount);
    CHECK(column.unit == c.unit);
    CHECK(column.reading.metric == c.metric);
  }
}

TEST_CASE("a column with a word of another quantity is no memory", "[table]") {
  for (const char* name :
       {"clocks.current.memory [MHz]", "temperature.memory", "utilization.memory [%]", "ram_price", "memory_errors",
        "gpu_utilization (%)", "swap_mb", "loss", "run - gpu.0.memoryAllocatedBytes__MAX", "max_iter"}) {
    CAPTURE(name);
    CHECK(column_of(name).role == ColumnRole::other);
  }
}

TEST_CASE("a share of memory counts where no amount is beside it", "[table]") {
  const TableColumn share = column_of("mem_percent (%)");
  CHECK(share.role == ColumnRole::amount);
  CHECK(share.reading.metric == Metric::host_utilization);
  CHECK(read_columns(Names{"time", "mem_mb", "mem_pct"}, {})[2].role == ColumnRole::other);
}

TEST_CASE("the name of a column contains its GPU", "[table]") {
  CHECK(column_of("gpu.3.memory_mb").device == 3);
  CHECK(column_of("GPU 0 memory used").device == 0);
  CHECK(column_of("gpu1_mem_mb").device == 1);
  CHECK_FALSE(column_of("gpu_mem_mb").device);
  CHECK_FALSE(column_of("gpu 80GB memory used").device);
}

TEST_CASE("memory without a word for its place is the host's beside a GPU's", "[table]") {
  const auto columns = read_columns(Names{"time", "mem_usage (MiB)", "gpu_mem_usage (MiB)"}, {});
  CHECK(columns[1].reading.metric == Metric::host_used);
  CHECK(columns[2].reading.metric == Metric::memory);
}

TEST_CASE("memory without a word for its place is the host's beside swap", "[table]") {
  CHECK(read_columns(Names{"time", "Used Memory (KB)", "Used Swap (KB)"}, {})[1].reading.metric == Metric::host_used);
  CHECK(read_columns(Names{"time", "Used Memory (MiB)"}, {})[1].reading.metric == Metric::used);
  CHECK(read_columns(Names{"time", "Used Memory (KB)"}, {})[1].reading.metric == Metric::memory);
  CHECK(read_columns(Names{"time", "gpu_util", "Used Memory (GB)"}, {})[2].reading.metric == Metric::used);
  CHECK(read_columns(Names{"Time", "CPUPerc", "MemUsage (MiB)"}, {})[2].reading.metric == Metric::host_used);
}

TEST_CASE("memory is the CPU's or the GPU's that was named last before it", "[table]") {
  CHECK(read_columns(Names{"time", "cpu", "memory_used_mb", "gpu_power"}, {})[2].reading.metric == Metric::host_used);
  CHECK(read_columns(Names{"time", "gpu_util", "memory_used", "cpu"}, {})[2].reading.metric == Metric::used);
}

TEST_CASE("the name of a process makes the memory its own", "[table]") {
  CHECK(read_columns(Names{"time", "process", "memory_mb"}, {})[2].reading.metric == Metric::host_rss);
  CHECK_FALSE(is_memory_table(read_columns(Names{"process", "memory_mb"}, {})));
}

TEST_CASE("what each size of an input took is no memory over time", "[table]") {
  CHECK_FALSE(is_memory_table(read_columns(Names{"size", "time_ms", "memory_kb"}, {})));
  CHECK(is_memory_table(read_columns(Names{"elapsed_s", "batch_size", "memory_kb"}, {})));
}

TEST_CASE("a time is read in every order of its parts", "[table]") {
  const double noon = 1738411207;  // 2025-02-01 12:00:07 UTC
  for (const char* cell : {"2025-02-01 12:00:07", "2025/02/01T12:00:07Z", "02-01-2025 12:00:07", "01.02.2025 12:00:07",
                           "2025-02-01 12:00:07 PM", "1738411207", "1738411207000", "Sat Feb  1 12:00:07 2025"}) {
    CAPTURE(cell);
    CHECK(read_cell_time(cell) == noon);
  }
  CHECK(read_cell_time("21-02-2025 12:00:07") == noon + 20 * 86400);  // no month 21
  CHECK(read_cell_time("01:00:07 PM") == 46807);
  for (const char* cell : {"2025/2/1 12:05", "2/1/2025 12:05", "2/1/2025 12:05 PM", "2025-2-1 12:05"})
    CHECK(read_cell_time(cell) == noon - 7 + 300);  // as spreadsheet programs save it
  CHECK(read_cell_time("2/21/2025 0:05") == read_cell_time("21/2/2025 12:05 AM"));
  CHECK_FALSE(read_cell_time("2025/2/1"));
  CHECK_FALSE(read_cell_time("2/1/2025 12:05:"));
  CHECK_FALSE(read_cell_time("41877"));
  CHECK_FALSE(read_cell_time("soon"));
}

TEST_CASE("separators within quotes separate nothing", "[table]") {
  std::vector<std::string_view> cells;
  split_table_line("\"a, b\",2,\"\",", ',', cells);
  CHECK(cells == std::vector<std::string_view>{"\"a, b\"", "2", "\"\"", ""});
  split_table_line("| 1 | 2 |", '|', cells);
  CHECK(cells == std::vector<std::string_view>{" 1 ", " 2 "});
}

TEST_CASE("the memory of a thing with a price is a property", "[table]") {
  const std::vector<std::string> sold{"date", "gpu", "memory_gb", "price_usd"}, used{"date", "gpu", "memory_gb"};
  CHECK_FALSE(is_memory_table(read_columns(sold, {})));
  CHECK(is_memory_table(read_columns(used, {})));
}

TEST_CASE("a header needs rows below it", "[table]") {
  Layout layout;
  const auto sniffed = [&](const Names& lines) { return sniff_table(FirstLines(lines), layout); };
  CHECK(sniffed({"a banner", "step;gpu_mem", "10;5120", "20;5120"}));
  CHECK(layout.separator == ';');
  CHECK_FALSE(sniffed({"step;gpu_mem", "started", "10 percent done"}));
  CHECK(sniffed({"step;gpu_mem", "10;0.51", "20;0.52"}));  // a share, or GB: only a note
  CHECK(layout.columns.empty());
  CHECK(layout.note.starts_with("column gpu_mem has no unit"));
}

TEST_CASE("the names of a header end where the first row begins on its line", "[table]") {
  Layout layout;
  const Names lines{"Date , GPU Load [%] , Memory Used (Dedicated) [MB] ,      2025-06-14 20:41:00 , 91 , 1210 ,",
                    "2025-06-14 20:41:01 , 92 , 1214 ,", "2025-06-14 20:41:02 , 95 , 5890 ,"};
  CHECK(sniff_table(FirstLines(lines), layout));
  CHECK(layout.columns.size() == 3);
}

TEST_CASE("numbers of whole pages are bytes", "[table]") {
  Layout layout;
  const auto unit_of = [&](const Names& values) {
    Names lines{"time,rss"};
    for (std::size_t i = 0; i < values.size(); ++i) lines.push_back(std::to_string(i) + "," + values[i]);
    return sniff_table(FirstLines(lines), layout) && !layout.columns.empty()
               ? read_columns(layout.columns, layout.roles)[1].unit
               : 0;
  };
  CHECK(unit_of({"13152256", "17358848", "29093888", "29097984"}) == 1);
  CHECK(unit_of({"13152256", "17358848", "29093888", "29097985"}) == 0);
  CHECK(unit_of({"1048576", "2097152", "4194304", "8388608"}) == 0);  // sizes that somebody chose
}

}  // namespace
}  // namespace oomdoctor
