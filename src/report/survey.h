// From the reports of many jobs to a survey: the line of each job, then the totals.
#pragma once

#include <string>
#include <vector>

#include "facts/analysis.h"
#include "oomdoctor/survey.h"

namespace oomdoctor {

/// True if the job ran out of memory, or probably did. The totals of failures count these jobs.
bool is_memory_failure(const SurveyJob& job);

/// The line of one job, without its user. `report` must be the report of `scan` and `analysis`.
///
/// The lost time is the time from the last checkpoint of the run to the failure; without a checkpoint, from the first
/// date of the run. Both ends need a date. A checkpoint counts if the log says that it is saved, except for one during
/// which the run failed. Unknown if the log has one date only, or the report is by a machine whose log began earlier.
SurveyJob make_survey_job(const Report& report, const ScanResult& scan, const Analysis& analysis);

/// The date of the job: of its failure, else of its end, else of its log's file.
std::optional<double> time_of(const SurveyJob& job);
bool is_dated_by_file(const SurveyJob& job);

/// Sorts the jobs and adds them up. The order of the jobs has no effect.
Survey make_survey(std::vector<SurveyJob> jobs, std::vector<ReportNote> notes);

/// An ISO week: weeks begin on Monday, and a year's first week contains its first Thursday.
struct IsoWeek {
  std::string name;      ///< for example "2025-W09"
  std::string monday;    ///< for example "2025-02-24"
  std::int64_t day = 0;  ///< of its Monday, in days since 1970
};
/// The week of a time in seconds since 1970, in the same time zone.
IsoWeek iso_week(double time);

}  // namespace oomdoctor
