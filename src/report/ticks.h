// The numbers along an axis. page.js has the same rule for the part of a chart that it zooms into.
#pragma once

#include <string>
#include <vector>

namespace oomdoctor {

/// Multiples of 1, 2 or 5 times a power of ten, about `count` of them, at least `least_step` apart.
std::vector<double> ticks(double from, double to, int count, double least_step);
/// A tick as people write it: "0.5", "1000".
std::string tick_text(double value);

}  // namespace oomdoctor
