// The meaning of a table's columns, by the words of their names: a memory word, a unit anywhere in the name ("_mb",
// "(MiB)", "[B]", "AllocatedBytes", "%"), and what it is the memory of: "gpu.0.", "host", a process. A name that is not
// understood is another column, never memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "read/parser.h"

namespace oomdoctor {

inline constexpr double mebibyte = static_cast<double>(MiB);

// The unit of numbers without one, by their size.
inline constexpr double max_mebibytes = 1.1e6;  ///< of the MiB of a GPU, also of several together: 1 TiB
inline constexpr double min_bytes = 1e7;        ///< of a GPU's bytes: no process takes so little

/// In the bracket of a name: the share counts from 0 to 1.
inline constexpr std::string_view share_of_one = "0 to 1";

enum class ColumnRole {
  other,
  time,     ///< a date, a clock, or both
  am_pm,    ///< of the clock in the column before
  elapsed,  ///< since the start; TableColumn::unit is in seconds, as of a time that counts from the start
  step,
  epoch,
  index,  ///< of the GPU, or its name
  name,   ///< of the GPU
  uuid,
  bus,
  tile,
  rank,
  pid,
  command,  ///< may contain separators
  group,    ///< a container, a host, a session: each has its own series
  total,    ///< the capacity
  amount,   ///< memory over time
};

/// How an amount without a printed unit counts. The sizes of its first values decide.
enum class CellUnit : int { as_named, bytes, kibibytes, mebibytes, gibibytes, unknown };

struct TableColumn {
  ColumnRole role = ColumnRole::other;
  Reading reading;            ///< of an amount: all but value and quantum
  double unit = 0;            ///< bytes of one; 0 if the name has no unit
  bool share = false;         ///< per cent of all memory
  bool partner = false;       ///< free memory next to used memory: it shows the capacity
  std::optional<int> device;  ///< the GPU that the name contains
  bool host = false;          ///< of the machine or a container, not of a GPU
  bool of_device = false;     ///< a word of the table says that it is a GPU's, or an allocator's

  /// The memory of a whole GPU, as the driver counts it.
  bool of_driver() const { return reading.label.empty() && !host; }
  bool lacks_unit() const { return role == ColumnRole::amount && unit == 0 && !share; }
};

/// The columns with these names. `units` has one CellUnit for each name, or is empty.
std::vector<TableColumn> read_columns(std::span<const std::string> names, std::span<const int> units);

/// True if a column holds a time, a step or an epoch.
bool has_position(std::span<const TableColumn> columns);

/// True if rows of these columns can be distinguished, and at least one is memory.
bool is_memory_table(std::span<const TableColumn> columns);

}  // namespace oomdoctor
