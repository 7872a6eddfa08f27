// Draws a Plot as SVG. It needs neither style sheet nor script: presentation attributes suffice, and classes refine
// them.
//
// The plot area is an inner <svg> in units of the values: x counts from the left end of the plot, y upwards. To zoom,
// page.js changes that viewBox and moves the texts around it, using their data-… attributes. So the chart on the screen
// and the one on paper are the same elements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/plot.h"

namespace oomdoctor::html {

/// A fallback for pages without their style sheet, which colours the classes c0 to c5 (stroke), f0 to f5 (fill)
/// and t0 to t5 (text).
std::string_view colour(int index);

inline constexpr std::string_view red = "#c0262d", grey = "#59636e", pale = "#d8dee4";
/// Keeps the width of a line constant when its picture is scaled.
inline constexpr std::string_view constant_width = R"(vector-effect="non-scaling-stroke")";
inline constexpr std::string_view svg_font = R"(font-family="sans-serif" font-size="12")";

/// The chart as an <svg> element of 760 × 460 units.
std::string svg_chart(const Plot& plot);

// Small pictures of a series without axes.

/// A picture for a table row, with its own scale; "" for fewer than two values.
std::string svg_spark(const std::vector<ReportPoint>& points, int colour);

/// The common scale of all tiles of a group; values start at zero.
struct TileScale {
  double left = 0, right = 1, top = 1;
};
/// A picture as wide as its container; "" for fewer than two values or an empty scale.
std::string svg_tile(const std::vector<ReportPoint>& points, int colour, const TileScale& scale);

}  // namespace oomdoctor::html
