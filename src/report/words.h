// The contract's identifiers as words for people, and numbers as people write them. Shared by every writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

std::string outcome_words(std::string_view outcome);  ///< "OUT OF MEMORY"
/// "a time limit", of RunEnd::kind, or more exactly what the line itself says.
std::string_view ending_words(std::string_view kind, std::string_view line);
std::string phase_words(std::string_view phase);       ///< "in the backward pass"; "" for ""
std::string shape_words(std::string_view shape);       ///< "grows faster and faster"
std::string retry_words(const Retry& retry);           ///< "no: the same run would fail again"
std::string series_name(const ReportSeries& series);   ///< "allocated", "allocated, rank 3"
std::string incident_title(const ReportIncident& of);  ///< "GPU 0 ran out of memory at step 1000, in the backward pass"
std::string incident_circumstances(const ReportIncident& of);  ///< "rank 3, host gpu-01, pid 4712"; may be ""
std::string saving_words(const ReportFix& fix);                ///< "saves 2.10 to 4.20 GiB"; "" when unknown

/// Of the failures behind `of`: "the same on 3 other ranks, at a.log:7, …", "2 failures as a consequence, at …"; each
/// names at most `most` places. May be empty.
std::vector<std::string> following_words(const Report& report, const ReportIncident& of, std::size_t most);

/// What memory, where: "GPU 0", "the host", …
std::string memory_name(const ReportIncident& of);

std::string count_text(std::int64_t count);                                           ///< "128,008"
std::string plural(std::int64_t count, std::string_view one, std::string_view many);  ///< "1 line", "2,000 lines"
std::string step_text(double step);    ///< "1000", as logs print it; "12.5"
std::string epoch_text(double epoch);  ///< "0.32", "2999"
/// "15.40" of "15.40 GiB" in front of "21.40 GiB", "12" of "12%" in front of "80%": a unit is written once.
std::string without_unit_of(std::string_view last, std::string_view first);
std::string percent_text(double share);                                  ///< "92%", "<1%"
std::string place(const Location& at);                                   ///< "train.log:2001"
std::string places(const std::vector<Location>& all, std::size_t most);  ///< "train.log:12, 92 and 3 more"
/// The same in fewer columns: "lines 12 and 92" where there is one input, file names alone where no two inputs share
/// one.
std::string short_places(const Report& report, std::vector<Location> all, std::size_t most);

std::string short_place(const Report& report, const Location& at);  ///< "train.log:12", the path where names are alike
/// From one line to another: "lines 32–156", "train.log:32–156".
std::string range_of_lines(const Report& report, const Location& first, const Location& last);

/// An estimate of bytes with its interval: "7.59 ± 0.44 MiB", or "7.59 MiB (7.40 to 8.40)" where it is lopsided.
std::string estimate_text(const ReportEstimate& of);
/// A rate and what its interval leaves open: {"+48.0 MiB", "±0.1"}, {"+7.1 MiB", "6.2 to 9.8"}.
struct RateText {
  std::string rate, interval;
};
RateText rate_text(const ReportEstimate& of);

/// What has the capacity: "GPU 0", "the limit"; a share's label in fewer columns: "cache" of "PyTorch cache (unused)".
std::string account_name(const ReportIncident& of);
std::string short_share_label(const std::string& label);
/// "Where the 23.69 GiB of GPU 0 were when 1.50 GiB more were asked for"; for an incident with an account.
std::string account_title(const ReportIncident& of);
/// Sizes are printed with two decimals: a remainder within their slack is rounding, not memory that hides.
std::string unexplained_label(const ReportAccount& account);

/// Sizes in the unit of the total, rounded so that the printed numbers add up to the printed total, and so for per
/// cents.
struct SharesText {
  std::vector<std::string> numbers;   ///< "18.20", right-aligned to each other
  std::vector<std::string> percents;  ///< "77%"
  std::string total;                  ///< "23.69"
  std::string unit;                   ///< "GiB"
};
SharesText shares_text(const std::vector<std::int64_t>& parts, std::int64_t total);

}  // namespace oomdoctor
