// Logs of a job that still runs: read as they grow, judged at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oomdoctor/diagnose.h"

namespace oomdoctor {

/// Follows the logs of one job. Memory is bounded, whatever they become. Not thread-safe.
class GrowingLogs {
 public:
  /// The files need not exist yet. A file that is replaced (rotated) or emptied goes on as the same log. Throws
  /// oomdoctor::Error if a rule or a format of the options cannot be read.
  GrowingLogs(const std::vector<std::string>& paths, const Options& options = {});
  ~GrowingLogs();

  /// Reads what has been written. The last bytes of each log wait, because a message may go on. Returns the bytes that the
  /// logs have had so far. Throws oomdoctor::Error if reading fails.
  std::int64_t read();
  /// Reads the rest and judges all of it: the report that diagnose() gives for the same bytes as logs of one job. Call
  /// it once; nothing may follow. To go on afterwards, call it in a forked process.
  Report conclude();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
