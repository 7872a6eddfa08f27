// Passes the matches in the blocks of a source to the ResultBuilder, in the order of the input. Removes duplicates,
// and counts the lines that each parser read.
#pragma once

#include <any>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "fold/declared_memory.h"
#include "fold/result_builder.h"
#include "scan/blocks.h"

namespace oomdoctor {

/// One dispatcher serves one source, on one thread at a time.
class EventDispatcher {
 public:
  explicit EventDispatcher(ScanResult& out) : builder_(out), result_(out) {}

  /// The next lines may be rows of this table.
  void open_table(const std::shared_ptr<const OpenTable>& table);
  /// The open table after everything added so far; null if there is none.
  const std::shared_ptr<const OpenTable>& open() const { return open_; }
  /// Emits the matches of a block, starting with match number `from`. They are in the order of their lines, and the
  /// block was mapped with the right open table. Changes line numbers in `findings` from the block's to the file's.
  void add(const Window& window, BlockMatches& findings, std::size_t from = 0);
  /// Call it when all matches of the block are added.
  void end_block(const Block& block);
  /// Concludes what needs the end of the input and adds the notes. Returns the number of lines.
  i64 finish();

 private:
  void emit_rows(const Window& window, const RowRun& run, const BlockMatches& findings);
  void emit(const Window& window, const LineMatch& found, const BlockMatches& findings);
  /// True if the same message was emitted before.
  bool is_duplicate(const LineMatch& found);
  /// True if the same line came so often in a row that reading it again adds nothing.
  bool is_repeated(const LineMatch& found);
  /// Counts a match of `parser`, and its lines as read.
  void claim(std::string_view parser, i64 first, i64 last);

  ResultBuilder builder_;
  ScanResult& result_;
  i64 lines_ = 0;  ///< number of line ends in the blocks so far
  /// The last block ended with a line end.
  bool ended_ = true;
  std::shared_ptr<const OpenTable> open_;
  std::any row_memory_;  ///< state of the table's rows, since the table was opened
  /// Last line counted as read by any parser.
  i64 claimed_ = 0;
  /// Counters in the coverage, by the place of a parser's name in memory: lines of several parsers take turns.
  std::array<std::pair<std::string_view, i64*>, 64> counts_{};
  i64* count_ = nullptr;  ///< of the last claim()
  DeclaredMemory declared_;
  std::set<std::tuple<i64, std::size_t, std::size_t>>
      emitted_;  ///< emitted messages near the current line: line, format, hash of the text
  struct Repeats {
    std::string text;
    std::size_t times = 0;
    i64 since = 0;  ///< valid while it equals new_since_
  };
  /// By pattern: texts repeated since anything new was emitted.
  std::map<const CompiledFormat*, Repeats> repeats_;
  i64 new_since_ = 1;  ///< counts whenever anything new is emitted
  /// Lines skipped by is_repeated().
  i64 not_read_again_ = 0;
  WalkBudget walks_;
  std::optional<std::string> first_line_;  ///< its beginning, for Cursor::first_line()
  struct GivenUp {
    i64 lines = 0;
    i64 first = 0;
  };
  std::map<std::string_view, GivenUp> given_up_;  ///< by name: users' formats whose regex took too many steps
  std::vector<LineRef> rows_;                     ///< buffer of the current add(); reused to save allocations
};

}  // namespace oomdoctor
