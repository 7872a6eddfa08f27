// The options of `oomdoctor watch`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace oomdoctor::cli {

struct WatchOptions {
  std::vector<std::string> paths;
  std::chrono::duration<double> every{1};
  double warn_before = 0;  ///< seconds
  double warn_at = 0;      ///< share of the memory
  std::string on_risk, prometheus;
  std::optional<pid_t> pid;
  bool json = false;
};

/// Throws Error for an invalid value, and without a log.
WatchOptions read_watch_options(const Arguments& arguments);

}  // namespace oomdoctor::cli
