// Many files as one case: which failure of all files came first, what follows from it, and what is kept where all
// together are more than a Case holds. Files are added in their order, one after the other, so that no more than one
// of them need be in memory beside the result.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/scan_result.h"
#include "parse/series_retention.h"

namespace oomdoctor {

class ResultMerger {
 public:
  /// Takes the case of the next file, as Scanner::scan(Source&) made it; its line numbers and order are kept, its
  /// places get the number of the file.
  void add(ScanResult file);

  /// The case of all files. What Incident::follows says is settled here, also for one file.
  ScanResult take();

 private:
  void add_incidents(ScanResult& file);
  void add_series(ScanResult& file);
  void add_remarks(ScanResult& file);
  void add_settings(ScanResult& file);
  void add_notes(ScanResult& file);
  void limit();
  void add_progress(ScanResult& file);
  void emit_first_failure();

  ScanResult result_;
  std::optional<std::size_t> first_;  ///< the first failure that ended the work, of all files so far
  /// What the file of the first failure says of its own course. Many ranks print the same steps: added up they would
  /// make a long run of a short one, and a marker of another rank is none of this failure.
  struct FailureContext {
    std::vector<Event> remarks;
    std::optional<i64> first_step, last_step;
    i64 progress_lines = 0;
    std::optional<Evidence> last_progress;
  };
  std::optional<FailureContext> course_;
  Followed followed_;
  std::map<std::string, std::size_t> kept_remarks_;  ///< by id
};

/// The same for cases that are all there. No cases make an empty one.
ScanResult join(std::vector<ScanResult> files);

}  // namespace oomdoctor
