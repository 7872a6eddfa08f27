// The library's one entry: logs in, report out. A damaged log is never an error; a source, rule or format that
// cannot be read is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct Options {
  std::optional<std::int64_t> capacity_bytes;  ///< of the device, where the log does not print it
  std::string rules_folder;               ///< holds causes/, fixes/, myths/ that add to the shipped rules; "" for none
  std::vector<std::string> format_files;  ///< TOML files that declare line formats beside the shipped ones
  std::string why_not;                    ///< id of a cause to account for in Report::why_not; "" for none
  bool trace = false;                     ///< fill Report::trace
};

/// One log. `path` "-" is standard input. With `memory` that text is read instead, and `path` is only its name.
struct LogSource {
  std::string path;
  std::optional<std::string> memory;
};

/// Reads all sources as the logs of one run and judges them. Throws oomdoctor::Error (a std::runtime_error) when a
/// source, a rule or a format cannot be read. Same sources, same options, same report.
Report diagnose(const std::vector<LogSource>& sources, const Options& options = {});

}  // namespace oomdoctor
