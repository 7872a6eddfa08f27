// A command of oomdoctor in a process next to the caller, with its output captured. Whatever a log makes it do (crash,
// use memory, take long), the caller goes on, and may end it at any time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace oomdoctor::cli {

struct CapturedRun {
  std::string output;           ///< of standard output, the first bytes
  std::string errors;           ///< of standard error, the first bytes
  std::size_t output_size = 0;  ///< in bytes, of all of its standard output
  int status = 0;               ///< exit status
  int signal = 0;               ///< that killed it; 0 if none
  bool cancelled = false;
};

/// What the caller also waits for.
struct OtherInput {
  std::function<int()> descriptor;  ///< becomes readable; negative if there is nothing to wait for now
  std::function<bool()> read;       ///< called when it is; false cancels the run
};

/// Calls `work` in a forked process without standard input, and waits for its end. `work` returns the exit status.
/// Keeps `max_output` bytes. Throws std::system_error if the system has no pipe or no process for it, or cannot wait.
CapturedRun run_captured(const std::function<int()>& work, std::size_t max_output, const OtherInput& other);

}  // namespace oomdoctor::cli
