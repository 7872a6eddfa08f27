// Decides whether the program survived a failure: from remarks near it, from the steps after it, and from the wording
// of its log line. A dead program makes no steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fold/current_line.h"
#include "fold/run_tracker.h"
#include "model/scan_result.h"

namespace oomdoctor {

/// What the incident of the same index needs until the end of the input.
struct IncidentContext {
  StreamId stream;
  i64 advances = 0;                             ///< of the stream at the time of the failure
  int ended = 0;                                ///< RunTracker::ended() at the failure
  i64 line = 0;                                 ///< last line of the latest report
  std::string test;                             ///< name of the failed test, if a test summary names it; else empty
  std::optional<StreamProgress> progress = {};  ///< of the stream at the end of that run, if it made a step in it
  bool of_end = false;  ///< a description of the container before its log: the failure is at the end of the log
};

class Recovery {
 public:
  /// Keeps a remark that may show that the program survived a failure. Ignores others.
  void remark(const CurrentLine& here, std::string_view id, int ended, int run);
  /// Marks the incidents that the program survived as handled.
  void mark(std::vector<Incident>& incidents, const std::vector<IncidentContext>& contexts) const;

 private:
  struct SurvivalSign {
    i64 line;
    i64 through;  ///< last line that the parser read with it
    StreamId stream;
    int ended;
    int run;  ///< number of the run
    std::string id;
    Evidence evidence;
  };
  static bool shows(const SurvivalSign& sign, const Incident& incident, const IncidentContext& context);

  std::vector<SurvivalSign> signs_;
};

}  // namespace oomdoctor
