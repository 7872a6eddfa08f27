// The front of an input, for formats that recognise a table by its first lines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/parser.h"
#include "read/table_columns.h"

namespace oomdoctor {

/// A line as the header of a table.
struct TableHeader {
  Layout layout;                     ///< the names of the columns and their separator
  std::vector<TableColumn> columns;  ///< what the names mean, without the units that only cells show
};

/// nullopt if the line is not a header.
std::optional<TableHeader> read_header(std::string_view line);

/// The lines at the front of an input. Most logs have few forms there. Not thread-safe.
class FirstLines {
 public:
  /// `all` outlives it.
  explicit FirstLines(std::span<const std::string> all);

  std::span<const std::string> lines() const { return lines_; }
  /// A number for the form of line `i`: lines that differ only in their numbers have the same.
  std::size_t form(std::size_t i) const { return forms_[i]; }
  /// Line `i` as a header; null if it is none. Each format asks for it, so it is read once.
  const TableHeader* header(std::size_t i) const;
  /// The first line as a header whose names a separator parts, above at least `rows` lines; null if it is
  /// none.
  const TableHeader* separated_header(std::size_t rows) const;

 private:
  std::span<const std::string> lines_;
  std::vector<std::size_t> forms_;
  mutable std::vector<std::optional<std::optional<TableHeader>>> headers_;  ///< of the lines that were read
};

}  // namespace oomdoctor
