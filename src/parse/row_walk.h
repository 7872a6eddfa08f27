// The lines of a block one after the other, each read as a row of the table that is open.
#pragma once

#include <utility>

#include "parse/format_registry.h"

namespace oomdoctor {

/// It stands at a line, or at the end of the block.
class RowWalk {
 public:
  /// Over the lines that begin in [begin, end); the rows go to `out`.
  RowWalk(const Window& window, std::size_t begin, std::size_t end, BlockMatches& out);

  /// The lines from here on may be rows of this table.
  void open(const OpenTable& table);
  bool is_open() const { return rows_ != nullptr; }

  /// Goes to this line, without reading those in between.
  void go_to(const Line& line) { stand_at(line.begin, line.number); }
  /// Reads the lines that end at `place` or before it.
  void read_to(std::size_t place);
  const Line& line() const { return line_; }
  /// Where the line begins and ends, however long it is.
  std::size_t begin() const { return at_; }
  std::size_t end() const { return stop_; }
  /// Reads the line; false when it is no row.
  bool read();
  /// Goes to the next line.
  void pass();

 private:
  void stand_at(std::size_t at, i64 number);
  void begin_run();

  const Window& window_;
  std::size_t end_;
  BlockMatches& out_;
  const Table* table_ = nullptr;
  Rows* rows_ = nullptr;
  RowRun* run_ = nullptr;
  std::size_t read_ = 0;  ///< rows of the table so far
  Line line_;
  std::size_t at_ = 0, stop_ = 0;
};

}  // namespace oomdoctor
