// Where the digits of a line stand, and what is left of it when the lengths of its numbers are left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/template_hash.h"

namespace oomdoctor {

/// Bytes at the front of a line in which times and tags are told by their columns, and looked for.
inline constexpr std::size_t line_front = 96;

/// A place in a line that is found again in every line of the same form.
struct FormPlace {
  std::uint16_t runs = 0;    ///< how many runs of digits end in front of it, or there
  std::uint16_t behind = 0;  ///< bytes behind the last of them, or behind the beginning of the line
};

/// The runs of digits of a line. Lines are of one form where they are the same but for their digits and the lengths of
/// those runs that are free. Not free is a run that begins at the front of the line, and one that belongs to a word, a
/// time, a date, an exponent or to thousands: it follows a letter or one of "_:/-+,".
class NumberSpans {
 public:
  static constexpr std::size_t longest_line = 1024;  ///< a longer one is likely to be the only one of its form

  /// False where the line is too long, or has a run of twenty digits: two of them with a point between may be read as
  /// more than one number. Then there is nothing to be asked for. The line must stay where it is.
  bool find(std::string_view line);

  /// The line without all but the first digit of its free runs: lines of one form differ in the digits of theirs alone.
  /// It stays until the next line is looked at.
  std::string_view form();
  /// Where the first free run begins; the size of the line where there is none.
  std::size_t first_free() const;

  FormPlace place_of(std::size_t at) const;
  std::size_t at(FormPlace place) const;

 private:
  bool is_free(std::size_t begin) const;

  // Bits by place: the bit i % 64 of word i / 64 is byte i.
  static constexpr std::size_t words = longest_line / 64 + 1;
  std::string_view line_;
  std::array<char, longest_line> form_;
  std::array<std::uint64_t, words + 1> digits_;
  std::array<std::uint64_t, words> begins_, ends_;  ///< first digits of runs, and what follows their last ones
};

}  // namespace oomdoctor
