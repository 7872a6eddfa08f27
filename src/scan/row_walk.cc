#include "scan/row_walk.h"

#include <algorithm>

namespace oomdoctor {

RowWalk::RowWalk(const Window& window, std::size_t begin, std::size_t end, BlockMatches& out)
    : window_(window), end_(end), out_(out) {
  stand_at(begin, 1);
}

void RowWalk::open(const OpenTable& table) {
  table_ = table.table;
  rows_ = out_.rows.emplace_back(table_->rows(table.layout)).get();
  read_ = 0;
  run_ = nullptr;
}

void RowWalk::stand_at(std::size_t at, i64 number) {
  at_ = at;
  if (at >= end_) return;
  const auto bounds = window_.bounds_around(at, Window::max_row);
  line_ = window_.line_without_prefix(bounds, at, number);
  stop_ = std::min(window_.end_of_line(bounds.second), end_);
}

void RowWalk::read_to(std::size_t place) {
  while (at_ < end_ && stop_ <= place) {
    read();
    pass();
  }
}

std::size_t RowWalk::read_all(std::size_t place) {
  read_to(place);
  while (at_ < end_ && stop_ - at_ < Window::max_row && read(RowsRead::with_values)) pass();
  return std::min(at_, end_);
}

bool RowWalk::read(RowsRead wanted) {
  if (!rows_->read(line_.text, wanted)) return false;
  if (run_ == nullptr || out_.all.back().rows != run_) begin_run();
  out_.places.push_back({line_.begin, line_.end, line_.number, line_.last, line_.text});
  run_->places_end = out_.places.size();
  ++read_;
  return true;
}

void RowWalk::pass() {
  const std::size_t next = window_.begin_after(stop_);
  stand_at(next, next > stop_ ? window_.number_after(next, line_.last) : line_.last);  // a long line may continue
}

void RowWalk::begin_run() {
  run_ = &out_.row_runs.emplace_back(RowRun{table_, rows_, read_, out_.places.size()});
  LineMatch& found = out_.all.emplace_back();
  found.rows = run_;
  found.reader = table_->name;
  found.line = line_;
  found.first_line = line_.number;
  found.last_line = line_.last;
}

}  // namespace oomdoctor
