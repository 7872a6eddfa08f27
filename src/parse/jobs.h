// Which inputs are the logs of one job. Ranks, both outputs of a program and the records of its machine are one case;
// logs of different jobs are not: nothing that one of them says may serve another.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// By what the logs of one job are known to belong together, or not to. Absent is unknown.
struct LogIdentity {
  std::string program;                        ///< its path without rank and output
  std::string job;                            ///< the scheduler's number
  bool ran = false;                           ///< a program's own log: it worked, failed or ended in it
  std::set<std::string> words;                ///< of its name
  std::string framework, allocator, wording;  ///< of its failures on a device; the wording tells PyTorch's version
  std::string script;                         ///< the outermost file of its tracebacks that is no library's
  std::optional<i64> capacity;                ///< of the device
  Period period;
  std::optional<i64> first_step, last_step;
  std::map<std::string, std::string> settings;  ///< those that are the same on all ranks
};

/// `file`: one log, as Scanner::scan(Source&) made it.
LogIdentity read_identity(const ScanResult& file);

/// The inputs of each job: one job with all of them, unless something tells two apart. Of several jobs, a log that
/// nothing joins to another one is by itself. They stand in the order of their ends, or of their first inputs where
/// not all are dated.
std::vector<std::vector<std::size_t>> group_by_job(const std::vector<LogIdentity>& logs);

}  // namespace oomdoctor
