// The positions of the digits in a line, and the line without the lengths of its numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/template_hash.h"

namespace oomdoctor {

/// Bytes at the front of a line where times and tags have fixed columns.
inline constexpr std::size_t line_front = 96;

/// A position in a line that is found again in every line of the same form.
struct FormPlace {
  std::uint16_t runs = 0;    ///< runs of digits that end before it or at it
  std::uint16_t behind = 0;  ///< bytes after the end of the last of these runs, or after the beginning of the line
};

/// The runs of digits in a line. Lines have the same form if they differ only in their digits and in the lengths of
/// their free runs. A run is not free if it begins at the front of the line, or if it belongs to a word, a time, a
/// date, an exponent or thousands: such a run follows a letter or one of "_:/-+,".
class NumberSpans {
 public:
  static constexpr std::size_t max_line_length = 1024;  ///< a longer line is probably the only one of its form

  /// False if the line is too long, or has a run of twenty digits: two such runs with a point between them may be read
  /// as more than one number. The other functions are then undefined. Keeps a view of the line.
  bool find(std::string_view line);

  /// The line without all but the first digit of its free runs. Lines of one form then differ only in those digits.
  /// Valid until the next find().
  std::string_view form();
  /// The beginning of the first free run; the size of the line if there is none.
  std::size_t first_free() const;

  /// Convert between the offset of a byte and its place. at() works in every line of the same form.
  FormPlace find_place(std::size_t at) const;
  std::size_t at(FormPlace place) const;

 private:
  bool is_free(std::size_t begin) const;

  // Bit sets by position: bit i % 64 of word i / 64 is byte i.
  static constexpr std::size_t words = max_line_length / 64 + 1;
  std::string_view line_;
  std::array<char, max_line_length> form_;
  std::array<std::uint64_t, words + 1> digits_;
  std::array<std::uint64_t, words> begins_, ends_;  ///< first digits of runs, and the bytes after their last digits
};

}  // namespace oomdoctor
