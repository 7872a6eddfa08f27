// What the blocks of a source hold is told to the CaseBuilder in the order of the input, rows of tables included: they
// mean something only behind their header.
#pragma once

#include <deque>
#include <set>
#include <string_view>
#include <tuple>

#include "parse/blocks.h"
#include "parse/case_builder.h"
#include "parse/declared_memory.h"

namespace oomdoctor {

class Fold {
 public:
  Fold(const ReaderTable& readers, Case& out) : readers_(readers), builder_(out), case_(out) {}

  /// Blocks come in their order.
  void add(Block& block);
  /// Concludes what needs the end of the input. Returns how many lines there were.
  i64 finish();

 private:
  void sniff(const Window& window);
  void open_table(const Table& table, Layout layout);
  void tell_rows(const Block& block);
  bool tell_row(const Window& window, const Line& line);
  void tell(const Window& window, const Found& found, const Findings& findings);
  bool told_before(const Found& found);
  void claim(std::string_view parser, i64 first, i64 last);

  const ReaderTable& readers_;
  CaseBuilder builder_;
  Case& case_;
  i64 lines_ = 0;  ///< that ended so far
  bool ended_ = true;
  const Table* table_ = nullptr;
  Layout layout_;
  i64 claimed_ = 0;
  std::string_view counted_;  ///< the parser claimed for last
  i64* count_ = nullptr;      ///< its lines
  DeclaredMemory declared_;
  std::set<std::tuple<i64, std::size_t, std::size_t>> told_;  ///< messages: line, reader, text
  std::deque<Mention> rows_;                                  ///< of this block
};

}  // namespace oomdoctor
