// A memory series in words: its name, its values, its course and when it is full. Words may quote the log and are not
// neutralised.
#pragma once

#include <optional>
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
/// "+7.59 MiB per step since step 200 (±0.44)", "flat at 13.0 GiB"; what it rests on apart.
struct TrendText {
  std::string course, because;
};
TrendText trend_text(const ReportSeries& of);
/// "+7.59 MiB per step since step 200 (±0.44), accelerating by 14.6 KiB per step".
std::string growth_words(const ReportSeries& of);
/// "23.69 GiB full at step 1003", "nothing left at step 1003"; "" without a forecast and for a run that died.
std::string full_words(const Report& report, const ReportSeries& of);
/// "23.69 GiB full at step 1003 (90%: 990 to 1016)"; "" where full_words has nothing.
std::string forecast_words(const Report& report, const ReportSeries& of);

/// What the other series say about one that grows: "allocated memory does not grow: PyTorch's cache fragments", "only
/// rank 3 of 8 grows"; "" for nothing.
std::string relation_words(const Report& report, const ReportSeries& growing);
/// The step with which the working stage began that the run ended in; nothing where no stage is known.
std::optional<double> working_since(const ReportTrend& trend);

/// A slope is worth printing only where its interval excludes none.
bool is_growth(const ReportTrend& trend);
/// Printed once: there is no course.
bool is_single(const ReportSeries& of);
/// Series that grow first, then those with most values; without those that are zero throughout.
std::vector<const ReportSeries*> by_weight(const Report& report);

}  // namespace oomdoctor
