// The text of a source, with the lines that a console broke at its width put together again. A terminal copy, a CI page
// or `fold` cuts where the column ends, in the middle of words and numbers; nothing behind this sees the cuts.
//
// Line numbers stay those of the file: `removed_breaks` says where a line end was taken out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/source.h"

namespace oomdoctor {

/// The width that these lines were broken at; 0 when they were not. One full line proves nothing by itself: what
/// follows must read as the rest of it.
std::size_t console_width(std::string_view head);

/// Text and the places in it where a line end of the file was taken out, ascending.
struct UnwrappedText {
  std::string bytes;
  std::vector<std::size_t> removed_breaks;
};

class LineUnwrapper {
 public:
  explicit LineUnwrapper(Source& source) : source_(&source) {}

  /// Appends about `wanted` bytes; false at the end. Throws Error when reading fails.
  bool read(UnwrappedText& out, std::size_t wanted);
  /// Where the console broke lines; 0 when it did not. Known from the first read on.
  std::size_t width() const { return width_; }

 private:
  bool begin(UnwrappedText& out);
  void unfold(UnwrappedText& out, bool at_end);
  void take(UnwrappedText& out, std::string_view line, std::string_view end);

  Source* source_;
  std::size_t width_ = 0;
  bool begun_ = false;
  // Only where lines were broken: what is read and not yet told, and the last line told.
  std::string waiting_;
  std::string held_end_;
  std::string last_line_;
  bool last_full_ = false;
};

}  // namespace oomdoctor
