#include "read/transposed_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "read/line_format.h"
#include "read/table_cells.h"
#include "read/table_columns.h"

namespace oomdoctor {

TransposedReader::TransposedReader(const Layout& layout) : layout_(layout) {
  for (const std::string& column : layout.columns) {
    const auto time = read_cell_time(column);
    if (time) times_.push_back(*time);
    if (time || !times_.empty()) continue;
    ++names_;
    percent_ |= column.find('%') != column.npos;
  }
}

bool TransposedReader::read(std::string_view line) {
  readings_.clear();
  split_table_line(line, layout_.separator, cells_, max_transposed_columns);
  if (cells_.size() != names_ + times_.size() || names_ == 0) return false;
  const std::string name = std::string(trimmed_cell(cells_[0])) + (percent_ ? " (%)" : "");
  const std::vector<std::string> names{"time", name};
  const TableColumn column = read_columns(names, {})[1];
  if (column.role != ColumnRole::amount || column.unit == 0) return true;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const std::string_view cell = trimmed_cell(cells_[names_ + i]);
    std::size_t at = 0;
    const auto number = read_number(cell, at);
    if (!number || at != cell.size()) continue;
    Reading reading = column.reading;
    reading.value = number->value * column.unit;
    reading.quantum = std::max(column.share ? 0.0 : 1.0, column.unit / std::pow(10.0, number->decimals));
    readings_.emplace_back(std::move(reading), times_[i]);
  }
  return true;
}

namespace {

class TransposedRows final : public Rows {
 public:
  explicit TransposedRows(const Layout& layout) : reader_(layout) {}

  bool read(std::string_view line, RowsRead wanted) override {
    if (!reader_.read(line) || (wanted == RowsRead::with_values && reader_.readings().empty())) return false;
    rows_.push_back(reader_.readings());
    return true;
  }
  void emit(std::size_t i, std::any&, EventSink& sink) override {
    for (const auto& [reading, time] : rows_[i]) sink.reading(reading, {}, time);
  }

 private:
  TransposedReader reader_;
  std::vector<std::vector<std::pair<Reading, double>>> rows_;
};

}  // namespace

std::unique_ptr<Rows> transposed_rows(const Layout& layout) { return std::make_unique<TransposedRows>(layout); }

}  // namespace oomdoctor
