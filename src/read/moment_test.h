// Whether the rows of a table show memory over time at all, by the times of its first rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "read/cell_reader.h"
#include "read/table_columns.h"

namespace oomdoctor {

/// Finds tables whose rows are about other things than one thing over time, although nothing names them:
/// their seconds fall again and again, since they are how long the work of each row took, or all have the same time.
/// Also finds tables that begin with their newest row, in which memory would seem to grow when it falls.
class MomentTest {
 public:
  explicit MomentTest(std::span<const TableColumn> columns);
  void add(const TableRow& row);
  /// What is wrong with them; empty if nothing is.
  std::string_view fault() const;

 private:
  /// True if a row was about another thing than the first one.
  bool differs(const RowSubject& subject);

  std::string subject_;  ///< of the first row
  bool differs_ = false;
  bool named_ = false, counted_ = false;
  bool of_cards_ = false;  ///< the order of the rows distinguishes them
  std::size_t rows_ = 0, falls_ = 0, restarts_ = 0, repeated_ = 0;
  std::size_t back_ = 0, forth_ = 0;  ///< moments before and after the one of the row before
  std::optional<double> first_, last_, last_moment_;
};

}  // namespace oomdoctor
