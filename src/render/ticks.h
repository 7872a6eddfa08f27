// The numbers along an axis. page.js has the same rule for the zoomed part of a chart.
#pragma once

#include <string>
#include <vector>

namespace oomdoctor {

/// Multiples of 1, 2 or 5 times a power of ten from `from` to `to`: about `count`, at least `min_step` apart,
/// strictly increasing.
std::vector<double> ticks(double from, double to, int count, double min_step);
/// For example "0.5", "1000".
std::string tick_text(double value);

}  // namespace oomdoctor
