// Charts of block characters. They survive copying into a chat or an issue, and need no colour.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A horizontal bar of at most `cells` columns, in steps of an eighth of a column. A share above 0 has at least one
/// eighth. `share` is clamped to 0 … 1.
std::string bar(double share, int cells);

/// One row per part: blanks up to the end of the previous part, then the part. Together the rows fill `cells` columns.
/// `shares` are fractions of the total; negative ones count as 0.
std::vector<std::string> waterfall(const std::vector<double>& shares, int cells);

/// The largest distance in x between two points that belong together: beyond it, nothing was measured.
double longest_wait(const std::vector<ReportPoint>& points);

/// The maximum of each of at most `cells` intervals of x, as ▁ to █. The vertical range is at least 2% of the maximum,
/// so that noise does not look like growth. "" without finite points.
std::string sparkline(const std::vector<ReportPoint>& points, int cells);

}  // namespace oomdoctor
