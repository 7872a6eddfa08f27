// The runs of a log, the end of each, and the outcome of the whole log.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/scan_result.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// The event that ended a run, if the log shows it and it was not memory.
struct Ending {
  std::string kind;  ///< "finished", "exception", "crash", "timeout", "cancelled", "preempted", "disk_full", "limit",
                     ///< "nccl", "device_error", "signal", "agent_lost", "rejected", "not_accepted", "probe",
                     ///< "unresponsive", "exit"
  Evidence at;
  bool decides = false;   ///< it explains the end by itself; an exit code alone does not show its reason
  bool of_group = false;  ///< an exception of torch.distributed: another process may have failed first
};

/// One run of a log.
struct RunSummary {
  i64 first_line = 1, last_line = 0;
  Outcome outcome = Outcome::no_oom;
  std::optional<Ending> ending;
  std::optional<std::size_t> failure;  ///< index of its first unhandled incident
  bool several_ends = false;           ///< exceptions of several kinds ended it: it may be several short runs
};

/// All runs of a log, and the one that the verdict is about.
struct Runs {
  std::vector<RunSummary> all;  ///< in the order of the log, at least one
  std::size_t judged = 0;       ///< the last run; or the last one that ran out of memory, if the last is unfinished
  Outcome outcome = Outcome::no_oom;  ///< of the whole log, from its failures and ends alone
  bool memory_was_left = false;       ///< a recorded run shows that neither the machine nor a control group was short
  bool overcome = false;              ///< earlier runs ran out of memory, and the last one got further
  bool lost = false;                  ///< evidence is lost
  bool lost_end = false;              ///< what is lost may hold the end of the last run, or a failure after it

  /// Of each input with series, the run whose series count: the one of the verdict, or an earlier one if that printed
  /// too few values.
  std::map<int, int> followed;

  const RunSummary& last() const { return all.back(); }
  bool follows(const Series& series) const {
    const auto run = followed.find(series.first_evidence.span.source);
    return run == followed.end() || run->second == series.run;
  }
};

/// Splits the log into runs and finds the end of each. Several logs count as one run, because their ends cannot be
/// separated; exports of memory values next to a log do not count as logs.
Runs find_runs(const ScanResult& scan);

}  // namespace oomdoctor
