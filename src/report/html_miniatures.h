// Small pictures of a series without axes: in a table row, and side by side on one scale.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor::html {

/// A picture for a table row, with its own scale; "" for fewer than two values.
std::string svg_spark(const std::vector<ReportPoint>& points, int colour);

/// The common scale of all tiles of a group; values start at zero.
struct TileScale {
  double left = 0, right = 1, top = 1;
};
/// A picture as wide as its container; "" for fewer than two values or an empty scale.
std::string svg_tile(const std::vector<ReportPoint>& points, int colour, const TileScale& scale);

}  // namespace oomdoctor::html
