// Rows of a table whose columns are times: each row is one quantity at all of them.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// Wider tables are cut: a row of the walk has 32 KiB.
inline constexpr std::size_t max_transposed_columns = 8192;

/// Reads one row at a time. The layout must outlive it.
class TransposedReader {
 public:
  explicit TransposedReader(const Layout& layout);

  /// False if the line is not a row.
  bool read(std::string_view line);
  /// The values of the last row with their times; empty if it is not memory.
  const std::vector<std::pair<Reading, double>>& readings() const { return readings_; }

 private:
  const Layout& layout_;
  std::size_t names_ = 0;  ///< columns before the times
  bool percent_ = false;   ///< one of their names has the unit of all cells
  std::vector<double> times_;
  std::vector<std::string_view> cells_;
  std::vector<std::pair<Reading, double>> readings_;
};

/// The rows of a transposed layout, for Table::rows.
std::unique_ptr<Rows> transposed_rows(const Layout& layout);

}  // namespace oomdoctor
