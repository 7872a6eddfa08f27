// Folds the events of one input into its ScanResult. Parsers report events line by line, in the order of the input.
// The builder finds which reports describe the same failure, and leaves series, runs and recovery to their trackers.
//
// Memory is bounded, whatever the length of the input. result_merger.h combines the results of several inputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fold/current_line.h"
#include "fold/recovery.h"
#include "fold/run_tracker.h"
#include "fold/series_tracker.h"
#include "model/scan_result.h"
#include "read/parser.h"

namespace oomdoctor {

/// One builder serves one input, on one thread at a time. A sink call is valid between begin_emit() and the next
/// end_block().
class ResultBuilder : public EventSink {
 public:
  explicit ResultBuilder(ScanResult& out) : result_(out), runs_(out, [this] { keep_progress(); }), series_(out) {}
  ResultBuilder(const ResultBuilder&) = delete;

  /// Starts the events of one line: sets rank, process and time from the line's prefix. The builder keeps a pointer to
  /// `line` until end_block().
  void begin_emit(const Cursor& cursor, const LineRef& line);
  /// Adds the other lines of a run of step lines. step() has handled the first one.
  void go_on(const StepRun& run);
  /// Turns the kept lines into evidence. Call it before the block's text is freed.
  void end_block();
  /// Concludes what needs the end of the input: kills without a message, refusals that only a counter shows, and which
  /// failures the program survived. Calls end_block() first.
  void finish();

  /// The last line that the current emit claimed, counted from 1.
  i64 lines_claimed_through() const { return here_.claimed_through(); }

  void at(const Origin& origin) override { here_.at(origin); }
  void oom(Oom oom) override;
  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override;
  void step(const Step& step) override;
  void setting(std::string_view name, std::string_view value) override;
  void exit(const Exit& exit) override;
  void remark(std::string_view id, std::optional<double> number) override;
  void lost(LostEvidence evidence) override;
  void claim_through(i64 line) override { here_.claim_through(line); }
  void cite(const Line& line) override { here_.cite(line); }

 private:
  /// Records the time of a line, in seconds since 1970 or since midnight.
  void add_time(double time);
  void count_impossible();
  Event event_here();
  void count_refusals();
  void take_step_of_redrawn_bar(Incident& incident) const;
  /// True if the training was finished before the failure.
  bool was_completed_before(const Incident& incident) const;
  /// Keeps the progress of the failed streams of a run that ends.
  void keep_progress();

  /// True if `now`, reported at the current line, is another report of the incident with this index.
  bool is_same_failure(std::size_t index, const Oom& now) const;
  std::optional<Line> find_work_since(std::size_t index, const Oom& now) const;
  /// Adds another report to its incident.
  void merge_report(std::size_t index, const Oom& now);
  /// The lines of the stream around the current one.
  std::vector<Evidence> context_here() const;
  /// Merges a report of a killed process into its incident. False if there is none.
  bool merge_kill_report(const Oom& now);
  /// True if the kernel killed the victims of `old` and `now` in one go.
  bool is_one_sweep(const Incident& old, const IncidentContext& context, const Oom& now) const;
  /// Makes the current, more trusted report the main one of the incident.
  void replace_main_report(std::size_t index, const Oom& now);
  void add_occurrence(std::size_t index, const Evidence& evidence);
  void add_incident(Oom oom);
  void note_workers(const Oom& oom);
  bool is_of_log_below(bool described) const;
  void place_described_ends();
  void drop_incident();
  /// Adds an incident that no message reports, at a line before the end.
  void add_unreported(Incident incident);
  /// Adds an incident for a refused request that only PyTorch's counter shows.
  void emit_counted_refusal();
  void emit_empty_cache();
  /// Adds an incident for a kill by the launcher that no message explains.
  void emit_silent_death();

  ScanResult& result_;
  CurrentLine here_;
  RunTracker runs_;
  SeriesTracker series_;
  Recovery recovery_;
  std::vector<IncidentContext> contexts_;  ///< same indices as ScanResult::incidents
  i64 last_line_ = 0;                      ///< the last line that a parser read
  std::optional<double> last_time_;        ///< of the last line that printed a time
  std::optional<Event> killed_;            ///< first line in which a launcher terminated its processes
};

}  // namespace oomdoctor
