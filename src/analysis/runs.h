// The runs of a log: how each of them ended, and what that makes of the whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// What ended a run, where the log shows it and it was not memory.
struct Ending {
  std::string kind;  ///< "finished", "exception", "crash", "timeout", "cancelled", "disk_full", "limit", "nccl",
                     ///< "device_error", "signal", "exit"
  Evidence at;
  bool decides = false;  ///< it explains the end by itself: an exit's code or signal leaves open why it was sent
};

struct RunSummary {
  i64 first_line = 1, last_line = 0;
  std::string outcome;  ///< "oom", "possible_oom", "handled_oom", "ended_otherwise", "no_oom"
  std::optional<Ending> ending;
  std::optional<std::size_t> failure;  ///< its first incident that was not handled
};

struct Runs {
  std::vector<RunSummary> all;  ///< in their order, at least one
  std::size_t judged = 0;       ///< the last one, or the last that ran out of memory where the last is unfinished
  std::string outcome;          ///< of the whole, by its failures and ends alone
  bool overcome = false;        ///< earlier runs ran out of memory, and the last one got further

  const RunSummary& last() const { return all.back(); }
};

/// Many logs are one run: their ends are not told apart.
Runs runs_of(const ScanResult& scan);

}  // namespace oomdoctor
