// The verdict about growth, and its one-line description for people.
#pragma once

#include <optional>
#include <string>

#include "growth/fitted_series.h"

namespace oomdoctor {

/// The test that growth failed.
enum class GrowthDoubt { none, bounded, undecided, small, noise, open_end, levels_off, records, start };

/// The verdict over all fitted laws. `bounded` and `chosen` always point into FittedSeries::fits; `growing` is null if
/// no law rises.
struct GrowthVerdict {
  const Fit* growing = nullptr;  ///< the best law that grows without a bound
  const Fit* bounded = nullptr;  ///< the best law that does not
  const Fit* chosen = nullptr;
  double gap = 0;  ///< the score by which the growing law is better
  bool leak = false;
  GrowthDoubt doubt = GrowthDoubt::none;
};

/// Describes the trend in one line, numbers first.
std::string describe_trend(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend);
/// The same for a rise that may belong to the start of the program.
std::string describe_start(const FittedSeries& fitted);
/// The same for a series that is too short for a trend.
std::string describe_short_series(const FittedSeries& fitted);
/// The last rise, if the one before it is equal to the last printed digit; nullopt if it is small.
std::optional<double> find_equal_rise(const FittedSeries& fitted);
/// Whether the words about a short series name a rise.
bool rises_to_mention(const FittedSeries& fitted);
/// "released at second 33: back to 3 MiB"; "" if the series does not end that way.
std::string release_words(const FittedSeries& fitted, const Trend& trend);

}  // namespace oomdoctor
