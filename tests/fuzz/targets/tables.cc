// Bytes as the first lines of a table: its header, or the columns that its cells show, and its rows.
#include <cmath>
#include <string>
#include <vector>

#include "read/cell_reader.h"
#include "read/table.h"
#include "read/table_inference.h"
#include "read/transposed_rows.h"

#include "../target.h"

namespace oomdoctor::testing {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  constexpr std::size_t most = 64;
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void run(std::string_view text) {
  const std::vector<std::string> lines = lines_of(text);
  if (const auto columns = infer_columns(lines)) demand(columns->used && *columns->used < columns->count);
  Layout layout;
  if (!sniff_table(FirstLines(lines), layout)) return;
  demand(!layout.columns.empty());
  if (layout.transposed) {
    TransposedReader reader(layout);
    for (const std::string& line : lines) {
      reader.read(line);
      demand(reader.readings().size() < layout.columns.size());
    }
    return;
  }
  CellReader reader(layout);
  demand(reader.memory_count() > 0);
  TableRow row;
  for (const std::string& line : lines) {
    if (!reader.read(line, row)) continue;
    demand(reader.amounts().size() >= reader.memory_count());
    for (const CellAmount& amount : reader.amounts()) demand(amount.number >= 0 && std::isfinite(amount.unit));
  }
}

std::vector<std::string> seeds() {
  return {"step,gpu_mem_mb\n1,2\n2,3\n",
          "\"a banner\"\ntime;container;mem (MiB);gpu mem (MiB)\n12:00:00;a;1;2\n12:00:01;b;1;2\n",
          "name,12:00:00,12:00:01,12:00:02,12:00:03\nram_pct,1,2,3,4\n",
          "3000, 21000, 24576\n3100, 20900, 24576\n3200, 20800, 24576\n",
          "1738411200\t0\t61.5\t22310\t24564\n1738411205\t9\t61.5\t22310\t24564\n1738411210\t97\t61.5\t22310\t24564\n"};
}

const Added target({.name = "tables", .longest = 4000, .run = run, .seeds = seeds});

}  // namespace
}  // namespace oomdoctor::testing
