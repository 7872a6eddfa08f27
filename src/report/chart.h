// Charts of block characters: they survive a copy into a chat or an issue, and need no colour.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A horizontal bar of at most `cells` columns, to an eighth of a column; a share above 0 shows at least a hairline.
std::string bar(double share, int cells);

/// One row for each part: blanks up to where the part before it ends, then the part. Together the rows fill `cells`.
std::vector<std::string> waterfall(const std::vector<double>& shares, int cells);

/// The greatest value of each of at most `cells` stretches of the points, as ▁ to █. Values that differ by less than
/// 2 % of the greatest are drawn as nearly level, so that noise does not look like growth.
std::string sparkline(const std::vector<ReportPoint>& points, int cells);

}  // namespace oomdoctor
