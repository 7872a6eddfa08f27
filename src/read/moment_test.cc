#include "read/moment_test.h"

namespace oomdoctor {

MomentTest::MomentTest(std::span<const TableColumn> columns) {
  for (const TableColumn& column : columns) {
    counted_ |= column.role == ColumnRole::step || column.role == ColumnRole::epoch;
    named_ |= column.role >= ColumnRole::index && column.role <= ColumnRole::group;
    of_cards_ |= column.role == ColumnRole::amount && column.of_driver();
  }
}

void MomentTest::add(const TableRow& row) {
  if (row.time && !row.elapsed) {
    if (last_moment_ && *row.time < *last_moment_) ++back_;
    if (last_moment_ && *row.time > *last_moment_) ++forth_;
    last_moment_ = row.time;
  }
  if (counted_ || !row.time || (named_ && differs(row.subject))) return;
  ++rows_;
  if (!first_) first_ = row.time;
  if (!named_ && last_ && *row.time < *last_ && row.elapsed) {
    ++falls_;
    if (*row.time == *first_) ++restarts_;
  }
  if (last_ && *row.time == *last_) ++repeated_;
  last_ = row.time;
}

std::string_view MomentTest::fault() const {
  constexpr std::size_t least_falls = 3, rows_of_a_fall = 10, least_rows = 8;
  if (back_ >= least_falls && forth_ == 0)
    return "the table begins with its newest row: oomdoctor reads none of it. Sort its rows by time, the oldest "
           "first";
  // Where they always fall to the same value, the table has the rows of several runs.
  if (falls_ >= least_falls && falls_ * rows_of_a_fall >= rows_ && restarts_ < falls_)
    return "the seconds of the table fall again and again: its rows do not show memory over time";
  if (!of_cards_ && !differs_ && rows_ >= least_rows && repeated_ + 1 == rows_)
    return "all rows of the table have the same time: they do not show memory over time";
  return {};
}

bool MomentTest::differs(const RowSubject& subject) {
  std::string text(subject.group);
  text.append(1, ' ').append(subject.subgroup).append(1, ' ').append(subject.other());
  text.append(std::to_string(subject.index.value_or(-1))).append(std::to_string(subject.pid.value_or(-1)));
  if (subject_.empty()) subject_ = text;
  differs_ |= text != subject_;
  return differs_;
}

}  // namespace oomdoctor
