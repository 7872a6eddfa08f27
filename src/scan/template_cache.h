// Most lines of a log differ only in their numbers. If all formats treat numbers alike, the match on the first such
// line applies to all others, and only the numbers are read again. So a log of step lines is cheap, however much its
// first line costs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/freeform.h"
#include "text/lines.h"
#include "text/number_spans.h"
#include "text/pattern.h"

namespace oomdoctor {

struct CompiledFormat;

/// Position of a regex group in a line.
struct GroupPosition {
  std::uint32_t at = 0, size = 0;
  bool matched = false;
};
using GroupPositions = std::vector<GroupPosition>;  ///< index 0 is the whole match

/// The position of one number that a format reads.
struct NumberField {
  std::uint32_t number = 0;  ///< the format's index of it
  std::uint32_t at = 0;      ///< position in lines whose numbers have the same lengths as in the first line
  FormPlace place;           ///< position valid for all lines of the same form
};

/// The match of one format.
struct TemplateMatch {
  const CompiledFormat* reader = nullptr;
  bool again = false;                ///< the same format has an earlier match on this line
  GroupPositions parts;              ///< groups of a regex
  std::vector<NumberField> numbers;  ///< for a gauge, or for a pattern on free-form lines
  /// Null for other formats.
  std::unique_ptr<FreeformLine> printed;
};

/// The common matches of all lines that differ only in their numbers.
struct LineTemplate {
  LinePrefix prefix;
  std::vector<const CompiledFormat*> tried;  ///< the formats that the line's anchors led to, in order
  bool anchors_fixed = false;                ///< no anchor can appear with other numbers
  std::vector<TemplateMatch> accepts;
};

/// Whether the lengths of the free numbers of a line (see NumberSpans) affect its matches.
enum class Lengths { alike, differ };

/// A line, and what the search for anchors found on it.
struct SearchedLine {
  std::string_view text;                               ///< cleaned
  std::span<const CompiledFormat* const> wanted = {};  ///< the formats that its anchors lead to, in order
  bool raw = true;                                     ///< it needed no cleaning
};

/// Which lines are worth a look-up before the search: those whose front is that of a line found before, or that of few
/// lines not found. Affects speed only.
class LookUpChances {
 public:
  static constexpr std::size_t front_bytes = 28;  ///< of a line; a shorter one has no front

  /// Selects the front of this line. False if most look-ups of it were in vain; then a few lines are tried.
  bool are_good(std::string_view line);
  void count(bool found);

 private:
  std::array<std::uint8_t, 1024> in_vain_{};  ///< by front: look-ups since the last one that found a template
  std::size_t here_ = 0;
};

/// The template of one line.
struct KnownTemplate {
  /// Null if unknown.
  const LineTemplate* shape = nullptr;
  /// Positions in this line; null if its numbers are as long as those of the first line.
  const NumberSpans* runs = nullptr;
  /// True if the line that it was made from needed no cleaning: all of its anchors were found.
  bool raw = false;

  /// The position of a number in this line.
  std::size_t at(const NumberField& number) const { return runs != nullptr ? runs->at(number.place) : number.at; }
};

/// Bounded: once full, new shapes are matched without a template. A template is kept only when its shape comes a
/// second time, because lines of prose come once. Forms are computed only for lines with a known front. Not
/// thread-safe: one cache per thread.
class TemplateCache {
 public:
  /// The template of a line that was not searched for anchors, if it is sure that the search would lead to it. For raw
  /// lines only.
  KnownTemplate find_unsearched(std::string_view line);
  /// The template of `line`, if known and made with the same formats. The text must stay valid until keep().
  KnownTemplate find(const SearchedLine& line);
  /// True if keep() would store a template for the last line.
  bool wanted() const { return wanted_; }
  /// Number positions in the last line; null if lines with numbers of other lengths do not share its form.
  const NumberSpans* runs() const { return form_ ? &runs_ : nullptr; }
  /// Stores the template of the last line.
  void keep(LineTemplate shape, Lengths lengths);

 private:
  /// A line or a form with its hash. The bytes are compared as well: a hostile log may cause equal hashes.
  struct Key {
    LineHash hash;
    std::string_view text;
  };
  struct CacheSlot {
    Key key;
    const LineTemplate* shape = nullptr;
    bool by_form = false;  ///< stored for another line of the same form
    bool raw = false;      ///< made from a line that needed no cleaning
    bool sure = false;     ///< every raw line of this key has these anchors
  };
  CacheSlot& slot(const Key& key);
  KnownTemplate known_by(const CacheSlot& slot, std::string_view line);
  void fill(const Key& key, const LineTemplate* shape, bool by_form);
  void grow();
  bool has_slots() const;
  bool has_room() const;
  bool met_before(const LineHash& hash);
  std::optional<Key> find_form(std::string_view line);

  LookUpChances chances_;
  NumberSpans runs_;
  Key line_;                 ///< the last line
  bool raw_ = false;         ///< it needed no cleaning
  std::optional<Key> form_;  ///< its form, if it has one; the text is in runs_
  bool wanted_ = false;
  std::vector<std::uint64_t> met_;  ///< a hash table of hashes seen once: detects the second time
  std::size_t new_met_ = 0;         ///< hashes that were new to the table
  std::size_t front_ = 0;           ///< index of the last line's first bytes
  std::vector<bool> fronts_;        ///< by that index: true if a form is known for a line with this front
  std::vector<CacheSlot> slots_;    ///< open addressing, a power of two; allocated by the first find()
  std::size_t used_ = 0;            ///< occupied slots
  std::deque<LineTemplate> shapes_;
  std::deque<std::string> texts_;  ///< the texts of the keys
  std::size_t text_bytes_ = 0;
};

}  // namespace oomdoctor
