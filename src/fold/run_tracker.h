// Follows how far the job of one input came: the step of each stream, and where one run ends and the next one begins. A
// log may contain several runs, if somebody or a launcher started the job again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "fold/current_line.h"
#include "model/scan_result.h"
#include "scan/format_registry.h"

namespace oomdoctor {

/// The progress of a stream in one run of the job.
struct StreamProgress {
  i64 advances = 0;  ///< how often the step rose since the stream began
  LatestLine line;   ///< of the latest rise
};

class RunTracker {
 public:
  /// What the first line of a bar, step 0, changed: forget_items() takes back this and nothing else.
  struct BarBegun {
    std::optional<i64> step, total, max_total, last_step;  ///< before it
    i64 before = 0, last_before = 0;                       ///< before it
    LatestLine last_progress;                              ///< before it
    bool counted = false, advanced = false, first_of_run = false, first_of_all = false;
  };

  /// The state of one stream.
  struct StreamState {
    std::optional<i64> step;
    i64 before = 0;  ///< Step::before
    i64 advances = 0;
    std::optional<double> epoch;
    i64 epoch_line = 0;                   ///< that printed it last
    bool epoch_over = false;              ///< that line reports the end of the epoch
    std::optional<i64> total, max_total;  ///< what the latest bar counts to, and the longest one
    i64 bar_line = 0;                     ///< that drew a bar at 0 last
    bool numbers_epochs = false;          ///< a step of an epoch came, so `excess` is known
    i64 excess = 0;                       ///< by which the printed steps are too high: they assume another first epoch
    i64 shift = 0;                        ///< what of it was taken off the latest step
    int run = -1;                         ///< the run that `progress` belongs to; -1: none yet
    StreamProgress* progress = nullptr;   ///< points into progress_
    std::optional<BarBegun> begun;        ///< the latest step was the first line of a bar
  };

  /// `before_end` is called before a run ends, as long as the progress of its streams is known.
  RunTracker(ScanResult& out, std::function<void()> before_end) : result_(out), before_end_(std::move(before_end)) {}

  /// Call it for each line with an event, before the event. A line after the report of a job belongs to another job.
  void begin_line(const CurrentLine& here);
  /// A line printed this time, in seconds since 1970. Ignores a time without a date.
  void time(double time);
  /// A step that falls back to the start, after new settings or after an end, starts a new run. A step that goes on
  /// after an end shows that the program survived.
  void step(const CurrentLine& here, const Step& printed);
  /// True on the line of a step that fell back to the start, with nothing else that shows a new run: either the epochs
  /// of one run count their steps anew, or the job was started again. Memory decides.
  bool counts_anew(const CurrentLine& here) const { return anew_ && anew_->line == here.number(); }
  /// Begins a run with this step.
  void begin_counted_run(const CurrentLine& here);
  /// Adds the other lines of a run of step lines. step() has handled the first one.
  void go_on(const CurrentLine& here, const StepRun& run);
  /// A setting is printed; `changed`: with another value than before.
  void setting(const CurrentLine& here, bool changed);
  /// The command line that started the program is printed again.
  void command(const CurrentLine& here);
  void exit(const CurrentLine& here, const Exit& exit);
  void remark(const CurrentLine& here, std::string_view id, std::optional<double> number);
  /// Begins the run of this failure, if settings printed after many steps show that the job was started again.
  void failure(const CurrentLine& here, OomKind kind);
  /// The failure ended its process.
  void died(const CurrentLine& here) { end_at(here, false, false); }

  /// The stream of the line; a new one if it is the first line of its stream.
  StreamState& stream(const CurrentLine& here);
  /// Null for a stream without a line that counts.
  const StreamState* find_stream(const StreamId& id) const;
  /// The stream that made steps, if it is the only one, or one of ranks that are all at the same step; else null. The
  /// steps of other processes say nothing about a rank.
  const StreamState* find_common_stream(bool of_a_rank) const;
  /// Of a stream in the current run; null if it made no step in it.
  const StreamProgress* find_progress(const StreamId& id) const;
  /// How often the job ended or resumed. Progress after that belongs to another process.
  int ended() const { return ended_; }
  /// The whole epoch that this line prints, in a stream without steps.
  std::optional<double> epoch_of(const CurrentLine& here) const;
  /// The number of the current run, from 0.
  int number() const { return place_.number; }
  /// The current run, and its progress.
  RunPlace place() const;

  /// Turns the kept lines into evidence. Call it before the block's text is freed.
  void end_block();
  /// Concludes the last run.
  void finish();

 private:
  /// The latest end of a process. Whatever starts after it is another run.
  struct End {
    StreamId stream;
    bool exited = false;  ///< a launcher or a shell reported it, not the process itself
    bool of_job = false;  ///< a scheduler ended the whole job
    i64 line = 0;
    std::optional<double> time = {};  ///< of its line
  };
  /// Settings printed after the last step, or after the end of a process. They belong to the run that begins with
  /// them.
  struct Restated {
    std::optional<Evidence> first;
    int count = 0;
    bool changed = false;    ///< at least one has a new value
    bool arguments = false;  ///< the arguments of the program are among them, as it prints them at its start
  };

  /// A step that fell back to the start.
  struct Anew {
    i64 line = 0, step = 0;
  };

  void end_at(const CurrentLine& here, bool exited, bool of_job);
  /// The bar of this total counts items of other work. If its first line counted as a step, this takes it back.
  void forget_items(const CurrentLine& here, double total);
  void advance(StreamState& stream, const CurrentLine& here, i64 times, const LineRef& line);
  static void number_epochs(StreamState& stream, Step& step);
  bool advances_ranks(const StreamState& stream, const CurrentLine& here, i64 step);
  bool starts_anew() const;
  void end_run();
  void begin_run(const CurrentLine& here);
  void begin_run(const CurrentLine& here, Evidence first);
  void report(const CurrentLine& here, std::string_view id);

  ScanResult& result_;
  std::function<void()> before_end_;
  std::map<StreamId, StreamState> streams_;
  StreamId stream_id_;                           ///< key of stream_
  StreamState* stream_ = nullptr;                ///< the stream used last
  std::map<StreamId, StreamProgress> progress_;  ///< in the current run
  LatestLine last_progress_;
  int ended_ = 0;
  std::optional<End> end_;
  Restated restated_, restated_before_end_;
  std::optional<Anew> anew_;
  std::optional<i64> furthest_;     ///< highest step that the ranks reached in this run
  RunPlace place_;                  ///< the current run
  std::optional<double> time_;      ///< the latest date
  i64 progress_before_ = 0;         ///< progress lines of earlier runs
  bool completed_ = false;          ///< the current run reported that its work is finished
  int uncompiled_ = -1;             ///< the latest run whose program could not be compiled; -1: none
  double last_attempt_ = 0;         ///< highest number of an attempt so far
  i64 commands_ = 0;                ///< command lines after a prompt
  std::optional<Evidence> report_;  ///< the begin of a scheduler's report about a job, until its end
  i64 after_report_ = 0;            ///< the line below such a report, if the output is above it
  bool output_below_ = false;       ///< such reports are above the outputs
};

}  // namespace oomdoctor
