// Logs of a job that still runs: read as they grow, judged at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oomdoctor/diagnose.h"

namespace oomdoctor {

/// Follows the logs of one job. Memory is bounded, whatever they become. There may be more logs than the process may
/// open files. A log that cannot be read now is tried again by the next call. Not thread-safe.
class GrowingLogs {
 public:
  /// The files need not exist yet. A file that is replaced (rotated) or emptied goes on as the same log. Throws
  /// oomdoctor::Error if a rule or a format of the options cannot be read.
  GrowingLogs(const std::vector<std::string>& paths, const Options& options = {});
  ~GrowingLogs();

  /// Reads a piece of what has been written; false if nothing is left to read for now. The last bytes of each log wait,
  /// because a message may go on.
  bool read_piece();
  /// Reads all that has been written. Returns the bytes that the logs have had so far.
  std::int64_t read();
  /// The bytes that were read so far.
  std::int64_t bytes() const;
  /// The bytes that lie in the files unread.
  std::int64_t unread() const;
  /// The logs that could not be read by the last call, each in a sentence without a full stop. A log that does not
  /// exist yet is not a problem.
  std::vector<std::string> problems() const;
  /// Gives all descriptors back until they are needed again.
  void close_files();

  /// Judges what was read so far, and reads no file. Call it once, in a forked process; nothing may follow.
  Report report_so_far();
  /// Reads the rest, and judges all of it: the report that diagnose() gives for the same bytes as logs of one job. It
  /// stops reading when `stop` returns true between two pieces. The report names what could not be read. Call it once;
  /// nothing may follow.
  Report conclude(const std::function<bool()>& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomdoctor
