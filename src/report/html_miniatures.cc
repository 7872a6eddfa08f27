#include "report/html_miniatures.h"

#include <algorithm>
#include <cmath>

#include "report/document.h"
#include "report/html_chart.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t spark_points = 60, tile_points = 80;  ///< one for every other pixel

bool is_lower(const ReportPoint& a, const ReportPoint& b) { return a.y < b.y; }

/// At most `limit` points: the maximum of each run of points, so that no peak is lost.
std::vector<ReportPoint> peaks(const std::vector<ReportPoint>& points, std::size_t limit) {
  std::vector<ReportPoint> finite;
  for (const auto& p : points)
    if (std::isfinite(p.x) && std::isfinite(p.y)) finite.push_back(p);
  std::vector<ReportPoint> out;
  const auto run = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, (finite.size() + limit - 1) / limit));
  for (auto from = finite.begin(); from != finite.end();) {
    const auto to = finite.end() - from > run ? from + run : finite.end();
    out.push_back(*std::max_element(from, to, is_lower));
    from = to;
  }
  return out;
}

/// An SVG path, for example "M0.0 20.0L2.4 19.8…".
std::string path_of(const std::vector<ReportPoint>& points) {
  Document path;
  for (std::size_t i = 0; i < points.size(); ++i)
    path.add("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", points[i].x, points[i].y);
  return path.take();
}

std::string stroked(const std::string& path, int index) {
  return fmt::format(R"(<path class="c{}" d="{}" fill="none" stroke="{}" stroke-width="1.5" {}/>)", index, path,
                     colour(index), constant_width);
}

}  // namespace

std::string svg_spark(const std::vector<ReportPoint>& points, int index) {
  constexpr double wide = 120, tall = 22;
  std::vector<ReportPoint> drawn = peaks(points, spark_points);
  if (drawn.size() < 2) return {};
  const double lowest = std::min_element(drawn.begin(), drawn.end(), is_lower)->y;
  const double highest = std::max_element(drawn.begin(), drawn.end(), is_lower)->y;
  // The vertical range is at least a tenth of the largest value, so that noise does not look like growth.
  const double range = std::max({highest - lowest, 0.1 * std::fabs(highest), 1e-9}),
               low = (lowest + highest - range) / 2;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = {1 + static_cast<double>(i) / static_cast<double>(drawn.size() - 1) * (wide - 2),
                tall - 2 - (drawn[i].y - low) / range * (tall - 4)};
  return fmt::format(R"(<svg class="spark" width="{:.0f}" height="{:.0f}" aria-hidden="true">{}</svg>)", wide, tall,
                     stroked(path_of(drawn), index));
}

std::string svg_tile(const std::vector<ReportPoint>& points, int index, const TileScale& scale) {
  constexpr double wide = 160, tall = 48;
  std::vector<ReportPoint> drawn = peaks(points, tile_points);
  if (drawn.size() < 2 || scale.right <= scale.left || scale.top <= 0) return {};
  for (ReportPoint& p : drawn)
    p = {(p.x - scale.left) / (scale.right - scale.left) * wide, tall - std::max(p.y, 0.0) / scale.top * (tall - 3)};
  const std::string line = path_of(drawn);
  Document out;
  out.add(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="100%" height="{:.0f}" preserveAspectRatio="none" )", wide, tall,
          tall);
  out.add(R"(aria-hidden="true"><path class="f{}" d="{}V{:.0f}H{:.1f}Z" fill="{}" fill-opacity="0.12"/>{}</svg>)",
          index, line, tall, drawn.front().x, colour(index), stroked(line, index));
  return out.take();
}

}  // namespace oomdoctor::html
