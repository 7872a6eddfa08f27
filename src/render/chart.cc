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

/// The maximum of each interval of equal width in x. An interval without a point repeats its left neighbour.
std::vector<double> interval_maxima(const std::vector<ReportPoint>& points, int cells) {
  const auto [first, last] =
      std::minmax_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const double x0 = first->x, width = last->x - x0;
  const int count = std::min(cells, static_cast<int>(std::min<std::size_t>(points.size(), 1000)));
  std::vector<double> highest(static_cast<std::size_t>(count), std::numeric_limits<double>::quiet_NaN());
  for (const auto& point : points) {
    const double at = width > 0 ? (point.x - x0) / width * count : 0;
    double& cell = highest[static_cast<std::size_t>(std::clamp(static_cast<int>(at), 0, count - 1))];
    if (std::isnan(cell) || point.y > cell) cell = point.y;
  }
  for (std::size_t i = 1; i < highest.size(); ++i)
    if (std::isnan(highest[i])) highest[i] = highest[i - 1];
  return highest;
}

}  // namespace

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
  for (const double value : values) {
    const double level = range > 0 ? (value - low) / range * 7 : 0;
    out += levels[static_cast<std::size_t>(std::clamp(static_cast<int>(std::lround(level)), 0, 7))];
  }
  return out;
}

}  // namespace oomdoctor
