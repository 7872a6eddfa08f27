// Lines of a log repeat each other but for their numbers. What readers that take all numbers alike found on the first
// line of a shape holds for every other: only the numbers are read anew. This is what makes a log whose every line is a
// step cheap, whatever it costs to understand the first of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "parse/printed.h"
#include "text/digit_runs.h"
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

/// One number that a reader takes.
struct TakenNumber {
  std::uint32_t number = 0;  ///< which of the reader's
  FormPlace place;
};

/// What one reader took from a line.
struct Take {
  const Reader* reader = nullptr;
  bool again = false;                ///< the same reader took something of this line before
  Parts parts;                       ///< of a regex
  std::vector<TakenNumber> numbers;  ///< of a gauge, or of a pattern that reads the line as people print it
  std::unique_ptr<Printed> printed;
};

/// What the lines hold that differ in their numbers alone.
struct LineShape {
  LinePrefix prefix;
  std::vector<Take> takes;
};

/// Whether the lengths of the free numbers of a line (see DigitRuns) mean something to what was found on it.
enum class Lengths { alike, differ };

/// Bounded: where it is full, lines of new shapes are read as if there was no memo. A shape is kept when it is met for
/// the second time, because a log of prose is made of lines that come once. One thread uses it.
class LineMemo {
 public:
  /// The shape of `line`, where it is known; nullptr else. Remembers which line was asked for: it must stay.
  const LineShape* find(std::string_view line);
  /// Of the line asked for.
  const DigitRuns& runs() const { return runs_; }
  /// Whether keep() would keep it.
  bool wanted() const { return wanted_; }
  /// Makes known what the line holds that was last asked for.
  void keep(LineShape shape, Lengths lengths);

 private:
  struct Slot {
    LineHash hash;
    const LineShape* shape = nullptr;
    bool by_length = false;  ///< the lines of this form have shapes of their own for all lengths of their numbers
  };
  Slot& slot(const LineHash& hash);
  LineHash hash_by_length() const;

  std::string_view line_;  ///< asked for
  DigitRuns runs_;
  LineHash hash_;
  bool wanted_ = false;
  std::vector<std::uint64_t> met_;  ///< by hash: the rest of the hash of the last line met
  std::vector<Slot> slots_;         ///< made when the first line is asked for
  std::deque<LineShape> shapes_;
  std::size_t used_ = 0;  ///< slots
};

}  // namespace oomdoctor
