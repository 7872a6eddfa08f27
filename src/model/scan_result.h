// All that was read, in order, with nothing concluded yet beyond "these reports are one failure". Const after the scan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/event.h"

namespace oomdoctor {

struct Input {
  std::string path;
  std::string kind = "log";  ///< see the report's contract
  i64 bytes = 0;
  i64 lines = 0;
  std::string compression;
  bool truncated = false;
  std::string unreadable =
      {};  ///< why nothing could be read: "empty", "packed with xz", "a binary file"; "" where it was
};

enum class Severity { note, warning, error };

/// Something about the reading itself: a damaged line, a unit that was chosen, a limit that was reached.
struct Note {
  Severity severity = Severity::note;
  std::string text;
  std::optional<Evidence> at;
};

/// Which run of its input a failure struck, and how far that had come.
struct RunPlace {
  int number = 0;                 ///< runs that ended before it
  i64 first_line = 0;             ///< of the run; 0: it began with the input
  i64 progress_lines = 0;         ///< of the run, before the failure
  std::optional<i64> first_step;  ///< of the run
};

/// One distinct failure. The same failure printed again is an occurrence, not an incident.
struct Incident {
  Oom oom;
  Evidence evidence;  ///< the first line of its first report
  Origin origin;
  When when;
  std::vector<Evidence> occurrences;  ///< later reports of the same failure; capped, see more_occurrences
  i64 more_occurrences = 0;
  bool handled = false;                ///< the program went on afterwards
  std::optional<Evidence> handled_by;  ///< the line that shows it
  std::optional<std::size_t> follows;  ///< index of the incident that this one is a consequence of
  RunPlace run;
};

/// A setting with the line it came from; the last one printed before the failure counts.
struct KnownSetting {
  std::string value;
  Evidence evidence;
  std::string before = {};  ///< another value that it had earlier; "" where it never changed
  i64 before_line = 0;
};

/// What is known of one rank beside its series and failures.
struct RankSummary {
  std::optional<i64> last_step;  ///< that its own file prints
  bool failed = false;           ///< for want of memory, and nobody handled it
};

struct Coverage {
  i64 lines = 0;
  i64 claimed = 0;
  std::map<std::string, i64, std::less<>> by_parser;
};

/// Bounds of a Case, of one file as of thousands: a log of any length must not fill the memory, and a person reads none
/// of the rest.
struct CaseLimits {
  static constexpr std::size_t incidents = 256;
  static constexpr std::size_t occurrences = 64;         ///< of one incident
  static constexpr std::size_t series = 8192;            ///< of one file: a metric of as many ranks
  static constexpr std::size_t joined_series = 1 << 14;  ///< of all files: some memory metrics of 4,096 ranks
  static constexpr std::size_t retained_series = 256;    ///< with their values: fitting one takes milliseconds
  static constexpr std::size_t buckets = 1 << 17;        ///< of all series together: 32 long ones, or 9 MiB
  static constexpr std::size_t notes = 256;
  static constexpr std::size_t ranks = 1 << 16;  ///< the largest jobs have some ten thousand
  static constexpr std::size_t settings = 512;
  static constexpr std::size_t setting_bytes = 200;  ///< of one value
  static constexpr std::size_t runs = 64;            ///< of one input
  static constexpr std::size_t remarks_per_id = 64;  ///< and as many exits
};

struct ScanResult {
  std::vector<Input> inputs;
  std::vector<Incident> incidents;
  i64 more_incidents = 0;
  std::vector<Evidence> later_runs;  ///< where each run of the job behind the first begins; of one input only
  std::vector<Series> series;
  i64 more_series = 0;
  std::map<int, RankSummary> ranks;  ///< those that files or failures name
  std::map<std::string, KnownSetting, std::less<>> settings;
  std::vector<Event> remarks;  ///< Remark and Exit events, capped per id
  std::map<std::string, i64> remark_counts;
  std::optional<i64> first_step, last_step;  ///< of all progress lines
  i64 progress_lines = 0;                    ///< that name another step than the line before of the same stream
  std::optional<Evidence> last_progress;
  Period period;
  i64 impossible_values = 0;  ///< left out of the series: no machine has that much memory, no run that many steps
  std::optional<Evidence> first_impossible;
  Coverage coverage;
  std::vector<Note> notes;
  i64 more_notes = 0;
};

}  // namespace oomdoctor
