// A small interface to Boost.Regex, which no other file uses. A regex only sees bounded windows. If a search costs too
// much, the result is too_costly instead of an exception or a silent mismatch.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace oomdoctor {

inline constexpr std::size_t max_captures = 12;
inline constexpr std::size_t max_window = 4096;  ///< bytes that a regex may see

enum class Search { found, absent, too_costly };

/// The groups of a match.
struct Captures {
  std::array<std::string_view, max_captures>
      group{};                     ///< [0] is the whole match; data() is null for a group without a match
  std::size_t begin = 0, end = 0;  ///< of the whole match in the text

  bool has(std::size_t i) const { return group[i].data() != nullptr; }
};

/// An invalid expression. Tests check the expressions of the program; users' are checked when they are loaded.
class BadExpression : public std::logic_error {
 public:
  BadExpression(std::string_view expression, std::string why, std::size_t where)
      : std::logic_error("bad expression " + std::string(expression) + ": " + why), reason(std::move(why)), at(where) {}

  std::string reason;
  std::size_t at;  ///< the byte at which parsing stopped
};

/// True if `expression` treats all digits alike: of two texts that differ only in digits, it matches both at the same
/// positions, or neither.
bool digits_are_numbers(std::string_view expression);

/// The cost limit of a search. Users' expressions are unknown, so their searches stop after a number of steps that
/// depends only on the length of the text.
enum class Steps { free, counted };
inline constexpr std::size_t counted_steps = 10'000, counted_steps_per_byte = 400;

/// A compiled expression. Threads may search concurrently.
class Regex {
 public:
  /// Throws BadExpression.
  explicit Regex(std::string_view expression, Steps steps = Steps::free);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Finds the first match that begins at or after `from`. The text is cut to max_window bytes after `from`.
  Search search(std::string_view text, Captures& captures, std::size_t from = 0) const;
  /// The same for a match that begins at `at`.
  Search match(std::string_view text, Captures& captures, std::size_t at) const;
  std::size_t captures() const;

 private:
  enum class Begin { anywhere, here };
  Search find(std::string_view text, Captures& captures, std::size_t from, Begin begin) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
