// A Plot as a picture: static SVG whose presentation attributes need neither style sheet nor script, and the same as
// data for the script that lets one zoom.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace oomdoctor::html {

/// The colour of a line where no style sheet is allowed; classes c0 to c5 (stroke) and f0 to f5 (fill) stand beside it.
std::string_view colour(int index);

/// A piece of text in a picture; `look` holds more attributes.
enum class Anchor { start, middle, end };
std::string svg_text(double x, double y, std::string_view text, Anchor anchor = Anchor::start,
                     std::string_view look = {});
inline constexpr std::string_view svg_font = R"(font-family="sans-serif" font-size="12")";
inline constexpr std::string_view red_text = R"( class="limit" fill="#c0262d")";

std::string svg_chart(const Plot& plot);
/// A small picture of one series, for a row of a table.
std::string svg_spark(const std::vector<ReportPoint>& points, int colour);

/// The plots as JSON. Not yet fit to stand in a script element.
std::string chart_data(const std::vector<Plot>& plots);

}  // namespace oomdoctor::html
