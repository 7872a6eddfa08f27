// A memory series in words: its name, its values, its course and when it is full. Words may quote the log and are not
// neutralised.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// It says what is left, not what is used.
bool measures_rest(const ReportSeries& of);
/// Shares of the device are per cent, all else is bytes.
std::string value_text(const ReportSeries& of, double value);
/// The log's own label, too, where it says more than "memory" or keeps two series apart.
std::string series_title(const Report& report, const ReportSeries& of);
/// "15.40 → 21.40 GiB, at most 22.00 GiB".
std::string range_words(const ReportSeries& of);
/// "grows steadily: 7.59 ± 0.44 MiB a step", "seems to grow: …" where the confidence does not carry more; what it rests
/// on apart. Two values have none, and levels are told better than named.
struct CourseWords {
  std::string course, because;
};
CourseWords course_words(const ReportSeries& of);
/// "7.59 ± 0.44 MiB a step, rising by 14.6 ± 1.0 KiB each step, since step 200".
std::string growth_words(const ReportSeries& of);
/// "23.69 GiB are full at step 1003", "nothing is left at …", "would have been" where the run is over; "" without a
/// forecast.
std::string full_words(const Report& report, const ReportSeries& of);
/// "at this pace 23.69 GiB are full at step 1003 (90 %: 990 to 1016)"; "" without a forecast.
std::string forecast_words(const Report& report, const ReportSeries& of);

/// A slope is worth printing only where its interval excludes none.
bool is_growth(const ReportTrend& trend);
/// Printed once: there is no course.
bool is_single(const ReportSeries& of);
/// Series that grow first, then those with most values.
std::vector<const ReportSeries*> by_weight(const Report& report);

}  // namespace oomdoctor
