#include "read/untimed_samples.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "read/context.h"
#include "read/first_cells.h"
#include "read/label.h"
#include "read/table_columns.h"
#include "read/tokens.h"

namespace oomdoctor {
namespace {

/// True for the name of what a monitor of a machine shows next to its memory.
bool names_load(const std::string& name) {
  static constexpr auto measured =
      std::to_array<std::string_view>({"cpu", "gpu", "ram", "mem", "memory", "vram", "swap", "disk", "net", "network",
                                       "temp", "temperature", "power", "fan", "battery"});
  static constexpr auto how = std::to_array<std::string_view>(
      {"load",      "util",   "utilization", "usage", "use",      "used",      "percent", "pct", "total", "free",
       "available", "cached", "speed",       "rpm",   "freq",     "frequency", "clock",   "mhz", "ghz",   "c",
       "w",         "watts",  "mb",          "gb",    "kb",       "mib",       "gib",     "io",  "read",  "write",
       "rx",        "tx",     "sent",        "recv",  "received", "avg",       "average", "in",  "core"});
  const std::string lowered = lower(name);
  IdentifierWords words(name, lowered);
  bool any = false;
  while (const auto word = words.next()) {
    const bool quantity = std::find(measured.begin(), measured.end(), *word) != measured.end();
    if (!quantity && !only_digits(*word) && std::find(how.begin(), how.end(), *word) == how.end()) return false;
    any |= quantity;
  }
  return any;
}

/// True for "CPU (%)", "gpu_util": of a processor at work. A bare "cpu" may be what a machine for rent has.
bool names_load_of_processor(const std::string& name) {
  const std::string lowered = lower(name);
  IdentifierWords words(name, lowered);
  bool processor = false, load = lowered.find('%') != lowered.npos;
  while (const auto word = words.next()) {
    processor |= one_of(*word, {"cpu", "gpu"});
    load |= one_of(*word, {"load", "util", "utilization", "usage", "use", "percent", "pct"});
  }
  return processor && load;
}

/// True for the name of a column that counts the values of a monitor.
bool names_count_of_samples(const std::string& name) {
  return one_of(lower(name), {"interval", "sample", "reading", "measurement", "tick", "poll"});
}

}  // namespace

bool find_untimed_samples(const FirstLines& first, Layout& layout) {
  constexpr std::size_t least_rows = 5;
  const std::span<const std::string> lines = first.lines();
  const TableHeader* header = first.separated_header(least_rows);
  if (header == nullptr || has_position(header->columns)) return false;
  layout = header->layout;
  bool counted = false, of_machine = true;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const std::vector<double> numbers = first_numbers(lines.subspan(1), layout, i);
    if (numbers.size() < least_rows) return false;
    const bool amount = header->columns[i].role == ColumnRole::amount;
    if (amount && header->columns[i].lacks_unit()) return false;
    if (!counted && names_count_of_samples(layout.columns[i]) &&
        std::adjacent_find(numbers.begin(), numbers.end(), [](double a, double b) { return b != a + 1; }) ==
            numbers.end())
      layout.columns[i] = "step", counted = true;
    of_machine = of_machine && (counted || names_load(layout.columns[i]));
  }
  if (!counted && !of_machine) return false;
  const auto columns = read_columns(layout.columns, {});
  const auto is_memory = [](const TableColumn& c) { return c.role == ColumnRole::amount; };
  if (std::none_of(columns.begin(), columns.end(), is_memory)) return false;
  if (!counted && std::none_of(layout.columns.begin(), layout.columns.end(), names_load_of_processor)) return false;
  layout.roles.assign(columns.size(), static_cast<int>(CellUnit::as_named));
  layout.header = lines[0];
  return true;
}

}  // namespace oomdoctor
