// The library's one entry: logs in, report out. A damaged log is never an error; a source, rule or format that
// cannot be read is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// How far the reading of many logs has come.
struct Progress {
  std::size_t done = 0, all = 0;  ///< logs
};

struct Options {
  std::optional<std::int64_t> capacity_bytes;  ///< of the device, where the log does not print it
  std::string rules_folder;               ///< holds causes/, fixes/, myths/ that add to the shipped rules; "" for none
  std::vector<std::string> format_files;  ///< TOML files that declare line formats beside the shipped ones
  std::string why_not;                    ///< id of a cause to account for in Report::why_not; "" for none
  bool trace = false;                     ///< fill Report::trace
  bool secrets_in_parts = false;          ///< read_parts() leaves tokens, passwords and keys in
  std::size_t jobs = 0;                   ///< threads to work on, 0 for as many as the machine runs at once; the report
                                          ///< is the same for every number
  std::function<void(const Progress&)> progress;  ///< called after each log, from one thread at a time; may be empty
};

/// One log. `path` "-" is standard input. With `memory` that text is read instead, and `path` is only its name.
struct LogSource {
  std::string path;
  std::optional<std::string> memory;
};

/// Reads all sources and judges them: as the logs of one job, or where they tell that they are of several (by scheduler
/// job numbers, times, settings, programs, devices), job by job: Report::runs has one line for each, and the report is
/// about the last that ran out of memory. Pipes, which cannot be read twice, are always logs of one job. Throws
/// oomdoctor::Error (a std::runtime_error) when a source, a rule or a format cannot be read. Same sources, same
/// options, same report.
Report diagnose(const std::vector<LogSource>& sources, const Options& options = {});

// The same in two halves, for more logs than one machine wants to read. Parts are lines of JSON without their end (see
// oomdoctor schema partial).

/// Takes one part.
using PartSink = std::function<void(std::string_view line)>;

/// Reads each log for itself and hands out a part of each, in their order. What a diagnosis takes beside the formats
/// (capacity, rules) is asked for when the parts are merged. Throws oomdoctor::Error as diagnose() does, and for a log
/// that cannot be read twice, as a pipe.
void read_parts(const std::vector<LogSource>& sources, const Options& options, const PartSink& take);

/// Judges the logs of all parts in these files: what diagnose() says of the logs themselves, in the order of their
/// paths. A log that is in several parts counts once. A file that cannot be read and a line that is no part are left
/// out, which a note says; throws oomdoctor::Error where nothing else is left.
Report merge(const std::vector<std::string>& part_files, const Options& options = {});

/// Hands out those parts again: each log once, in the order of their paths. Returns what was left out, and why.
std::vector<std::string> merge_parts(const std::vector<std::string>& part_files, const PartSink& take);

}  // namespace oomdoctor
