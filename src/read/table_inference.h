// The columns of a table without a header, by the cells of its first rows: their units, sizes and sums.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace oomdoctor {

/// Column indices of rows without a header, inferred from units, sizes and names.
struct InferredColumns {
  std::size_t count = 0;
  char separator = ',';
  std::optional<std::size_t> time, index, name, uuid, bus, used, total, free;  ///< `used` is always set
  std::optional<std::size_t> pid, program;  ///< set if the rows list processes: `used` is then what each of them uses
  bool sure_of_total = false;               ///< it is the sum of the others, or constant and a GPU's
};
/// nullopt if the lines do not look like an export of GPU memory, or the columns are ambiguous.
std::optional<InferredColumns> infer_columns(std::span<const std::string> first_lines);
/// True if the columns are dates, numbers and GPU names, some of them as large as memory in MiB, or one has the ids of
/// GPUs. This may be an export without its header.
bool are_numeric_rows(std::span<const std::string> first_lines);

}  // namespace oomdoctor
