// Boost.Regex behind a small wall: it lives here alone and only ever sees bounded windows. A pattern whose cost runs
// away says so instead of throwing or matching nothing in silence.
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

struct Captures {
  std::array<std::string_view, max_captures> group{};  ///< [0] is the whole match; empty data() == not taken part
  std::size_t begin = 0, end = 0;                      ///< of the whole match in the text

  bool has(std::size_t i) const { return group[i].data() != nullptr; }
};

/// An expression that is none. Those of the program are checked by a law, those of users when they are loaded.
class BadExpression : public std::logic_error {
 public:
  BadExpression(std::string_view expression, std::string why, std::size_t where)
      : std::logic_error("bad expression " + std::string(expression) + ": " + why), reason(std::move(why)), at(where) {}

  std::string reason;
  std::size_t at;  ///< the byte where reading it ended
};

/// True where `expression` takes all digits alike: of two texts that differ in digits only it matches both, at the same
/// places, or neither.
bool digits_are_numbers(std::string_view expression);

/// What a search may cost. Nobody has looked at the expressions of users: a search is given up where it has read a
/// number of bytes that depends on nothing but the length of the text.
enum class Steps { free, counted };
inline constexpr std::size_t counted_steps = 10'000, counted_steps_per_byte = 400;

class Regex {
 public:
  /// Throws BadExpression.
  explicit Regex(std::string_view expression, Steps steps = Steps::free);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// The first match that begins at or after `from`. `text` is cut to max_window bytes behind `from`.
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
