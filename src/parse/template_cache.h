// Lines of a log repeat each other but for their numbers. What readers that take all numbers alike found on the first
// line of a shape holds for every other: only the numbers are read anew. This is what makes a log whose every line is a
// step cheap, whatever it costs to understand the first of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parse/freeform.h"
#include "text/lines.h"
#include "text/number_spans.h"
#include "text/pattern.h"

namespace oomdoctor {

struct CompiledFormat;

/// Where in a line a group of a regex matched.
struct Part {
  std::uint32_t at = 0, size = 0;
  bool matched = false;
};
using Parts = std::vector<Part>;  ///< the whole match first

/// One number that a reader takes.
struct NumberField {
  std::uint32_t number = 0;  ///< which of the reader's
  std::uint32_t at = 0;      ///< where it is printed, in lines whose numbers are as long as those of the first
  FormPlace place;           ///< the same in all lines of its form
};

/// What one reader took from a line.
struct TemplateMatch {
  const CompiledFormat* reader = nullptr;
  bool again = false;                ///< the same reader took something of this line before
  Parts parts;                       ///< of a regex
  std::vector<NumberField> numbers;  ///< of a gauge, or of a pattern that reads the line as people print it
  std::unique_ptr<FreeformLine> printed;
};

/// What the lines hold that differ in their numbers alone.
struct LineTemplate {
  LinePrefix prefix;
  std::vector<TemplateMatch> accepts;
};

/// Whether the lengths of the free numbers of a line (see NumberSpans) mean something to what was found on it.
enum class Lengths { alike, differ };

/// A shape that is known, for one line.
struct KnownTemplate {
  const LineTemplate* shape = nullptr;
  const NumberSpans* runs = nullptr;  ///< of the line; null where its numbers are as long as those of the first

  std::size_t at(const NumberField& number) const { return runs != nullptr ? runs->at(number.place) : number.at; }
};

/// Bounded: where it is full, lines of new shapes are read as if there was no memo. A shape is kept when it is met
/// again, and forms are looked at where a line's front is, because a log of prose is made of lines that come once. One
/// thread uses it.
class TemplateCache {
 public:
  /// The shape of `line`, where it is known. Remembers which line was asked for: it must stay.
  KnownTemplate find(std::string_view line);
  /// Whether keep() would keep it.
  bool wanted() const { return wanted_; }
  /// Of the line asked for; null where lines with numbers of other lengths are not of its shape.
  const NumberSpans* runs() const { return form_ ? &runs_ : nullptr; }
  /// Makes known what the line holds that was last asked for.
  void keep(LineTemplate shape, Lengths lengths);

 private:
  /// A line or a form, and where it is looked for. Its bytes are compared: a log may be made so that hashes agree.
  struct Key {
    LineHash hash;
    std::string_view text;
  };
  struct Slot {
    Key key;
    const LineTemplate* shape = nullptr;
    bool by_form = false;  ///< of another line of this one's form
  };
  Slot& slot(const Key& key);
  void fill(const Key& key, const LineTemplate* shape, bool by_form);
  bool has_slots() const;
  bool has_room() const;
  bool met_before(const LineHash& hash);
  std::optional<Key> form_of(std::string_view line);

  NumberSpans runs_;
  Key line_;                 ///< asked for
  std::optional<Key> form_;  ///< of it, where lines of other lengths have the same; its text is in runs_
  bool wanted_ = false;
  std::vector<std::uint64_t> met_;  ///< by hash: the rest of the hash of the last one met
  std::size_t front_ = 0;           ///< of the line asked for: a number for its first bytes
  std::vector<bool> fronts_;        ///< by that number: a form is known of a line with such a front
  std::vector<Slot> slots_;         ///< made when the first line is asked for
  std::size_t used_ = 0;            ///< of them
  std::deque<LineTemplate> shapes_;
  std::deque<std::string> texts_;  ///< of the keys in slots
  std::size_t text_bytes_ = 0;
};

}  // namespace oomdoctor
