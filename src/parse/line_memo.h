// Lines of a log repeat each other but for their digits. What readers that take all digits alike found on the first
// line of a shape holds for every other: only the numbers are read anew. This is what makes a log whose every line is a
// step cheap, whatever it costs to understand the first of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "parse/gauge.h"
#include "parse/printed.h"
#include "text/digit_free.h"
#include "text/lines.h"
#include "text/pattern.h"

namespace oomdoctor {

struct Reader;

/// Where in a line a group of a regex matched.
struct Part {
  std::uint32_t at = 0, size = 0;
  bool matched = false;
};
using Parts = std::vector<Part>;  ///< the whole match first

/// What one reader took from a line.
struct Take {
  const Reader* reader = nullptr;
  bool again = false;              ///< the same reader took something of this line before
  Parts parts;                     ///< of a regex
  std::vector<GaugeValue> values;  ///< of a gauge, or of a pattern that reads the line as people print it
  std::unique_ptr<Printed> printed;
};

/// What the lines hold that differ in their digits alone.
struct LineShape {
  LinePrefix prefix;
  std::vector<Take> takes;
};

/// Bounded: where it is full, lines of new shapes are read as if there was no memo. A shape is kept when it is met for
/// the second time, because a log of prose is made of lines that come once. One thread uses it.
class LineMemo {
 public:
  /// The shape of `line`, where it is known; nullptr else. Remembers which line was asked for.
  const LineShape* find(std::string_view line);
  /// Whether keep() would keep it.
  bool wanted() const { return wanted_; }
  /// Makes known what the line holds that was last asked for.
  void keep(LineShape shape);

 private:
  struct Slot {
    LineHash hash;
    const LineShape* shape = nullptr;
  };
  Slot& slot(const LineHash& hash);

  LineHash hash_;  ///< of the line asked for
  bool wanted_ = false;
  std::vector<std::uint64_t> met_;  ///< by hash: the rest of the hash of the last line met
  std::vector<Slot> slots_;         ///< made when the first line is asked for
  std::deque<LineShape> shapes_;
};

}  // namespace oomdoctor
