// Runs a command under observation. Three kinds of processes share the work, so that none of them can harm another:
//
//   relay ──► command              this process: passes output, input and signals on; see relay.h
//     └─────► recorder ──► probes  writes down what happens, and makes the report; see recorder.h and probe.h
//
// If one of them cannot be had, the command is to take the place of this program, as if it had been started without it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/child.h"
#include "run/recorder.h"
#include "run/run_folder.h"

namespace oomdoctor {

/// What to do with the evidence of a run.
struct RunPlan {
  /// Whether a run that ended so is worth a report.
  std::function<bool(const CommandEnd&)> wants_report;
  /// Makes the report, in the process of the recorder.
  std::function<void(const RunEvidence&)> report;
  std::vector<int> descriptors = {};  ///< that report() needs, but those of the folder and the standard ones
};

/// How a run under observation ended.
struct SupervisedEnd {
  CommandEnd command;
  bool reported = false;  ///< the report was wanted and made
};

/// The system has no process, socket or memory for the observation. The command has not started.
struct CannotObserve : Error {
  explicit CannotObserve(int error);
};

/// Runs the command until it ends. Throws StartFailure and CannotObserve.
SupervisedEnd supervise(const std::vector<std::string>& words, const RunFolder& folder, const RunPlan& plan);

}  // namespace oomdoctor
