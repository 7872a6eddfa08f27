// Walks over the lines of a block and reads each as a row of the open table.
#pragma once

#include <utility>

#include "scan/format_registry.h"

namespace oomdoctor {

/// The walk is at a line, or at the end of the block. It is valid as long as window and `out`.
class RowWalk {
 public:
  /// Walks over the lines that begin in [begin, end). Appends the rows to `out`.
  RowWalk(const Window& window, std::size_t begin, std::size_t end, BlockMatches& out);

  /// From here on, lines may be rows of this table.
  void open(const OpenTable& table);
  bool is_open() const { return rows_ != nullptr; }

  /// Goes to this line, without reading the lines before it.
  void go_to(const Line& line) { stand_at(line.begin, line.number); }
  /// Reads all lines that end at or before `place`.
  void read_to(std::size_t place);
  /// Reads the lines that end at or before `place`, and all rows with values that follow. Returns the begin of the
  /// first line after them. A line that is cut may hold more than its row, so it is none of them.
  std::size_t read_all(std::size_t place);
  /// The current line, cut to Window::max_row bytes.
  const Line& line() const { return line_; }
  /// Begin and end of the line in the buffer, uncut.
  std::size_t begin() const { return at_; }
  std::size_t end() const { return stop_; }
  /// Reads the current line as a row; false if it is none.
  bool read(RowsRead wanted = RowsRead::all);
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
  std::size_t read_ = 0;  ///< rows of the open table so far
  Line line_;
  std::size_t at_ = 0, stop_ = 0;
};

}  // namespace oomdoctor
