// The cause and the advice in words, for every report that people read. The words may quote the log; the caller escapes
// them for its output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Reports that people read leave out causes below it, except for the first; the JSON has them.
inline constexpr double min_shown_probability = 0.02;

/// Whether nothing failed and nothing is at risk.
bool is_all_clear(const Report& report);
/// Whether the verdict names a cause. cause_name() is its title, or its id without a title.
bool has_cause(const Verdict& verdict);
std::string cause_name(const Verdict& verdict);
/// Whether TensorFlow's pool tried a size that the driver refused: it then tries smaller ones, and no program caught
/// it.
bool is_pool_refusal(const ReportIncident& of);
/// The failures that the program caught, listed or not.
std::int64_t count_caught(const Report& report);
/// True if the last run ended for another reason than memory, and the failures, the cause and the fixes are those of an
/// earlier run.
bool is_about_earlier_run(const Report& report);
/// Whether the program caught the failure and the report offers no fix.
bool is_nothing_to_fix(const Report& report);
/// The first words of a cause's title, up to ':' or '(': "Step too large for the GPU" of "Step too large for the GPU
/// (batch, sequence or image size)".
std::string short_cause_name(const ReportCause& cause);
/// "3 OOMs caught. " before a conclusion about several failures that the program caught; else "".
std::string caught_words(const Report& report);
/// The verdict's cause behind the title of its failure, with its confidence: ": memory leak (95%)", ": cause unclear";
/// " (99%)" if the title says it already; "" without a cause.
std::string cause_clause(const Report& report, std::string_view title);
/// What cause_clause() says of growth that is the first reason for the cause: "+48.0 MiB per step, only rank 17 of 64
/// grows"; "" if growth is not.
std::string growth_clause(const Report& report);
/// The causes to name while the cause is unclear, the most probable first: at most two, and none that is
/// improbable.
std::vector<const ReportCause*> candidate_causes(const Report& report);
/// The cause with its confidence: "Memory leak: each step keeps memory (95%)". If the cause is unclear, the two most
/// probable causes: "Cause unclear: Fragmentation 40%, Memory leak 20%". Without a cause, the headline.
std::string conclusion_words(const Report& report);
/// The cause with its probability. If the headline names the cause already, with the strongest reason. "" without a
/// cause.
std::string why_words(const Report& report);
/// A series that grows although nothing failed: a leak with enough confidence, else a short series that rises. Null if
/// there is none. Points into the report.
const ReportSeries* find_growing_series(const Report& report);
/// The series that a report shows if it shows one: a growing one, else the peaks of the GPU's memory, else the one with
/// most values. Of single values, the largest. Null if there is none.
const ReportSeries* find_main_series(const Report& report);

/// True if oomdoctor read values of memory, or a snapshot of an allocator.
bool has_memory_values(const Report& report);

/// True if nothing was recognised, and no note says why.
bool is_unexplained(const Report& report);
/// How to learn when a growing series is full. "" if the report has a forecast, or if the series has no capacity that
/// --capacity could give.
std::string capacity_hint(const ReportSeries& growing);
/// The series of find_growing_series() in words, with its forecast or with capacity_hint(). "" if there is none.
std::string growing_series_words(const Report& report);
/// The failures that oomdoctor searched for, for a log without one: "OOM messages, kills, a full /dev/shm, growth in
/// 3 memory series".
std::string performed_checks_words(const Report& report);

/// The slowdown of a fix: class 0 to 4. Other numbers are clamped.
std::string_view cost_text(int cost);
/// The effect of a fix on the training result: class 0 to 3. Other numbers are clamped.
std::string_view risk_text(int risk);
inline constexpr std::string_view enough_words = "enough on its own", free_words = "costs nothing";
/// For example "costs nothing" or "up to 5% slower, numerics differ slightly"; "" if unknown.
std::string cost_words(const ReportFix& fix);
/// "Fixed when", or "Done when" for a diagnostic, which fixes nothing.
std::string_view success_label(const ReportFix& fix);
/// For example {"saves 4.20 to 6.00 GiB", "enough on its own", "costs nothing"}.
std::vector<std::string> fix_details(const ReportFix& fix);
/// The missing memory, and the fixes that together free it, by their numbers in the report; "" without a plan.
std::string plan_words(const Report& report);

}  // namespace oomdoctor
