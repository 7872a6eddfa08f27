// The part of a stream that a parser may read: the cleaned line, its neighbours of the same rank, and the message
// around it without blanks. Without blanks, a console's line wrapping is invisible.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "text/line_index.h"
#include "text/line_unwrapper.h"
#include "text/lines.h"

namespace oomdoctor {

/// A cleaned line. `body()` is the message without the tags in front. A view, valid as long as its window.
struct Line {
  i64 number = 0;                  ///< in the file, counted from 1
  i64 last = 0;                    ///< number of its last line; greater than `number` if a console broke it
  std::size_t begin = 0, end = 0;  ///< raw bytes in the window's buffer, without the line end
  std::string_view text;
  LinePrefix prefix;

  std::string_view body() const { return text.substr(prefix.length); }
};

/// Several lines joined without blanks. line_at() maps an offset back to its line.
struct Joined {
  std::string text;
  struct Start {
    std::size_t at = 0;     ///< offset in `text`
    std::size_t begin = 0;  ///< offset of the line in the window's buffer
    i64 number = 0;         ///< number of the line
  };
  std::vector<Start> starts;

  /// The line that contains `offset` of `text`. `starts` must not be empty.
  const Start& line_at(std::size_t offset) const;
};

/// A view of the buffer of a block and its margins. Of a line longer than max_line, it shows the part around the
/// requested offset. Not thread-safe: it stores cleaned lines.
class Window {
 public:
  /// Bytes.
  static constexpr std::size_t max_line = 4096;
  /// Rows of tables may be longer, because they are split at commas, not searched: nvidia-smi has 200 columns.
  static constexpr std::size_t max_row = 32768;
  /// A line much longer than this is cut at every multiple of it in the text, so that a file without line ends can be
  /// read in blocks. The cuts do not depend on the blocks.
  static constexpr std::size_t long_line = 64 << 10;

  /// `removed_breaks`: ascending offsets in the buffer at which a line end of the file was removed. `offset`: position
  /// of the buffer in the text of its source. `tags`: what a log collector printed before the lines.
  explicit Window(std::string_view buffer, std::span<const std::size_t> removed_breaks = {}, std::size_t offset = 0,
                  std::span<const LineTag> tags = {})
      : buffer_(buffer), removed_breaks_(removed_breaks), offset_(offset), tags_(tags) {}
  Window(Window&&) = default;

  std::string_view buffer() const { return buffer_; }
  /// Gives a line without a time or a pid those that a log collector printed before it.
  void add_tag(Line& line) const;
  /// True if no line of the buffer needs cleaning.
  bool clean() const { return lines().clean(); }
  /// True if this line of the window needed no cleaning.
  bool is_raw(const Line& line) const { return line.text.data() == buffer_.data() + line.begin; }
  /// True if no escape sequence and no NUL is near `at` in its line.
  bool clean_around(std::size_t at) const;
  /// The number of line ends of the file in this range: '\n', and removed ones.
  i64 line_ends(std::size_t begin, std::size_t end) const;
  /// The raw line that contains `at`, without its end, cut to `most` bytes around `at`.
  std::pair<std::size_t, std::size_t> bounds_around(std::size_t at, std::size_t most = max_line) const;
  /// The end of the line that contains `at`, before its line end, or the cut of a long line.
  std::size_t end_of_line(std::size_t at) const;
  /// The line number at `begin`, if the text before it has this number: one more after a '\n'.
  i64 number_after(std::size_t begin, i64 number) const;
  /// The start of the line after the one that ends at `end`; `end` itself if a long line continues there.
  std::size_t begin_after(std::size_t end) const;
  /// A line without its prefix peeled off. `number` is the line number of the file at `at`.
  Line line_without_prefix(std::pair<std::size_t, std::size_t> bounds, std::size_t at, i64 number) const;
  /// The line that contains `offset`. `number` is the line number of the file at `offset`.
  Line line_around(std::size_t offset, i64 number, std::size_t most = max_line) const;
  /// The neighbouring line; nullopt at the ends of the buffer and at the cut of a long line.
  std::optional<Line> next(const Line& line) const;
  std::optional<Line> previous(const Line& line) const;
  /// The same without its prefix peeled off.
  std::optional<Line> next_without_prefix(const Line& line) const;
  std::optional<Line> previous_without_prefix(const Line& line) const;

  /// The largest end in (begin, end] at which the block from `begin` may end: after a line end, else at the cut of a
  /// long line. Never within "\r\n". The margin after `end` must be in the buffer, except at the end of the text.
  /// nullopt if the block is too short to decide; twice long_line is always enough.
  std::optional<std::size_t> cut(std::size_t begin, std::size_t end) const;
  /// Bytes needed on both sides of a block to see its lines whole.
  static constexpr std::size_t margin = 64 << 10;

 private:
  i64 removed_breaks(std::size_t begin, std::size_t end) const;
  /// True if the line around `at` is so long that it is cut there. Does not depend on the block: it looks at nearby
  /// bytes only.
  bool ends_long_line(std::size_t at) const;
  /// The first multiple of long_line in the text at or after `at`, as an offset in the buffer.
  std::size_t next_long_end(std::size_t at) const { return at + (long_line - (offset_ + at) % long_line) % long_line; }

  const LineIndex& lines() const { return lines_ ? *lines_ : make_lines(); }
  const LineIndex& make_lines() const;

  std::string_view buffer_;
  std::span<const std::size_t> removed_breaks_;
  std::size_t offset_;
  std::span<const LineTag> tags_;
  mutable std::optional<LineIndex> lines_;  ///< made on first use
  mutable std::deque<std::string> cleaned_;
};

/// Limits the number of neighbours that all messages of an input may read together. A few lines around each message
/// are always readable. So a message printed a million times does not cost a million walks over hundreds of lines.
class WalkBudget {
 public:
  static constexpr int always = 16;                             ///< lines around any message
  static constexpr i64 at_first = 200'000, for_each_line = 40;  ///< more than real logs need, a second or two of work

  /// Raises the limit to that of this line of the input.
  void reach(i64 line) { allowed_ = at_first + for_each_line * line; }
  /// How many of these lines may be read now.
  int granted(int most) {
    if (most <= always || walked_ < allowed_) return most;
    ++cut_short_;
    return always;
  }
  void spend(int lines) { walked_ += lines; }
  i64 cut_short() const { return cut_short_; }
  /// Walks that the limit shortened.

 private:
  i64 walked_ = 0, allowed_ = at_first, cut_short_ = 0;
};

/// Walks from a line over its neighbours in the same stream. Skips lines with the tag of another rank or process.
class Cursor {
 public:
  /// `budget` is shared by all messages of the input; null for no limit beyond that of each walk. `first_line` is the
  /// raw beginning of the input's first line.
  Cursor(const Window& window, const Line& line, WalkBudget* budget = nullptr, std::string_view first_line = {})
      : window_(&window), line_(&line), budget_(budget), first_line_(first_line) {}

  const Line& line() const { return *line_; }
  /// The beginning of the first line of the input, however far away it is.
  std::string_view first_line() const { return first_line_; }
  /// Visits up to `most` lines after (before) the current line, nearest first, until `visit` returns false. Reads
  /// at most 8 times `most` lines in all.
  void forward(int most, const std::function<bool(const Line&)>& visit) const;
  void backward(int most, const std::function<bool(const Line&)>& visit) const;
  /// forward() without skipping: the lines of all ranks and processes.
  void forward_all(int most, const std::function<bool(const Line&)>& visit) const;
  /// backward() for visitors that need the texts only. If the current line has no tag of a rank or process, no tags are
  /// read: that takes most of the time of a walk.
  void backward_texts(int most, const std::function<bool(std::string_view)>& visit) const;
  /// The bytes around the current line, of all streams, as far as every block has them.
  std::string_view surroundings() const;
  /// Those below it.
  std::string_view surroundings_below() const;
  /// The current line with up to `back` lines before and `ahead` lines after it, joined without blanks. An empty line
  /// ends it on either side.
  Joined joined(int back, int ahead) const;

 private:
  using LineStep = std::optional<Line> (Window::*)(const Line&) const;
  void walk(LineStep step, int most, const std::function<bool(const Line&)>& visit) const;
  bool is_within_reach(const Line& other) const;
  bool same_stream(const Line& other) const;

  const Window* window_;
  const Line* line_;
  WalkBudget* budget_;
  std::string_view first_line_;
};

}  // namespace oomdoctor
