// Passes what the blocks of a source contain to the ResultBuilder, in the order of the input.
#pragma once

#include <any>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "parse/blocks.h"
#include "parse/declared_memory.h"
#include "parse/result_builder.h"

namespace oomdoctor {

class EventDispatcher {
 public:
  explicit EventDispatcher(ScanResult& out) : builder_(out), result_(out) {}

  /// From here on lines may be rows of this table.
  void open_table(const std::shared_ptr<const OpenTable>& table);
  /// The table that is open behind all that was added; null when there is none.
  const std::shared_ptr<const OpenTable>& open() const { return open_; }
  /// What was found in a block, from the finding number `from` on. Findings come in the order of their lines, each
  /// mapped with the table that is open in front of it.
  void add(const Window& window, BlockMatches& findings, std::size_t from = 0);
  /// All of the block was added.
  void end_block(const Block& block);
  /// Concludes what needs the end of the input. Returns how many lines there were.
  i64 finish();

 private:
  void emit_rows(const Window& window, const RowRun& run, const BlockMatches& findings);
  void emit(const Window& window, const LineMatch& found, const BlockMatches& findings);
  bool is_duplicate(const LineMatch& found);
  bool is_repeated(const LineMatch& found);
  void claim(std::string_view parser, i64 first, i64 last);

  ResultBuilder builder_;
  ScanResult& result_;
  i64 lines_ = 0;  ///< that ended so far
  bool ended_ = true;
  std::shared_ptr<const OpenTable> open_;
  std::any row_memory_;  ///< of the rows emitted since it was opened
  i64 claimed_ = 0;
  std::string_view counted_;  ///< the parser claimed for last
  i64* count_ = nullptr;      ///< its lines
  DeclaredMemory declared_;
  std::set<std::tuple<i64, std::size_t, std::size_t>> emitted_;  ///< messages: line, format, text
  struct Repeats {
    std::string text;
    std::size_t times = 0;
  };
  std::map<const CompiledFormat*, Repeats> repeats_;  ///< of the patterns that emitted something since any other did
  i64 not_read_again_ = 0;
  WalkBudget walks_;
  struct GivenUp {
    i64 lines = 0;
    i64 first = 0;
  };
  std::map<std::string_view, GivenUp> given_up_;  ///< by name: users' formats whose regex was too costly
  std::vector<LineRef> rows_;                     ///< of what is being added; kept for what comes next
};

}  // namespace oomdoctor
