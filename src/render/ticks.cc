#include "render/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace oomdoctor {
namespace {

/// 1, 2 or 5 times a power of ten, so that about `count` steps fill the range.
double tick_step(double range, int count) {
  const double raw = range / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * 0.999) return factor * power;
  return 10 * power;
}

}  // namespace

std::vector<double> ticks(double from, double to, int count, double min_step) {
  const double step = std::max(tick_step(to - from, count), min_step);
  std::vector<double> out;
  const double first = std::ceil(from / step - 1e-9);
  // Beyond the precision of a double, adding one step does not change the value. Then there is no next tick.
  for (double k = 0; k <= 2 * count && (first + k) * step <= to + 1e-9 * step; ++k)
    if (out.empty() || (first + k) * step > out.back()) out.push_back((first + k) * step);
  return out;
}

std::string tick_text(double value) { return fmt::format("{:.10g}", std::fabs(value) < 1e-9 ? 0 : value); }

}  // namespace oomdoctor
