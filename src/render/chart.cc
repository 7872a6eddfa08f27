#include "render/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace oomdoctor {
namespace {

std::string repeat(const char* text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

/// The maximum of each interval of equal width in x. An interval without a point repeats its left neighbour, or is not
/// a number where nothing was measured.
std::vector<double> interval_maxima(const std::vector<ReportPoint>& points, int cells) {
  const auto [first, last] =
      std::minmax_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const double x0 = first->x, width = last->x - x0;
  const int count = std::min(cells, static_cast<int>(std::min<std::size_t>(points.size(), 1000)));
  std::vector<double> highest(static_cast<std::size_t>(count), std::numeric_limits<double>::quiet_NaN());
  const auto cell_of = [&](const ReportPoint& point) {
    const double at = width > 0 ? (point.x - x0) / width * count : 0;
    return static_cast<std::size_t>(std::clamp(static_cast<int>(at), 0, count - 1));
  };
  for (const auto& point : points) {
    double& cell = highest[cell_of(point)];
    if (std::isnan(cell) || point.y > cell) cell = point.y;
  }
  const double longest = longest_wait(points);
  std::vector<bool> unmeasured(highest.size());
  for (std::size_t i = 1; i < points.size(); ++i)
    for (std::size_t cell = cell_of(points[i - 1]) + 1;
         points[i].x - points[i - 1].x > longest && cell < cell_of(points[i]); ++cell)
      unmeasured[cell] = true;
  for (std::size_t i = 1; i < highest.size(); ++i)
    if (std::isnan(highest[i]) && !unmeasured[i]) highest[i] = highest[i - 1];
  return highest;
}

}  // namespace

double longest_wait(const std::vector<ReportPoint>& points) {
  constexpr std::size_t fewest = 8;  // points
  constexpr double times = 60;       // the usual distance
  std::vector<double> waits;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].x < points[i - 1].x) return std::numeric_limits<double>::infinity();
    waits.push_back(points[i].x - points[i - 1].x);
  }
  if (points.size() < fewest) return std::numeric_limits<double>::infinity();
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::nth_element(waits.begin(), middle, waits.end());
  return *middle > 0 ? times * *middle : std::numeric_limits<double>::infinity();
}

std::string bar(double share, int cells) {
  constexpr std::array<const char*, 8> parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  // A tiny share is still visible, because an empty bar would mean that there is none.
  const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  int eighths = static_cast<int>(std::lround(clamped * cells * 8));
  if (share > 0) eighths = std::max(eighths, 1);
  return repeat("█", eighths / 8) + parts[static_cast<std::size_t>(eighths % 8)];
}

std::vector<std::string> waterfall(const std::vector<double>& shares, int cells) {
  std::vector<std::string> rows;
  double sum = 0;
  for (const double share : shares) {
    // Round edges, not lengths: otherwise the rounding errors of many rows would add up.
    const auto edge = [&](double at) { return std::clamp(static_cast<int>(std::lround(at * cells)), 0, cells); };
    const int from = edge(sum);
    sum += std::max(share, 0.0);
    const int to = edge(sum);
    const bool hairline = share >= 0.001 && to == from;
    rows.push_back(std::string(static_cast<std::size_t>(std::min(from, cells - (hairline ? 1 : 0))), ' ') +
                   (hairline ? "▏" : repeat("█", to - from)));
  }
  return rows;
}

std::string sparkline(const std::vector<ReportPoint>& points, int cells) {
  constexpr std::array<const char*, 8> levels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<ReportPoint> finite;
  for (const auto& point : points)
    if (std::isfinite(point.x) && std::isfinite(point.y)) finite.push_back(point);
  if (finite.empty() || cells < 1) return {};
  std::vector<double> values = interval_maxima(finite, cells);
  std::vector<bool> unmeasured;
  for (double& value : values) {
    unmeasured.push_back(std::isnan(value));
    if (std::isnan(value)) value = finite.front().y;
  }
  // The words next to it name the first and the last value. An end that differs shows its own value where that hides no
  // peak.
  const auto show_end = [&](double& cell, double value) {
    const double highest = *std::max_element(values.begin(), values.end()), peak = cell;
    if (peak - value > (highest - value) / 8) cell = value;
    if (*std::max_element(values.begin(), values.end()) < highest) cell = peak;
  };
  show_end(values.front(), finite.front().y);
  show_end(values.back(), finite.back().y);
  const auto [lowest, highest_value] = std::minmax_element(values.begin(), values.end());
  const double low = *lowest, range = std::max(*highest_value - low, 0.02 * std::fabs(*highest_value));
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double level = range > 0 ? (values[i] - low) / range * 7 : 0;
    out +=
        unmeasured[i] ? " " : levels[static_cast<std::size_t>(std::clamp(static_cast<int>(std::lround(level)), 0, 7))];
  }
  return out;
}

}  // namespace oomdoctor
