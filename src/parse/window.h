// The bounded piece of a stream that a parser may look at: the cleaned line of a hit, its neighbours of the same rank,
// and the message around it with all blanks removed, which makes a console's wrapping invisible.
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
#include "text/lines.h"

namespace oomdoctor {

/// A cleaned line. `body()` is what was said, without the tags in front. A view: it lives as long as its window.
struct Line {
  i64 number = 0;                  ///< of the file, counted from 1
  i64 last = 0;                    ///< greater than `number` where a console broke it
  std::size_t begin = 0, end = 0;  ///< raw bytes in the window's buffer, without the line end
  std::string_view text;
  LinePrefix prefix;

  std::string_view body() const { return text.substr(prefix.length); }
};

/// Several lines joined without blanks; `line_at` finds the way back.
struct Joined {
  std::string text;
  struct Start {
    std::size_t at = 0;     ///< in `text`
    std::size_t begin = 0;  ///< of the line, in the window's buffer
    i64 number = 0;         ///< of the line
  };
  std::vector<Start> starts;

  /// The line that holds place `offset` of `text`; there is one.
  const Start& line_at(std::size_t offset) const;
};

/// A view of the buffer around the region that is being scanned. Lines longer than max_line are seen as the piece
/// around the place asked for. One thread at a time may use it: it keeps the lines that had to be cleaned.
class Window {
 public:
  static constexpr std::size_t max_line = 4096;
  /// Headers and rows of tables are cut at commas, not searched, and may be longer: nvidia-smi has 200 columns.
  static constexpr std::size_t max_row = 32768;
  /// A line much longer than these ends at every multiple of them in the text, so that a file without line ends can be
  /// read in blocks: at which places does not depend on where blocks begin.
  static constexpr std::size_t long_line = 64 << 10;

  /// `removed_breaks`: offsets in the buffer where a line end of the file was taken out, ascending. `offset`: of the buffer in
  /// the text of its source.
  explicit Window(std::string_view buffer, std::span<const std::size_t> removed_breaks = {}, std::size_t offset = 0)
      : buffer_(buffer), removed_breaks_(removed_breaks), offset_(offset) {}
  Window(Window&&) = default;

  std::string_view buffer() const { return buffer_; }
  /// Nothing near `at` in its line belongs to a colour or a hole, of which a line is cleaned before it is read.
  bool clean_around(std::size_t at) const;
  /// How many lines of the file end in these bytes: '\n', and those that were taken out.
  i64 line_ends(std::size_t begin, std::size_t end) const;
  /// The raw line that holds `at`, without its end.
  std::pair<std::size_t, std::size_t> bounds_around(std::size_t at, std::size_t most = max_line) const;
  /// Where the line that holds `at` ends: in front of its end, or where it is taken to end.
  std::size_t end_of_line(std::size_t at) const;
  /// The number of what begins at `begin`, behind a line of this number: one more where '\n' parts them.
  i64 number_behind(std::size_t begin, i64 number) const;
  /// Where the line behind the one that ends at `end` begins; `end` where a long line goes on.
  std::size_t begin_behind(std::size_t end) const;
  /// The same as a line whose prefix nobody has peeled yet; `number` is that of the file's line at `at`.
  Line unpeeled(std::pair<std::size_t, std::size_t> bounds, std::size_t at, i64 number) const;
  /// The line that holds `offset`; `number` is that of the file's line at `offset`, as the caller counted.
  Line line_around(std::size_t offset, i64 number, std::size_t most = max_line) const;
  std::optional<Line> next(const Line& line) const;
  std::optional<Line> previous(const Line& line) const;

  /// Where the block that begins at `begin` may end, `end` at most: behind a line end, else where a long line is taken
  /// to end. "\r\n" is never cut. The margin behind `end` must be there, except at the end of the text. nullopt where
  /// the block is too short to tell: twice long_line is always enough.
  std::optional<std::size_t> cut(std::size_t begin, std::size_t end) const;
  /// Bytes that must be readable on either side of a block for its lines to be seen whole.
  static constexpr std::size_t margin = 64 << 10;

 private:
  i64 removed_breaks(std::size_t begin, std::size_t end) const;
  /// True where the line around `at` is so long that it ends there. No line end is near, whatever block is read.
  bool ends_long_line(std::size_t at) const;
  /// The first multiple of long_line in the text at or behind `at`, as an offset in the buffer.
  std::size_t next_long_end(std::size_t at) const { return at + (long_line - (offset_ + at) % long_line) % long_line; }

  const LineIndex& lines() const;

  std::string_view buffer_;
  std::span<const std::size_t> removed_breaks_;
  std::size_t offset_;
  mutable std::optional<LineIndex> lines_;  ///< made by the first question
  mutable std::deque<std::string> cleaned_;
};

/// How many neighbours the messages of an input may look at, all together. A few lines around each are always seen; who
/// prints one message a million times does not get a million looks at hundreds of lines.
class WalkBudget {
 public:
  static constexpr int always = 16;                             ///< lines around any message
  static constexpr i64 at_first = 200'000, for_each_line = 40;  ///< more than logs need, a second or two of work

  /// The next walks are those of a message at this line of the input.
  void reach(i64 line) { allowed_ = at_first + for_each_line * line; }
  /// How many of these lines may be walked over.
  int granted(int most) {
    if (most <= always || walked_ < allowed_) return most;
    ++cut_short_;
    return always;
  }
  void spend(int lines) { walked_ += lines; }
  i64 cut_short() const { return cut_short_; }

 private:
  i64 walked_ = 0, allowed_ = at_first, cut_short_ = 0;
};

/// Walks from a line over its neighbours in the same stream: lines with another rank's tag are passed over.
class Cursor {
 public:
  /// `budget`: of the input, shared by its messages; null for no limit but that of each walk.
  Cursor(const Window& window, const Line& line, WalkBudget* budget = nullptr)
      : window_(&window), line_(&line), budget_(budget) {}

  const Line& line() const { return *line_; }
  /// Up to `most` lines behind (forward) or before the hit, nearest first, until `visit` returns false.
  void forward(int most, const std::function<bool(const Line&)>& visit) const;
  void backward(int most, const std::function<bool(const Line&)>& visit) const;
  /// The lines from `back` before to `ahead` behind the hit, joined without blanks; an empty line ends it on either
  /// side.
  Joined joined(int back, int ahead) const;

 private:
  using Step = std::optional<Line> (Window::*)(const Line&) const;
  void walk(Step step, int most, const std::function<bool(const Line&)>& visit) const;
  bool same_stream(const Line& other) const;

  const Window* window_;
  const Line* line_;
  WalkBudget* budget_;
};

}  // namespace oomdoctor
