// Combines the results of many files into one: which failure came first, which failures follow from it, and what to
// keep within ScanLimits. Files are added one by one, in order. So only one file's result is in memory next to the
// combined one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fold/series_retention.h"
#include "model/scan_result.h"

namespace oomdoctor {

/// Not thread-safe.
class ResultMerger {
 public:
  /// Takes the result of the next file, as Scanner::scan(Source&) returns it. Line numbers and order stay. The
  /// evidence gets the number of the file.
  void add(ScanResult file);

  /// The combined result; leaves the object empty. Sets Incident::follows, also for a single file.
  ScanResult take();

 private:
  void add_incidents(ScanResult& file);
  void add_series(ScanResult& file);
  void add_remarks(ScanResult& file);
  void add_settings(ScanResult& file);
  void add_lost(ScanResult& file);
  void add_notes(ScanResult& file);
  /// Brings the series with values under their limits.
  void limit();
  void add_progress(ScanResult& file);
  /// Restores progress and remarks of the file with the first failure.
  void emit_first_failure();
  /// Joins the snapshots with the failures of the logs, and adds those that no log shows.
  void add_snapshot_failures();

  ScanResult result_;
  std::optional<std::size_t> first_;  ///< index of the first failure that ended the work, over all files so far
  /// Progress and remarks of the file with the first failure. Many ranks print the same steps: their sum would turn a
  /// short run into a long one. A remark of another rank does not belong to this failure.
  struct FailureContext {
    std::vector<Event> remarks;
    std::optional<i64> first_step, last_step;
    i64 last_before = 0;
    i64 progress_lines = 0;
    std::optional<Evidence> last_progress;
  };
  std::optional<FailureContext> course_;
  /// Over all series added.
  RetainedCount followed_;                           ///< the retained series of result_
  std::map<std::string, std::size_t> kept_remarks_;  ///< by id
};

/// The same for results that are all in memory. An empty vector makes an empty result.
ScanResult join(std::vector<ScanResult> files);

}  // namespace oomdoctor
