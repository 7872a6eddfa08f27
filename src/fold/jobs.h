// Groups inputs by job. The logs of all ranks, both outputs of a program and the records of its machine are one case.
// Facts of one job must never be used for another.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// Properties that show whether two logs belong to one job. Empty or absent means unknown.
struct LogIdentity {
  std::string program;                        ///< path without rank and output stream
  std::string job;                            ///< the scheduler's job number
  bool ran = false;                           ///< a program's own log: it shows progress, a failure or an end
  std::set<std::string> words;                ///< words of the file name
  std::string framework, allocator, wording;  ///< from its GPU failures; the wording shows PyTorch's version
  std::string script;                         ///< the outermost file of its tracebacks that is not in a library
  std::optional<i64> capacity;                ///< of the GPU, in bytes
  /// First and last time of the log.
  Period period;
  std::optional<i64> first_step, last_step;
  std::map<std::string, std::string> settings;  ///< those that all ranks share
  bool record = false;                          ///< of a machine: an export of a monitor, or a kernel's log
};

/// `file` is the result of one log, from Scanner::scan(Source&).
LogIdentity read_identity(const ScanResult& file);

/// Adds the properties of another log of the same job. Of two known values, the first one stays.
void merge_identity(LogIdentity& job, const LogIdentity& more);

/// The indices of the inputs of each job. All inputs are one job unless something separates two of them. With several
/// jobs, a log that nothing connects to another is a job by itself. The jobs are in the order of their ends, or of
/// their first inputs if some have no times.
std::vector<std::vector<std::size_t>> group_by_job(const std::vector<LogIdentity>& logs);

/// The same for logs that are known to be of many jobs: by the job number or the program in their paths alone. The jobs
/// are in the order of their first logs.
std::vector<std::vector<std::size_t>> group_by_path(const std::vector<std::string>& paths);

/// The properties of a job by which a record of its machine finds it. Much smaller than a LogIdentity, because a survey
/// keeps them for every job.
struct JobSpan {
  bool ran = false;             ///< as in LogIdentity
  bool unnamed_record = false;  ///< a record of a machine, without a job number
  Period period = {};
};
JobSpan span_of(const LogIdentity& job);

/// For each job that consists of a machine's records alone: the index of the only other job that overlaps it in time.
/// nullopt for all other jobs, and for a record of no job or of several.
std::vector<std::optional<std::size_t>> find_jobs_of_records(const std::vector<JobSpan>& jobs);

}  // namespace oomdoctor
