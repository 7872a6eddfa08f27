// Memory series and ranks in words: names, values, trends and forecasts. The words may quote the log; the caller
// escapes them for its output.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// A value of the series: percent for shares of the GPU, bytes for all others.
std::string value_text(const ReportSeries& of, double value);
/// The name, plus the log's own label if that is more specific than "memory" or distinguishes two series.
std::string series_title(const Report& report, const ReportSeries& of);
/// For example "15.40 → 21.40 GiB, max 22 GiB".
std::string range_words(const ReportSeries& of);
/// Of the GPU that was fullest, for example "Peak 18.9 GiB of 23.6 GiB (80%), 4.71 GiB free. A batch of at least 19
/// fits (now 16), with samples of the same size."; "" if the log does not show peak and capacity.
std::string headroom_words(const Report& report);
/// At this share of its memory, a device has hardly any room left: a longer batch or a second process ends the run.
inline constexpr double nearly_full = 0.9;
/// For example "GPU 3 was 97% full at its peak (2025-02-04 10:50:31): 566 MiB of 24 GiB free". `time` is that of
/// the peak, in seconds since 1970, `x` its step or second.
std::string nearly_full_words(const Report& report, const ReportSeries& of, double time, double x);
/// For example "steps 10–1240", and whether the log counted them anew in between; "" without steps.
std::string step_range_words(const ReportSeries& of);
/// Whether steps are counted anew in between, with other levels before than after: the trend is that of the last
/// values.
bool changes_between_counts(const ReportSeries& of);
/// The trend, for example "+7.59 MiB per step since step 200 (±0.44)" or "flat at 13.0 GiB".
std::string trend_words(const ReportSeries& of);
/// The trend where its rate is known from another line: "rising since step 200 (±0.44 MiB)".
std::string known_rate_words(const ReportSeries& of);
/// For example "+7.59 MiB per step since step 200 (±0.44), accelerating by 14.6 KiB per step".
std::string growth_words(const ReportSeries& of);
/// For example "23.69 GiB full at step 1003" or "nothing left at step 1003"; "" without a forecast and for a run that
/// ran out of memory.
std::string full_words(const Report& report, const ReportSeries& of);
/// For example "23.69 GiB full at step 1003 (90%: 990 to 1016)"; "" if full_words() is "".
std::string forecast_words(const Report& report, const ReportSeries& of);

/// "only rank 3 of 8 grows", "only GPU 1 of 2 grows"; "" if others do, or if there are none.
std::string only_growing_words(const Report& report, const ReportSeries& growing);
/// What the other series show about a growing one: "allocated memory does not grow: PyTorch's cache fragments", "only
/// rank 3 of 8 grows"; "" for nothing.
std::string relation_words(const Report& report, const ReportSeries& growing);

/// The peaks of the other GPUs, "7 more GPUs peak at 60.80 to 60.93 GiB"; "" if there are none, or other kinds of
/// memory.
std::string other_gpus_words(const Report& report, const ReportSeries& of);

inline constexpr std::size_t min_ranks_for_summary = 3;  ///< reports with fewer ranks show their series instead

/// All ranks: that of the verdict first, then the failed ones, then the growing ones, then by maximum. Points into the
/// report.
std::vector<const ReportRank*> sort_ranks(const Report& report);
/// The ranks that neither failed nor grow: "63 others flat at 19.5 GiB", "63 others between 18.9 and 19.7 GiB", "all 64
/// ranks flat at 19.5 GiB"; "" without values.
std::string other_ranks_words(const Report& report);
/// For example "64 ranks, 1 of them out of memory; 63 others flat at 19.5 GiB".
std::string ranks_summary(const Report& report);

}  // namespace oomdoctor
