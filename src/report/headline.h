// The headlines: one sentence about the whole log, and one about each of its runs. They name lines by file name and
// line, because a long path does not fit; the locations of the report have it.
#pragma once

#include <optional>
#include <string>

#include "facts/analysis.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// False if a headline of this outcome names no series but the one that the facts are about.
bool headline_may_name_series(Outcome outcome);

/// The headline of the verdict. `report` is complete except for it and for `runs`.
std::string headline(const ScanResult& scan, const Analysis& analysis, const Report& report);

/// The end of the last run without its place, below a headline that has it: "the last run ended with `KeyError: 'x'`".
std::string last_end_words(const Report& report);

/// For example "1.50 GiB requested, 1.06 GiB of 23.69 GiB free (train.log:2001)". `failure` is null for a run without
/// one.
std::string run_headline(const ReportRun& run, const ReportIncident* failure);

}  // namespace oomdoctor
