// The complete content of the logs, in order. The only conclusion so far is which reports are the same failure. The
// result is constant after the scan.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "model/event.h"
#include "model/memory_snapshot.h"

namespace oomdoctor {

/// One log.
struct Input {
  std::string path;
  std::string kind = "log";  ///< "log", or the name of an export format, "csv_columns"
  i64 bytes = 0;
  i64 lines = 0;
  std::string compression;
  bool truncated = false;
  std::string unreadable =
      {};  ///< why oomdoctor could not read it: "empty", "packed with xz", "a binary file"; "" if it could
};

enum class Severity { note, warning, error };
template <>
inline constexpr auto enum_names<Severity> = names_up_to<Severity::error>("note", "warning", "error");

/// A remark about the reading itself: a damaged line, the choice of a unit, a limit that was reached.
struct Note {
  Severity severity = Severity::note;
  std::string text;
  std::optional<Evidence> at;
  bool brief = false;     ///< the short report shows it, although it is not a warning
  bool unread = false;    ///< says why the values of a table were not read
  std::string code = {};  ///< of a snapshot that was not, or not wholly, read; see ReportNote
};

/// The run that a failure ended, and its progress up to then. One input can contain several runs.
struct RunPlace {
  int number = 0;                 ///< number of runs that ended before it
  i64 first_line = 0;             ///< first line of the run; 0 if it began with the input
  i64 progress_lines = 0;         ///< progress lines of the run before the failure
  std::optional<i64> first_step;  ///< first step of the run
  // Seconds since 1970, by the latest dated line; absent if the log prints no dates.
  std::optional<double> started;  ///< the first date of the run
  std::optional<double> saved;    ///< its latest checkpoint after which the run made a step
  std::optional<double> saving;   ///< a later checkpoint, without a step after it
};

/// The failures of one message that a log repeats: a few loggers and launchers report one failure again; more
/// repetitions are failures of their own. CUDA.jl reports each refusal once.
constexpr i64 count_failures(i64 repetitions, bool one_report_each) {
  constexpr i64 most_reports = 8;
  return repetitions <= most_reports && !one_report_each ? 1 : repetitions + 1;
}

/// One distinct failure. The same failure printed again is an occurrence, not an incident.
struct Incident {
  Oom oom;
  Evidence evidence;               ///< the first line of its first report
  std::optional<Evidence> in_use;  ///< the line of the memory in use and its limit, if it is another one
  std::vector<Evidence> context;   ///< the lines of its stream before and after, ScanLimits::context on each side
  Origin origin;
  When when;
  std::vector<Evidence> occurrences;  ///< later reports of the same failure; capped, see more_occurrences
  i64 more_occurrences = 0;
  i64 victims = 0;                     ///< processes that the kernel killed
  bool handled = false;                ///< the program continued afterwards
  std::optional<Evidence> handled_by;  ///< the line that shows it
  std::optional<std::size_t> follows;  ///< index of the incident that caused this one
  RunPlace run;
};

/// A setting and its line. The last value before the failure counts.
struct KnownSetting {
  std::string value;
  Evidence evidence;
  std::string before = {};  ///< an earlier, different value; "" if it never changed
  i64 before_line = 0;
};

/// What the logs show about one rank, apart from its series and failures.
struct RankSummary {
  std::optional<i64> last_step;  ///< the last step in the rank's log file
  bool failed = false;           ///< ran out of memory, and the program did not handle it
};

/// How much of the input the parsers understood.
struct Coverage {
  i64 lines = 0;
  i64 claimed = 0;
  std::map<std::string, i64, std::less<>> by_parser;
};

/// The limits of a ScanResult, for one file and for thousands. They keep memory use small for a log of any length, and
/// nobody reads more than this.
struct ScanLimits {
  static constexpr std::size_t incidents = 256;
  static constexpr std::size_t occurrences = 64;         ///< per incident
  static constexpr int context = 3;                      ///< lines on each side of an incident
  static constexpr std::size_t series = 8192;            ///< per file: one metric of 8192 ranks
  static constexpr std::size_t joined_series = 1 << 14;  ///< of all files: a few memory metrics of 4,096 ranks
  static constexpr std::size_t retained_series =
      256;                                         ///< series that keep their values; fitting one takes milliseconds
  static constexpr std::size_t buckets = 1 << 17;  ///< of all series together: 32 full series, or 9 MiB
  static constexpr std::size_t notes = 256;
  static constexpr std::size_t lost = 64;
  static constexpr std::size_t ranks = 1 << 16;  ///< the largest jobs have some ten thousand
  static constexpr std::size_t settings = 512;
  static constexpr std::size_t setting_bytes = 200;  ///< bytes of one value
  static constexpr std::size_t runs = 64;            ///< per input
  static constexpr std::size_t remarks_per_id = 64;  ///< the same limit holds for exits
};

/// Events by When::order, without those at its ends.
struct OrderRange {
  i64 after = std::numeric_limits<i64>::min(), before = std::numeric_limits<i64>::max();
};

/// One or many logs after the scan, and the input of all analyses.
struct ScanResult {
  std::vector<Input> inputs;
  std::vector<Incident> incidents;
  i64 more_incidents = 0;
  std::vector<Evidence> later_runs;  ///< where each later run of the job begins; only for a single input
  std::vector<Series> series;
  i64 more_series = 0;
  std::map<int, RankSummary> ranks;  ///< the ranks that files or failures name
  std::map<std::string, KnownSetting, std::less<>> settings;
  std::vector<MemorySnapshot> snapshots;
  std::vector<Event> remarks;  ///< Remark and Exit events, capped per id
  std::map<std::string, i64> remark_counts;
  std::optional<i64> first_step, last_step;  ///< over all progress lines
  i64 last_before = 0;                       ///< Step::before of the last one
  i64 progress_lines = 0;  ///< lines whose step differs from the step of the previous line in the same stream
  std::optional<Evidence> last_progress;
  Period period;
  i64 impossible_values =
      0;  ///< values left out of the series: no machine has that much memory, no run that many steps
  std::optional<Evidence> first_impossible;
  Coverage coverage;
  std::vector<LostEvidence> lost;
  i64 more_lost = 0;
  std::vector<Note> notes;
  i64 more_notes = 0;

  /// Makes this the rank of everything, for a log of one process. A log whose lines name another rank stays as it is:
  /// a launcher printed the lines of all ranks into it. False then.
  bool take_rank(int rank);
  /// The first remark of this id in the interval; null if there is none.
  const Event* find_remark(std::string_view id, const OrderRange& in = {}) const;
  /// Adds a loss once, within the limit.
  void lose(LostEvidence evidence);
};

}  // namespace oomdoctor
