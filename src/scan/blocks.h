// Cuts a source into blocks of whole lines, each with margins for messages that cross its ends. Blocks can be mapped
// in any order and on any thread: all matches together do not depend on the cuts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "read/window.h"
#include "scan/format_registry.h"
#include "text/line_unwrapper.h"

namespace oomdoctor {

/// A block and its matches. `window` points into `text`, so a block must not move.
struct Block {
  UnwrappedText text;
  std::size_t begin = 0, end = 0;  ///< the block itself within the text; the rest are margins
  std::size_t offset = 0;          ///< of the text, in the text of the source
  i64 number = 0;                  ///< index of the block in the source
  std::optional<Window> window;
  BlockMatches found;  ///< line numbers start at 1 in each block
  i64 line_ends = 0;   ///< number of line ends in [begin, end)
};

/// Reads the blocks of one source in order. Not thread-safe.
class BlockReader {
 public:
  static constexpr std::size_t usual_size = 1 << 20;  ///< bytes; block and matches fit into a core's cache

  /// `size` is the block's size in bytes. A longer line makes a longer block.
  explicit BlockReader(Source& source, std::size_t size = usual_size) : text_(source), size_(size) {}

  /// Reads the next block, without its matches. Returns false at the end of the source. Throws Error if reading fails.
  bool read(Block& block);

  bool at_end() const { return !more_; }
  /// The width at which a console broke the lines; 0 if it did not.
  std::size_t console_width() const { return text_.width(); }
  /// The rank that a launcher printed before all lines.
  std::optional<int> rank() const { return text_.rank(); }

 private:
  LineUnwrapper text_;
  std::size_t size_;
  bool more_ = true;
  std::string carried_;                      ///< the end of the last text: left margin and start of the next block
  std::vector<std::size_t> carried_breaks_;  ///< removed line ends in it
  std::vector<LineTag> carried_tags_;        ///< of its lines
  std::size_t begin_ = 0;                    ///< start of the next block in `carried_`
  std::size_t offset_ = 0;                   ///< of `carried_`, in the text of the source
  i64 number_ = 0;
};

}  // namespace oomdoctor
