// The cause and the advice in words, for every report that people read. The words may quote the log; the caller escapes
// them for its output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/causes.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// Whether nothing failed and nothing is at risk.
bool is_all_clear(const Report& report);
/// Whether the verdict names a cause. cause_name() is its title, or its id without a title.
bool has_cause(const Verdict& verdict);
std::string cause_name(const Verdict& verdict);
/// The id of a failure whose cause is unclear, where reports print the id of a cause. JSON has "undetermined".
inline constexpr std::string_view unclear_id = "oom";
/// What `oomdoctor explain` takes to explain the verdict: the id of its cause, or unclear_id; "" if nothing failed.
std::string explained_id(const Report& report);
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
/// The verdict's cause after the title of its failure, with its confidence: ": memory leak (95%)", ": cause unclear";
/// " (99%)" if the title says it already; "" without a cause.
std::string cause_clause(const Report& report, std::string_view title);
/// What cause_clause() says of growth that is the first reason for the cause: "+48.0 MiB per step, only rank 17 of 64
/// grows"; "" if growth is not.
std::string growth_clause(const Report& report);
/// The causes to name while the cause is unclear, the most probable first: at most two, and none that is
/// improbable.
std::vector<const ReportCause*> candidate_causes(const Report& report);
/// One row for each of these, and one for all others together, unless they are improbable.
struct CandidateRow {
  double probability = 0;
  std::string name;
  bool of_several = false;  ///< the sum of causes that have no name here: no bar, which would be the longest
};
std::vector<CandidateRow> candidate_rows(const Report& report);
/// The cause with its confidence: "Memory leak: each step keeps memory (95%)". If the cause is unclear, the two most
/// probable causes: "Cause unclear: Fragmentation 40%, Memory leak 20%". Without a cause, the headline.
std::string conclusion_words(const Report& report);
/// The cause with its probability. If the headline names the cause already, with the strongest reason. "" without a
/// cause.
std::string why_words(const Report& report);
/// True if oomdoctor read values of memory, or a snapshot of an allocator.
bool has_memory_values(const Report& report);

/// True if nothing was recognised, and no note says why.
bool is_unexplained(const Report& report);
/// How to learn when a growing series is full. "" if the report has a forecast, or if the series has no capacity that
/// --capacity could give.
std::string capacity_hint(const ReportSeries& growing);
/// The series of find_growing_series() in words, with its forecast or with capacity_hint(). "" if there is none.
std::string growing_series_words(const Report& report);
/// The other series that grow as surely, with their rates: "memory, current, GPU 0 (+28.5 MiB per step)". "" if there
/// is none.
std::string other_growing_words(const Report& report);
/// The failures that oomdoctor searched for, for a log without one: "OOM messages, kills, a full /dev/shm, growth in
/// 3 memory series".
std::string performed_checks_words(const Report& report);

/// The signs for a cause and those against it, as `oomdoctor explain` lists them; no empty list. Points into `of`.
struct SignList {
  std::string_view title, side;  ///< "Signs for it", "for"
  const std::vector<std::string>* signs = nullptr;
};
std::vector<SignList> list_signs(const CauseExplanation& of);

/// What does not help, without what is popular everywhere and neither shown nor suggested by this log.
std::vector<const HeldBack*> shown_advice(const Report& report);

/// The slowdown of a fix: class 0 to 4. Other numbers are clamped.
std::string_view cost_text(int cost);
/// The effect of a fix on the training result: class 0 to 3. Other numbers are clamped.
std::string_view risk_text(int risk);
inline constexpr std::string_view enough_words = "enough on its own", free_words = "costs nothing";
/// For example "costs nothing" or "slightly slower, numerics differ slightly"; "" if unknown.
std::string cost_words(const ReportFix& fix);
/// "Fixed when", or "Done when" for a diagnostic, which fixes nothing.
std::string_view success_label(const ReportFix& fix);
/// Whether the fix alone frees what is missing; "" if that is not known.
std::string_view sufficiency_words(const ReportFix& fix);
/// Cost and risk together, or each in its own words also where there is none.
enum class Effects { together, each };
/// For example {"saves 4.20 to 6.05 GiB", "enough on its own", "costs nothing"}.
std::vector<std::string> fix_details(const ReportFix& fix, Effects effects = Effects::together);
/// The missing memory, and the fixes that together free it, by their numbers in the report; "" without a plan.
std::string plan_words(const Report& report);

}  // namespace oomdoctor
