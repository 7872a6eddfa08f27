// Combines the reports of several jobs: one line per job, and the full report of one of them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// Add the reports in the order of the jobs, then take the result once.
class SeveralJobs {
 public:
  /// Adds the report of the next job. `logs` are the indices of its inputs among the inputs of all jobs.
  void add(Report job, const std::vector<std::size_t>& logs);

  /// The full report of the last job that ran out of memory, or else of the last job with the worst outcome. Call it
  /// once, after at least one add().
  Report take();

 private:
  std::optional<Report> worst_;
  std::vector<ReportRun> runs_;
  std::map<std::size_t, ReportInput> inputs_;
  ReportCoverage coverage_;
  std::vector<ReportLostEvidence> lost_;
  std::int64_t more_lost_ = 0;
  bool unread_ = false;            ///< the logs of a job are lost
  std::size_t out_of_memory_ = 0;  ///< number of jobs
};

}  // namespace oomdoctor
