// The survey of many jobs: one line per job, and what they have in common. Plain strings and numbers, as in report.h,
// and every writer is a pure function of it. Texts from the log are unescaped; sizes are in bytes, times in seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// The version of the JSON contract of a survey: of its JSON Lines, and of its totals.
inline constexpr const char* survey_schema_version = "1.0";

/// A fix that the report of a job lists.
struct SurveyFix {
  std::string id, title;
  bool diagnostic = false;  ///< it provides information, and changes nothing in the next run

  friend bool operator==(const SurveyFix&, const SurveyFix&) = default;
};

/// One job. Texts are "" and numbers absent where the logs do not show them.
struct SurveyJob {
  std::string job;                        ///< the scheduler's number
  std::string path;                       ///< the log that the line is about: that of the failure, else the first one
  std::int64_t logs = 0;                  ///< number of logs
  std::string user;                       ///< whose home folder a path of the job is in
  std::string program;                    ///< the program, else the framework: "vLLM", "PyTorch"
  std::string gpu;                        ///< the model
  std::optional<std::int64_t> gpu_bytes;  ///< memory of the GPU that failed
  std::optional<std::int64_t> gpus;       ///< number of GPUs in the logs; the job may have more
  Outcome outcome = Outcome::no_oom;
  std::string cause;  ///< a cause id, "undetermined", or "" if there is nothing to explain
  std::string cause_title;
  double confidence = 0;             ///< probability of the cause, 0 … 1
  std::string place;                 ///< the function of the user's code that failed: "model.py in forward"
  std::string failure;               ///< in words: "The GPU ran out of memory, in the backward pass"
  std::string fingerprint;           ///< equal for the same cause in the same place
  std::vector<SurveyFix> fixes;      ///< in the order to try
  std::optional<std::int64_t> step;  ///< of the failure, else the last one
  std::optional<double> failed_at;   ///< the latest date up to the failure, seconds since 1970 by the log's clock
  std::optional<double> ended_at;    ///< the last date in the logs
  /// The last change of the log's file, UTC, if no date was found near the failures; absent for logs that were not read
  /// as files.
  std::optional<double> file_time = {};
  std::optional<double> lost_seconds;  ///< from `lost_since` to the failure
  std::string lost_since;   ///< "checkpoint": the last one that the run saved; "start": the first date of the run; ""
  std::string headline;     ///< of the job's report
  std::string report = {};  ///< words only: the page that oomdoctor wrote next to the log; "" without one
};

/// Sums over a group of jobs.
struct SurveySums {
  std::int64_t jobs = 0;
  std::int64_t gpus = 0;        ///< of the jobs whose number of GPUs is known
  std::int64_t timed = 0;       ///< jobs whose lost time is known
  double lost_seconds = 0;      ///< of these jobs
  double lost_gpu_seconds = 0;  ///< lost time of a job times its GPUs, or times 1
};

/// The jobs with one outcome or cause.
struct SurveyGroup {
  std::string id, title;
  SurveySums sums;
};

/// One ISO week.
struct SurveyWeek {
  std::string week;       ///< for example "2025-W09"
  std::string starts;     ///< its Monday: "2025-02-24"
  std::int64_t jobs = 0;  ///< that failed or ended in the week
  SurveySums failed;      ///< those that ran out of memory
};

/// Jobs that ran out of memory for the same cause in the same place.
struct SurveyOffender {
  std::string fingerprint, cause, cause_title, place;
  std::string failure;             ///< of the latest job, in words
  std::vector<std::string> users;  ///< known ones, sorted
  std::string example;             ///< log of the latest job
  std::optional<double> last;      ///< the latest failure, seconds since 1970
  bool last_by_file = false;       ///< words only: no date was found near its failure, so it is that of the file
  std::optional<SurveyFix> fix;    ///< the one that the most of these jobs list
  std::int64_t fix_jobs = 0;       ///< number of jobs that list it
  SurveySums sums;
};

/// The result of survey().
struct Survey {
  std::string tool_version;
  std::vector<SurveyJob> jobs;            ///< by the time of the failure or the end; those without a date first
  SurveySums all, failed;                 ///< `failed`: ran out of memory, or probably so
  std::vector<SurveyGroup> outcomes;      ///< the worst first; only those of a job
  std::vector<SurveyGroup> causes;        ///< of `failed`; the most jobs first
  std::vector<SurveyWeek> weeks;          ///< in order, without gaps of up to a year
  std::int64_t undated = 0;               ///< failures without a date, also of the log's file
  std::int64_t file_dated = 0;            ///< failures with the date of the log's file only; weeks count them
  std::vector<SurveyOffender> offenders;  ///< of at least two jobs; the most jobs first, then the most lost time
  std::vector<ReportNote> notes;
};

}  // namespace oomdoctor
