// The identifiers of the JSON contract in words, and numbers in readable form. All writers share them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Whether `text` has this size: "8 GiB" is not in "48 GiB".
bool has_size(std::string_view text, std::string_view size);
std::string outcome_words(Outcome outcome);  ///< for example "OUT OF MEMORY"
/// The same for the whole report: if the failures are those of earlier runs only, no program caught them.
std::string verdict_words(const Report& report);
/// RunEnd::kind in words, for example "a time limit"; more exact if the line contains a known word.
std::string_view ending_words(std::string_view kind, std::string_view line);
std::string phase_words(std::string_view phase);  ///< for example "in the backward pass"; "" for ""
std::string shape_words(std::string_view shape);  ///< for example "grows faster and faster"
std::string retry_words(const Verdict& verdict);  ///< "no: the same run would fail again"; "" without any advice
/// For example "the log b.log (Permission denied)".
std::string lost_evidence_words(const ReportLostEvidence& lost);
/// The first of the lost evidence, and how much more there is; "" if nothing is lost.
std::string lost_evidence_words(const Report& report);
std::string_view device_name(Accelerator accelerator);  ///< for example "GPU"
std::string series_name(const ReportSeries& series);    ///< for example "allocated", "allocated, rank 3"

/// True for a share of memory whose name says that it is the machine's. Others may be those of a process or of a GPU.
bool names_machine(const ReportSeries& series);

/// True for host RAM that a name as "memory_mb" does not call the machine's, if it is as small as that of a process.
bool may_be_process(const ReportSeries& series);

/// The last printed value of a setting; "" if there is none.
std::string find_setting(const Report& report, std::string_view name);
/// The model of a GPU if the log numbers its GPUs, else of any one: "NVIDIA A100-SXM4-80GB"; "" if unknown.
std::string find_gpu(const Report& report, std::optional<int> device);

std::string saving_words(const ReportFix& fix);  ///< for example "saves 2.10 to 4.20 GiB"; "" if unknown

std::string count_text(std::int64_t count);  ///< for example "128,008"
std::string plural(std::int64_t count, std::string_view one,
                   std::string_view many);  ///< for example "1 line", "2,000 lines"
std::string time_text(double time);         ///< of seconds since 1970: "2025-03-04 09:32:10"; "" outside 1970 to 3000
std::string step_text(double step);         ///< "1000", without commas as logs print it; "12.5"
std::string duration_text(double seconds);  ///< for example "45 s", "12 min", "2 h 10 min", "3 d 4 h"
std::string epoch_text(double epoch);       ///< for example "0.32", "2999"
/// Removes the unit of `first` if `last` has the same: "15.40" for "15.40 GiB" before "21.40 GiB", "12" for "12%"
/// before "80%".
std::string drop_common_unit(std::string_view last, std::string_view first);
std::string percent_text(double share);  ///< for example "92%"; "<1%" for shares that round to zero
/// For example "train.log:2001", "oom.pickle, event 812".
std::string place(const Location& at);
/// What was read: "8,412 lines and 1 allocator snapshot".
std::string read_words(const Report& report);
std::string places(const std::vector<Location>& all, std::size_t most);  ///< for example "train.log:12, 92 and 3 more"
/// The same in fewer columns: "lines 12 and 92" if there is only one input, file names alone if they are unique.
std::string short_locations(const Report& report, std::vector<Location> all, std::size_t most);

std::string short_location(
    const Report& report,
    const Location& at);  ///< for example "train.log:12"; the full path if file names are not unique
/// A range of lines: "lines 32–156", "train.log:32–156".
std::string range_of_lines(const Report& report, const Location& first, const Location& last);

/// An estimate of bytes with its interval: "7.59 ± 0.44 MiB", or "7.59 MiB (7.40 to 8.40)" if the interval is
/// asymmetric.
std::string estimate_text(const ReportEstimate& of);
/// A rate and its interval: {"+48.0 MiB", "±0.1"}, {"+7.1 MiB", "6.2 to 9.8"}. The interval is "" if it rounds to zero.
struct RateText {
  std::string rate, interval;
};
RateText rate_text(const ReportEstimate& of);

/// Sizes in the unit of the total, rounded so that the printed numbers add up to the printed total; the same for
/// percents.
struct SharesText {
  std::vector<std::string> numbers;   ///< for example "18.20"; right-aligned
  std::vector<std::string> percents;  ///< for example "77%"
  std::string total;                  ///< for example "23.69"
  std::string unit;                   ///< for example "GiB"
};
/// `parts` should add up to `total`, in bytes. A total of 0 gives shares of 0.
SharesText shares_text(const std::vector<std::int64_t>& parts, std::int64_t total);

}  // namespace oomdoctor
