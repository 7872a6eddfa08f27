// The pipeline of all public functions: read, analyse, judge, report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "facts/analysis.h"
#include "fold/scanner.h"
#include "formats/user_formats.h"
#include "judge/rule_pack.h"
#include "model/scan_result.h"
#include "oomdoctor/diagnose.h"
#include "text/members.h"

namespace oomdoctor {

/// Reads logs with the shipped formats and the user's. Each result names the user's formats in a note, because a reader
/// of the report may not have them.
class LogReader {
 public:
  /// Throws Error for a format file that cannot be read.
  explicit LogReader(const std::vector<std::string>& format_files);

  /// Reads one log on `threads` threads. Throws Error if it cannot be opened; a later failure is lost evidence.
  ScanResult read(const LogSource& log, std::size_t threads) const;
  /// The digest of the log's content. Throws Error if it cannot be read, or not twice.
  std::string digest_of(const LogSource& log) const;
  const Scanner& scanner() const { return *scanner_; }
  /// A scan with everything that a result has besides.
  ScanResult finished(ScanResult scan) const;

 private:
  const Scanner* scanner_;
  std::optional<UserFormats> formats_;
  std::optional<Scanner> extended_;
  mutable OpenArchives archives_;  ///< thread-safe
};

/// The case of a log that cannot be opened.
ScanResult unread_log(const std::string& path, const Error& error);
/// True if a log was read only in part, because reading failed.
bool was_cut_by_failure(const ScanResult& file);

/// The shipped rules plus the user's. Built before oomdoctor reads a log, so an invalid rule fails at once.
class Rules {
 public:
  /// Throws Error for a rule that cannot be read.
  explicit Rules(const Options& options);
  const RulePack& pack() const;

 private:
  std::optional<RulePack> extended_;
};

/// The report, and what it was made from.
struct Result {
  ScanResult scan;
  Analysis analysis;
  Report report;
};

/// What a result is for. The line of a survey shows no series, so that it needs few trends.
enum class Purpose { report, line };

/// From the content of the logs to the report. The lost evidence and the notes of the options count as of these logs.
Result diagnose_scan(ScanResult scan, const Rules& rules, const Options& options, std::size_t threads,
                     Purpose purpose = Purpose::report);

/// The threads of the options; by default as many as the machine runs at once.
std::size_t thread_count(const Options& options);
/// With few logs, read one after the other, each on all threads. With many, read them in parallel, one thread each.
std::size_t threads_per_log(std::size_t logs, const Options& options);
/// True for a log that can be read only once: standard input, a pipe, a terminal.
bool is_stream(const LogSource& log);
/// The last change of a log's file, of a log in several pieces that of the last one, in seconds since 1970; nullopt for
/// a log in memory or in an archive.
std::optional<std::int64_t> file_time(const LogSource& log);

}  // namespace oomdoctor
