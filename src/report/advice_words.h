// Why it happened and what to do, in words that every report for people uses. Words may quote the log and are not
// neutralised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The program caught what failed, and no fix is offered.
bool is_nothing_to_fix(const Report& report);
/// "Step too large for the GPU" of "Step too large for the GPU (batch, sequence or image size)": a title's first words.
std::string short_cause_name(const ReportCause& cause);
/// The cause with its confidence, or the candidates with their shares: "Memory leak: each step keeps memory (95%)",
/// "Cause unclear: Fragmentation 40%, Memory leak 20%". The headline where there is no cause.
std::string conclusion_words(const Report& report);
/// The cause and how sure it is. A headline that names the cause already gets the strongest reason instead.
std::string why_words(const Report& report);
/// Without a failure: the series that grows all the same; null where none does.
const ReportSeries* still_growing(const Report& report);
/// How to learn when a series that grows is full; "" where that is known, or nobody can know.
std::string capacity_hint(const ReportSeries& growing);
/// Without a failure: what grows all the same, and how to learn when it is full; "" where nothing does.
std::string still_growing_words(const Report& report);
/// What would have been found, had it been there: "OOM messages, kills, full shared memory, growth in 3 memory series".
std::string looked_for_words(const Report& report);

inline constexpr std::string_view enough_words = "enough on its own", free_words = "costs nothing";
/// "costs nothing", "up to 5% slower, numerics differ slightly"; "" when unknown.
std::string cost_words(const ReportFix& fix);
/// "saves 4.20 to 6.00 GiB", "enough on its own", "costs nothing", …
std::vector<std::string> fix_details(const ReportFix& fix);
/// What must be freed, and which fixes together free it, by their numbers in the list; "" without a plan.
std::string plan_words(const Report& report);

}  // namespace oomdoctor
