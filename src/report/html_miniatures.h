// Small pictures of a series without axes: in a row of a table, and side by side on one scale.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor::html {

/// "" for fewer than two values.
std::string svg_spark(const std::vector<ReportPoint>& points, int colour);

/// The scale that the tiles of a group share; their values count from zero.
struct TileScale {
  double left = 0, right = 1, top = 1;
};
/// As wide as its container.
std::string svg_tile(const std::vector<ReportPoint>& points, int colour, const TileScale& scale);

}  // namespace oomdoctor::html
