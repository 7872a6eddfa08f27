// The logs of several jobs in one report: one line for each, and everything about one of them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

class SeveralJobs {
 public:
  /// The report of the next job; `logs`: the places of its inputs among those of all jobs.
  void add(Report job, const std::vector<std::size_t>& logs);

  /// Everything is about the last job that ran out of memory; without one, about the last that did worst. To be called
  /// once, after at least one job.
  Report take();

 private:
  std::optional<Report> worst_;
  std::vector<ReportRun> runs_;
  std::map<std::size_t, ReportInput> inputs_;
  ReportCoverage coverage_;
  std::size_t out_of_memory_ = 0;  ///< jobs
};

}  // namespace oomdoctor
