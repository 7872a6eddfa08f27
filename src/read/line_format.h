// Matches a step line against its form (see LineFormat in parser.h), with constant texts and std::from_chars. Every
// line of a file may be a step line, so shipped forms need no regex. A user's format may be a regex with its numbers
// as named groups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "read/parser.h"

namespace oomdoctor {

/// One number read from a line.
struct GaugeValue {
  double value = 0;
  int decimals = 0;             ///< printed digits after the point
  std::uint32_t number = 0;     ///< index into CompiledLineFormat::numbers()
  std::size_t at = 0, end = 0;  ///< position in the line
};

/// The meaning of a number in a form.
struct GaugeNumber {
  enum class NumberKind { step, epoch, epoch0, total, rank, device, skip, percent, memory } kind = NumberKind::skip;
  std::string_view name;  ///< as written in the form
  Reading reading;        ///< for memory: everything but value and quantum
};

/// A (?<name>…) of a regex.
struct NamedGroup {
  std::string_view name;
  std::size_t number = 0;  ///< number of the group
  std::size_t at = 0;      ///< position of the name in the regex
};
/// All named groups, in order. The regex must be valid.
std::vector<NamedGroup> named_groups(std::string_view regex);
/// The position of the "]" that ends the class starting at `at`.
std::size_t find_class_end(std::string_view regex, std::size_t at);

/// The result of reading a form: where it ended, if it matched.
struct FormEnd {
  Search search = Search::absent;
  std::size_t at = 0;

  explicit operator bool() const { return search == Search::found; }
  std::size_t operator*() const { return at; }
};

/// A compiled form: one sequence of pieces for each choice of its optional parts, the longest first. Or a regex with
/// its named groups. Immutable. `gauge` must outlive it.
class CompiledLineFormat {
 public:
  explicit CompiledLineFormat(const LineFormat& gauge);

  /// Finds the first complete match at or after `from` and fills `values`. Of several choices at one position, the
  /// longest wins. A user's regex may end with Search::too_costly.
  FormEnd read(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const;
  const LineFormat& gauge() const { return *gauge_; }
  const std::vector<GaugeNumber>& numbers() const { return numbers_; }
  /// True if the digits of a line are only numbers to this form. Then lines that differ only in digits match in the
  /// same way.
  bool digits_are_numbers() const;

 private:
  struct FormPiece {
    enum class PieceKind { text, number, anything } kind;
    std::string_view text;     ///< the literal, or the name of the number
    std::uint32_t number = 0;  ///< index into numbers()
  };
  using FormPieces = std::vector<FormPiece>;
  struct FormMatch {
    std::size_t begin, end;
  };
  std::uint32_t add_number(std::string_view name);
  void add_piece(std::string_view& form, FormPieces& pieces);
  void add_choices(std::string_view form, FormPieces pieces);
  FormEnd read_regex(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const;
  static std::optional<FormMatch> find(const FormPieces& pieces, std::string_view line, std::size_t from,
                                       std::vector<GaugeValue>& values);
  static bool read_pieces(const FormPieces& pieces, std::string_view line, std::size_t at, std::size_t piece,
                          std::vector<GaugeValue>& values, std::size_t& end, int& budget);

  const LineFormat* gauge_;
  std::vector<FormPieces> choices_;
  std::vector<GaugeNumber> numbers_;
  std::unique_ptr<Regex> regex_;
  std::vector<NamedGroup> groups_;  ///< parallel to numbers_
};

/// Reads a number with optional thousands commas and exponent. Moves `at` to its end. nullopt for anything else, NaN
/// and infinities included.
std::optional<GaugeValue> read_number(std::string_view text, std::size_t& at);
/// The number at the start of `text`; 0 if there is none.
double leading_number(std::string_view text);

/// The metric of a name in a form; nullopt for step, epoch, total, rank, device, skip.
std::optional<Metric> find_metric(std::string_view name);

/// All names that a number in a user's format may have. Names of sizes are in the format's unit.
std::span<const std::string_view> number_names();
/// The names in a gauge, in the order of its form or regex.
std::vector<std::string_view> list_names(const LineFormat& gauge);

}  // namespace oomdoctor
