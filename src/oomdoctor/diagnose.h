// The public API: logs in, report out. A damaged log is never an error; a rule or format that cannot be read is, and so
// is a case without any source that can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"
#include "oomdoctor/survey.h"

namespace oomdoctor {

/// The progress of a reading of many logs.
struct Progress {
  std::size_t done = 0, all = 0;  ///< number of logs
};

/// Options of diagnose(), read_parts(), merge() and survey().
struct Options {
  std::optional<std::int64_t> capacity_bytes;  ///< of the GPU, if the log does not print it
  std::string rules_folder;  ///< contains causes/, fixes/, myths/ in addition to the shipped rules; "" for none
  std::vector<std::string> format_files;  ///< TOML files that declare line formats in addition to the shipped ones
  std::string why_not;                    ///< id of a cause to explain in Report::why_not; "" for none
  bool trace = false;                     ///< fill Report::trace
  std::vector<ReportLostEvidence> lost;   ///< what the caller could not offer as a source, with the reasons
  std::vector<std::string> notes;         ///< remarks of the caller on the sources, for the report
  bool secrets_in_parts = false;          ///< keep tokens, passwords and keys in the output of read_parts()
  std::size_t jobs = 0;                   ///< number of threads, 0 for the machine's number; the report
                                          ///< does not depend on it
  std::function<void(const Progress&)> progress;  ///< called after each log, from one thread at a time; may be empty
};

/// The place of a log in an archive with members: tar, zip, 7z.
struct ArchiveMember {
  std::string archive;    ///< path
  std::size_t index = 0;  ///< among its entries
};

/// One log. `path` "-" is standard input. If `memory` or `member` is set, it has the content, and `path` is only a
/// name.
struct LogSource {
  std::string path;
  std::optional<std::string> memory = {};
  std::vector<std::string> continued = {};  ///< files that continue the log, in order: pieces that its writer cut
  std::optional<ArchiveMember> member = {};
};

/// Reads all sources and judges them. The sources count as logs of one job unless scheduler job numbers, times,
/// settings, programs or GPUs show several jobs. Then each job is judged separately: Report::runs has one line per job,
/// and the report is about the last job that ran out of memory. Pipes cannot be read twice, so they always count as
/// logs of one job. A source that cannot be read to its end is lost evidence of the report. Throws oomdoctor::Error (a
/// std::runtime_error) if no source can be read, and for a rule or a format that cannot. Same sources and options, same
/// report.
Report diagnose(const std::vector<LogSource>& sources, const Options& options = {});

// The same in two halves, for more logs than one machine should read. A part is one line of JSON without its line end
// (see oomdoctor schema partial).

/// Receives one part.
using PartSink = std::function<void(std::string_view line)>;

/// Reads each log separately and passes one part per log to `take`, in the order of the sources. Options of the
/// judgement (capacity, rules) have no effect here; pass them to merge(). The part of a source that cannot be read says
/// so. Throws oomdoctor::Error as diagnose() does, and for a source that cannot be read twice, such as a pipe.
void read_parts(const std::vector<LogSource>& sources, const Options& options, const PartSink& take);

/// Judges the logs of all parts in these files, in the order of their paths: the same report as diagnose() on the logs.
/// A log in several parts counts once. A file that cannot be read and a line that is not a part are lost evidence.
/// Throws oomdoctor::Error if nothing else remains.
Report merge(const std::vector<std::string>& part_files, const Options& options = {});

/// Passes those parts on: each log once, in the order of paths. Returns what was left out, with the reasons.
std::vector<std::string> merge_parts(const std::vector<std::string>& part_files, const PartSink& take);

/// Judges the logs of many jobs, job by job: one line per job, and totals. Logs with the same job number or program in
/// their paths are one job, all others are separate jobs. Of a source that is a file of parts, it reads the logs in the
/// parts; a log that is both in a part and among the sources counts once. What cannot be read is left out, with a note.
/// Memory use is one job per thread. The order of the sources has no effect. Throws oomdoctor::Error for a rule or
/// format that cannot be read, and if no log remains.
Survey survey(const std::vector<LogSource>& sources, const Options& options = {});

}  // namespace oomdoctor
