// Reads a step line by its form (see Gauge in parser.h) with constant texts and std::from_chars: no regex on lines that
// may be every line of a file.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "parse/parser.h"

namespace oomdoctor {

/// One number of a form that was found.
struct GaugeValue {
  std::string_view name;  ///< as in the form
  double value = 0;
  int decimals = 0;  ///< printed behind the point
};

/// A form taken apart once; one row of pieces for each choice of the parts that may be absent, the fullest first.
class GaugeForm {
 public:
  explicit GaugeForm(const Gauge& gauge);

  /// Reads the form from `line` at or behind `from`; returns where it ended. nullopt when it is not there whole. Of
  /// several places the first counts, of several choices at one place the fullest.
  std::optional<std::size_t> read(std::string_view line, std::size_t from, std::vector<GaugeValue>& values) const;
  const Gauge& gauge() const { return *gauge_; }

 private:
  struct Piece {
    enum class Kind { text, number, anything } kind;
    std::string_view text;  ///< the literal, or the number's name
  };
  using Pieces = std::vector<Piece>;
  struct Place {
    std::size_t begin, end;
  };
  void add_choices(std::string_view form, const Pieces& before);
  static std::optional<Place> find(const Pieces& pieces, std::string_view line, std::size_t from,
                                   std::vector<GaugeValue>& values);
  static bool read_pieces(const Pieces& pieces, std::string_view line, std::size_t at, std::size_t piece,
                          std::vector<GaugeValue>& values, std::size_t& end, int& budget);

  const Gauge* gauge_;
  std::vector<Pieces> choices_;
};

/// A number with thousands commas and an exponent where they are; moves `at` behind it. nullopt for none, NaN and
/// infinities.
std::optional<GaugeValue> read_number(std::string_view text, std::size_t& at);

/// The metric that a name in a form means; nullopt for step, epoch, total, rank, device, skip.
std::optional<Metric> metric_of(std::string_view name);

}  // namespace oomdoctor
