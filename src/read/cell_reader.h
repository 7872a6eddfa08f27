// Reads a line as a row of a table: its amounts of memory, its place in time, and what it is about.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "read/table_cells.h"
#include "read/table_columns.h"

namespace oomdoctor {

/// The identity of what a row is about, as views into its line.
struct RowSubject {
  std::optional<int> index, rank;
  std::optional<i64> pid;
  std::string_view uuid, bus, name, tile, group, subgroup;
  std::optional<double> total;  ///< bytes
  /// Compared for every row. Most texts are empty, which needs no call.
  bool operator==(const RowSubject& o) const {
    const auto same = [](std::string_view a, std::string_view b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
    };
    return index == o.index && rank == o.rank && pid == o.pid && total == o.total && same(uuid, o.uuid) &&
           same(bus, o.bus) && same(name, o.name) && same(tile, o.tile) && same(group, o.group) &&
           same(subgroup, o.subgroup);
  }
  /// The text that distinguishes it from other GPUs with the same index.
  std::string_view other() const { return !uuid.empty() ? uuid : !bus.empty() ? bus : name; }
};

/// An amount in a cell; `unit` is 0 if there is none.
struct CellAmount {
  double number = 0, unit = 0;
  int decimals = 0;
  double whole = 0;   ///< bytes of the limit in the same cell; 0 if there is none
  bool bare = false;  ///< neither the cell nor the column has a unit
};

/// What a row prints next to its amounts.
struct TableRow {
  RowSubject subject;
  std::optional<double> time, elapsed, step, epoch;
};

/// Reads lines as rows of a layout. The layout must outlive it.
class CellReader {
 public:
  explicit CellReader(const Layout& layout);

  /// False if the line is not a row: the number of cells differs, or a cell does not fit its column.
  bool read(std::string_view line, TableRow& row);
  /// The amounts of the last row, then its totals.
  const std::vector<CellAmount>& amounts() const { return amounts_; }
  /// True if the last row has an amount or a total.
  bool has_values() const {
    return std::any_of(amounts_.begin(), amounts_.end(), [](const CellAmount& a) { return a.unit > 0; });
  }
  /// How many of them are memory over time.
  std::size_t memory_count() const { return memory_.size(); }
  /// The number of the column of an amount, and the column.
  std::size_t index_of(std::size_t amount) const {
    return amount < memory_.size() ? memory_[amount] : totals_[amount - memory_.size()];
  }
  const TableColumn& column_of(std::size_t amount) const { return columns_[index_of(amount)]; }
  /// True if nothing in a row but its time and its name says which GPU it is about.
  bool by_order() const { return by_order_; }

 private:
  bool split(std::string_view line);
  bool read_cell(std::string_view cell, const TableColumn& column, TableRow& row);
  bool read_amounts(TableRow& row);

  bool has_keys(std::string_view line);

  char separator_;
  bool day_first_;  ///< of dates before their year
  std::vector<TableColumn> columns_;
  std::vector<std::size_t> memory_, totals_, others_;
  std::optional<std::size_t> command_;
  bool by_order_ = false;
  std::string quantity_;  ///< Layout::quantity
  std::size_t quantity_at_;
  ObjectKeys keys_;  ///< of rows that are JSON objects
  std::vector<std::string_view> cells_;
  std::vector<CellAmount> amounts_;
  std::optional<double> day_;
};

}  // namespace oomdoctor
