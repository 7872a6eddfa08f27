// "GB" may mean 10^9 or 2^30 bytes. The capacity of the GPU decides, if only one of them fits.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// "GB", "gib" → 3: the power of 1,000 or 1,024 that the letters can mean.
int binary_power(std::string_view unit) {
  const std::size_t power = unit.empty() ? 3 : std::string_view("?KMGT").find(static_cast<char>(unit[0] & ~0x20));
  return power == std::string_view::npos ? 3 : static_cast<int>(power);
}

/// of the capacity; a message prints what programs can use, and a monitor counts the driver's share as well
constexpr double max_overshoot = 0.02;

/// Whether the values fit a memory of `capacity` bytes in the smaller unit only.
bool fits_scaled_only(const Series& series, double factor, double capacity) {
  return series.max_value > capacity && series.max_value * factor <= capacity * (1 + max_overshoot);
}

std::string name_unit(const Series& of) { return of.unit.empty() ? "a size without a unit" : of.unit; }

}  // namespace

void resolve_units(ScanResult& scan, const AnalysisOptions& options) {
  const std::optional<std::size_t> primary = find_primary(scan);
  const auto capacity = known_capacity(scan, primary ? std::optional(scan.incidents[*primary]) : std::nullopt, options);
  if (!capacity) return;
  for (const Series& probe : scan.series) {
    if (!probe.ambiguous_unit || !is_device_metric(probe.metric)) continue;
    const int power = binary_power(probe.unit);
    const double factor = std::pow(1000.0 / 1024, power);
    if (!fits_scaled_only(probe, factor, to_double(*capacity))) continue;
    scan.notes.push_back(
        {Severity::warning,  // every number of the verdict depends on this
         fmt::format("{} is read as 10^{} bytes: {} (2^{}) would not fit this GPU's {}", name_unit(probe), 3 * power,
                     bytes_text(probe.max_value), 10 * power, bytes_text(*capacity)),
         probe.last_evidence});
    // A program prints its sizes in one way only.
    const std::string unit = probe.unit;
    for (Series& s : scan.series)
      if (s.ambiguous_unit && s.unit == unit) s.rescale(factor), s.ambiguous_unit = false;
    return;
  }
}

void emit_units(const ScanResult& scan, std::vector<Note>& notes) {
  std::set<std::string> reported;
  for (const Series& s : scan.series) {
    if (!s.ambiguous_unit || s.n < 2 || !reported.insert(s.unit).second) continue;
    const int power = binary_power(s.unit);
    const double less = 100 * (1 - std::pow(1000.0 / 1024, power));
    notes.push_back(
        {Severity::note,
         fmt::format("{} is read as 2^{} bytes; if the program divided by 10^{}, every value is {:.0f}% smaller",
                     name_unit(s), 10 * power, 3 * power, less),
         s.first_evidence});
  }
}

}  // namespace oomdoctor
