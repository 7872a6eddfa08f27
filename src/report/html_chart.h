// A Plot as SVG that needs neither style sheet nor script: presentation attributes carry it, classes refine it.
//
// The plot area is an inner <svg> in units of the values: x counts from the plot's left end, y upwards. To zoom,
// page.js changes that viewBox and places the texts around it anew, by the data-… attributes that they carry. So the
// chart on the screen and the one on paper are the same elements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace oomdoctor::html {

/// For pages without their style sheet, which colours by the classes c0 to c5 (stroke), f0 to f5 (fill) and t0 to t5.
std::string_view colour(int index);
std::string_view text_colour(int index);

inline constexpr std::string_view red = "#c0262d", grey = "#59636e", pale = "#d8dee4";
/// A line is as wide as it says however its picture is scaled.
inline constexpr std::string_view constant_width = R"(vector-effect="non-scaling-stroke")";
inline constexpr std::string_view svg_font = R"(font-family="sans-serif" font-size="12")";

std::string svg_chart(const Plot& plot);

}  // namespace oomdoctor::html
