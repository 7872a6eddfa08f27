// A source in blocks of whole lines, each with the margins that its messages may reach into. Blocks can be mapped in
// any order and on any thread: what is found in them together does not depend on where they end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parse/format_registry.h"
#include "parse/window.h"
#include "text/line_unwrapper.h"

namespace oomdoctor {

/// One block and what is found in it. Its window looks into its text: it stays where it is.
struct Block {
  UnwrappedText text;
  std::size_t begin = 0, end = 0;  ///< of the block proper in the text; the rest are margins
  std::size_t offset = 0;          ///< of the text in the text of the source
  i64 number = 0;                  ///< in their order, from 0
  std::optional<Window> window;
  BlockMatches found;  ///< its lines counted from 1
  i64 line_ends = 0;   ///< in the block proper
};

class BlockReader {
 public:
  static constexpr std::size_t usual_size = 1 << 20;  ///< what a core keeps close at hand, its findings included

  /// `size`: of a block in bytes; a longer line makes a longer block.
  explicit BlockReader(Source& source, std::size_t size = usual_size) : text_(source), size_(size) {}

  /// Reads the next block, without what is found in it; false behind the last. Throws Error when reading fails.
  bool read(Block& block);

  bool at_end() const { return !more_; }
  /// Where a console broke the lines of the source; 0 when it did not.
  std::size_t console_width() const { return text_.width(); }

 private:
  LineUnwrapper text_;
  std::size_t size_;
  bool more_ = true;
  UnwrappedText carried_;   ///< the end of the last block's text: the margin of the next, and what it begins with
  std::size_t begin_ = 0;   ///< of the next block in `carried_`
  std::size_t offset_ = 0;  ///< of `carried_` in the text of the source
  i64 number_ = 0;
};

}  // namespace oomdoctor
