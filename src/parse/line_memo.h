// Lines of a log repeat each other but for their digits. What readers that take all digits alike found on the first line
// of a shape holds for every other: only the numbers are read anew. This is what makes a log whose every line is a step
// cheap, whatever it costs to understand the first of them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parse/gauge.h"
#include "parse/printed.h"
#include "text/lines.h"
#include "text/pattern.h"

namespace oomdoctor {

struct Reader;

/// What one reader took from a line.
struct Take {
  const Reader* reader = nullptr;
  bool again = false;  ///< the same reader took something of this line before
  std::unique_ptr<Captures> captures;  ///< of a regex, into the shape's text
  std::vector<GaugeValue> values;
  std::unique_ptr<Printed> printed;
};

/// A line with all its digits made '0', and what the lines of this shape hold.
struct Shape {
  std::string text;
  LinePrefix prefix;
  std::vector<Take> takes;
};

/// Bounded: where it is full, lines of new shapes are read as if there was no memo. A shape is kept when it is met for
/// the second time, because a log of prose is made of lines that come once. One thread uses it.
class LineMemo {
 public:
  LineMemo();

  /// The shape of `line`, where it is known; nullptr else. Remembers which line was asked for.
  const Shape* find(std::string_view line);
  /// Whether keep() would keep it.
  bool wanted() const { return wanted_; }
  /// Makes known what the line holds that was last asked for. `text` and `takes[].captures` are set by the memo: of the
  /// captures that are given, which point into `line`, the places count.
  void keep(std::string_view line, Shape shape);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const Shape* shape = nullptr;
  };
  Slot& slot(std::uint64_t hash, std::string_view text);

  std::array<char, 1024> text_{};  ///< of the line asked for, its digits made '0'
  std::size_t size_ = 0;           ///< 0: the line is too long to be known
  std::uint64_t hash_ = 0;
  bool wanted_ = false;
  std::vector<std::uint32_t> met_;  ///< by hash: the rest of the hash of the last line met
  std::vector<Slot> slots_;
  std::deque<Shape> shapes_;
};

}  // namespace oomdoctor
