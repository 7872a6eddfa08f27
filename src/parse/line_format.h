// Reads a step line by its form (see Gauge in parser.h) with constant texts and std::from_chars: no regex on lines that
// may be every line of a file. A user's format may be a regex all the same, whose named groups are the numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parse/parser.h"

namespace oomdoctor {

/// One number of a form that was found.
struct GaugeValue {
  double value = 0;
  int decimals = 0;             ///< printed behind the point
  std::uint32_t number = 0;     ///< which number of the form: index into CompiledLineFormat::numbers()
  std::size_t at = 0, end = 0;  ///< where in the line it is printed
};

/// What a number of a form is.
struct GaugeNumber {
  enum class Kind { step, epoch, epoch0, total, rank, device, skip, percent, memory } kind = Kind::skip;
  std::string_view name;  ///< as in the form
  Reading reading;        ///< of memory: all but the value and its print step
};

/// One (?<name>…) of a regex.
struct NamedGroup {
  std::string_view name;
  std::size_t number = 0;  ///< of the group
  std::size_t at = 0;      ///< where the name stands
};
std::vector<NamedGroup> named_groups(std::string_view regex);
/// Where the class "[…]" that begins at `at` ends.
std::size_t find_class_end(std::string_view regex, std::size_t at);

/// Where reading a form ended, where it was read.
struct FormEnd {
  Search search = Search::absent;
  std::size_t at = 0;

  explicit operator bool() const { return search == Search::found; }
  std::size_t operator*() const { return at; }
};

/// A form taken apart once; one row of pieces for each choice of the parts that may be absent, the fullest first. Or a
/// regex with its named groups.
class CompiledLineFormat {
 public:
  explicit CompiledLineFormat(const LineFormat& gauge);

  /// Reads the form from `line` at or behind `from`, where it is there whole. Of several places the first counts, of
  /// several choices at one place the fullest. A user's regex may be given up as too costly.
  FormEnd read(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const;
  const LineFormat& gauge() const { return *gauge_; }
  const std::vector<GaugeNumber>& numbers() const { return numbers_; }
  /// True where the digits of a line are nothing but numbers to this form: lines that differ in them alone are all read
  /// in the same way.
  bool digits_are_numbers() const;

 private:
  struct Piece {
    enum class Kind { text, number, anything } kind;
    std::string_view text;     ///< the literal, or the number's name
    std::uint32_t number = 0;  ///< index into numbers()
  };
  using Pieces = std::vector<Piece>;
  struct Place {
    std::size_t begin, end;
  };
  std::uint32_t add_number(std::string_view name);
  void add_piece(std::string_view& form, Pieces& pieces);
  void add_choices(std::string_view form, Pieces pieces);
  FormEnd read_regex(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const;
  static std::optional<Place> find(const Pieces& pieces, std::string_view line, std::size_t from,
                                   std::vector<GaugeValue>& values);
  static bool read_pieces(const Pieces& pieces, std::string_view line, std::size_t at, std::size_t piece,
                          std::vector<GaugeValue>& values, std::size_t& end, int& budget);

  const LineFormat* gauge_;
  std::vector<Pieces> choices_;
  std::vector<GaugeNumber> numbers_;
  std::unique_ptr<Regex> regex_;
  std::vector<NamedGroup> groups_;  ///< as many as numbers_
};

/// A number with thousands commas and an exponent where they are; moves `at` behind it. nullopt for none, NaN and
/// infinities.
std::optional<GaugeValue> read_number(std::string_view text, std::size_t& at);

/// The metric that a name in a form means; nullopt for step, epoch, total, rank, device, skip.
std::optional<Metric> find_metric(std::string_view name);

/// All names that a number of a user's format may have: those of sizes have its unit.
std::span<const std::string_view> number_names();
/// Those that a gauge has, in the order of its form or regex.
std::vector<std::string_view> names_of(const LineFormat& gauge);

}  // namespace oomdoctor
