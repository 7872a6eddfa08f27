// Which of its memory series a report shows, and the properties that decide it. The results point into the report.
#pragma once

#include <optional>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Whether the series measures free memory instead of used memory.
bool measures_free_memory(const ReportSeries& of);
/// The share of the memory that the values reach at most; nullopt if its size is unknown.
std::optional<double> peak_share(const ReportSeries& of);
/// Whether the trend has a slope to print: growth, or a slope with an interval that excludes zero.
bool is_growth(const ReportTrend& trend);
/// True for growth that is sure enough to be a risk. Running maxima rise in every run.
bool grows_surely(const ReportSeries& of);
/// Whether the series has one value only, and so no trend.
bool is_single(const ReportSeries& of);
/// Growing series first, then by number of values; without series that are zero throughout.
std::vector<const ReportSeries*> sort_series(const Report& report);

/// The series that a verdict of growth is about: that of the failure's rank or GPU, else the first; null if none grows.
const ReportSeries* find_leaking_series(const Report& report);
/// A series that grows although nothing failed: a leak with enough confidence, else a short series that rises. Null
/// if there is none.
const ReportSeries* find_growing_series(const Report& report);
/// The series that a report shows if it shows one: a growing one, else the peaks of the GPU's memory, else the one with
/// most values. Of single values, the largest. Null if there is none.
const ReportSeries* find_main_series(const Report& report);

}  // namespace oomdoctor
