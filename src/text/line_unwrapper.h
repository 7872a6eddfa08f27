// The lines of a source as the program printed them. A terminal copy, a CI page or `fold` breaks lines at a column, in
// the middle of words and numbers; a log collector puts a time or a name before each. Later stages see the original
// lines.
//
// Line numbers stay those of the file: `removed_breaks` has the positions of the removed line ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/collector_form.h"
#include "text/source.h"
#include "text/text_buffer.h"

namespace oomdoctor {

/// How a console broke lines.
struct ConsoleForm {
  std::size_t width = 0;  ///< columns; 0: no line was broken
  bool padded = false;    ///< its rows were filled with blanks, as a capture of a terminal does
};

/// One full line alone is no proof that lines were broken: the next line must read like its continuation.
ConsoleForm find_console_form(std::string_view head);

/// What a collector printed before a line.
struct LineTag {
  std::size_t begin = 0;  ///< of the line
  std::optional<double> time;
  std::optional<i64> pid;
};

/// Text, the ascending positions in it where a line end was removed, and the tags of its lines.
struct UnwrappedText {
  TextBuffer bytes;
  std::vector<std::size_t> removed_breaks;
  std::vector<LineTag> tags;
};

/// Reads a source and restores its lines. Keeps a reference to the source. Not thread-safe.
class LineUnwrapper {
 public:
  /// Bytes that the first read takes, if there are as many: enough to see whether lines were broken.
  static constexpr std::size_t head_bytes = std::size_t{1} << 18;

  explicit LineUnwrapper(Source& source) : source_(&source) {}

  /// Appends about `wanted` bytes; false at the end. Throws Error if reading fails.
  bool read(UnwrappedText& out, std::size_t wanted);
  /// The console width; 0 if no lines were broken. Known after the first read.
  std::size_t width() const { return console_.width; }
  /// The rank that a launcher printed before all lines; nullopt if there is none. Known after the first read.
  std::optional<int> rank() const { return collector_ ? collector_->rank() : std::nullopt; }

 private:
  bool begin(UnwrappedText& out);
  void unfold(UnwrappedText& out, bool at_end);
  void take(UnwrappedText& out, std::string_view line, std::string_view end);
  void peel(UnwrappedText& out, bool at_end);

  Source* source_;
  ConsoleForm console_;
  std::optional<CollectorForm> collector_;
  bool begun_ = false;
  // Used only if lines were broken or have a collector's prefix: the text that is read but not yet passed on.
  TextBuffer piece_;
  std::string waiting_;
  bool in_line_ = false;  ///< the beginning of a long line was passed on
  // Used only if lines were broken: the last line passed on.
  std::string held_end_;
  std::string last_line_;
  bool last_full_ = false;
};

}  // namespace oomdoctor
