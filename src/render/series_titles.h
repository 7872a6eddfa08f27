// The titles of series where there is little room.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The title of a series in at most `width` columns. Names of a list often differ in their ends only: then "…" replaces
/// the middle, else the end.
std::string clip_series_title(const Report& report, const ReportSeries& of, int width);

}  // namespace oomdoctor
