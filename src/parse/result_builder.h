// Folds the events of one input into its ScanResult. Parsers report events line by line, in the order of the input.
// The builder adds the context: the current step of each stream, which reports describe the same failure, and whether
// the program survived it.
//
// Memory is bounded, whatever the length of the input. result_merger.h combines the results of several inputs.
#pragma once

#include <array>
#include <compare>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/scan_result.h"
#include "parse/format_registry.h"
#include "parse/line_ref.h"
#include "parse/parser.h"

namespace oomdoctor {

/// One builder serves one input, on one thread at a time. A sink call is valid between begin_emit() and the next
/// end_block().
class ResultBuilder : public EventSink {
 public:
  explicit ResultBuilder(ScanResult& out) : result_(out) {}

  /// Starts the events of one line: sets rank, process and time from the line's prefix. The builder keeps a pointer to
  /// `mention` until end_block().
  void begin_emit(const Cursor& cursor, const LineRef& mention);
  /// Adds the other lines of a run of step lines. step() has handled the first one.
  void go_on(const StepRun& run);
  /// Turns the kept lines into evidence. Call it before the block's text is freed.
  void end_block();
  /// Concludes what needs the end of the input: kills without a message, refusals that only a counter shows, and which
  /// failures the program survived. Calls end_block() first.
  void finish();

  /// The last line that the current emit claimed, counted from 1.
  i64 lines_claimed_through() const { return claimed_through_; }

  void at(const Origin& where) override;
  void oom(Oom oom) override;
  void reading(const Reading& reading, std::optional<double> step, std::optional<double> time) override;
  void step(const Step& step) override;
  void setting(std::string_view name, std::string_view value) override;
  void exit(const Exit& exit) override;
  void remark(std::string_view id, std::optional<double> number) override;
  void claim_through(i64 line) override { claimed_through_ = line; }

 private:
  /// Who printed a line: a rank, a process, or an untagged source.
  struct StreamId {
    enum class Kind { untagged, rank, process } kind = Kind::untagged;
    i64 number = 0;
    auto operator<=>(const StreamId&) const = default;
  };
  /// The latest line of its kind. settle() copies it into evidence before its block is freed.
  struct Latest {
    const LineRef* mention = nullptr;
    std::optional<Evidence> evidence;

    void settle();
  };
  /// The progress of a stream in one run of the job.
  struct Progress {
    i64 advances = 0;  ///< how often the step rose since the stream began
    Latest line;       ///< of the latest rise
  };
  /// The state of one stream.
  struct Stream {
    std::optional<i64> step;
    i64 advances = 0;
    std::optional<double> epoch;
    int run = -1;                  ///< the run that `progress` belongs to; -1: none yet
    Progress* progress = nullptr;  ///< points into progress_
  };
  /// The context of an incident that finish() needs. Same index as the incident in the result.
  struct IncidentContext {
    StreamId stream;
    i64 advances = 0;  ///< of the stream at the time of the failure
    /// Value of run_ at the failure.
    int run = 0;
    /// Last line of the latest report.
    i64 line = 0;
    std::string test;  ///< name of the failed test, if a test summary names it; else empty
  };
  /// The identity of a series. Two counters of one name from two parsers are two series.
  struct SeriesId {
    Metric metric;
    StreamId stream;
    std::optional<int> device;
    std::string_view counter, label, phase;
    /// Compared for every value of a log. The numbers come first, and most series have empty texts, which need no
    /// call.
    bool operator==(const SeriesId& o) const {
      const auto same = [](std::string_view a, std::string_view b) {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
      };
      return metric == o.metric && stream == o.stream && device == o.device && same(counter, o.counter) &&
             same(label, o.label) && same(phase, o.phase);
    }
  };
  static std::size_t hash_of(const SeriesId& id);
  void count_excess_series(const SeriesId& id);
  void drop_incident();
  struct SeriesState {
    std::size_t index = 0;  ///< in ScanResult::series
    SeriesId id;            ///< its views point into the strings below
    std::string counter, label, phase;
    Latest last;
    std::optional<double> t0;  ///< time of the first value, in seconds; x counts from it
    double last_time = 0;
  };
  /// A remark that may show that the program survived a failure.
  struct Sign {
    i64 line;
    i64 through;  ///< last line that the parser read with it
    StreamId stream;
    int run;
    std::string id;
    Evidence evidence;
  };

  /// Records the time of a line, in seconds since 1970 or since midnight.
  void emit_time(double time);
  /// Extends the period of the log. Ignores times without a date.
  void cover(double time);
  /// Records that the stream's step rose `times` times, the last time at `mention`.
  void advance(Stream& stream, i64 times, const LineRef& mention);
  /// True if the stream's step rose after the failure.
  bool stepped_after(const Incident& incident, const IncidentContext& trail) const;
  /// Marks failures as handled that look like the handled one before them.
  void mark_similar_handled();
  /// Counts an end or a resume of the job.
  void end_run();
  /// Starts a new run: the job was started again.
  void begin_run();
  RunPlace place() const;
  bool begins_to_load() const;
  /// Adds an incident for a refused request that only PyTorch's counter shows.
  void emit_counted_refusal();
  /// Adds an incident for a kill by the launcher that no message explains.
  void emit_silent_death();
  StreamId stream_id() const;
  Stream& stream();
  /// Evidence of the current line, made at the first call.
  const Evidence& evidence();
  i64 line() const { return mention_->first_line; }
  SeriesState* find_series(const SeriesId& id);
  SeriesState& add_series(const SeriesId& id, const Reading& reading, bool has_step, bool has_time);
  void thin_series();
  /// True if `now`, reported at the current line, is another report of the incident `old`.
  bool is_same_failure(const Incident& old, const IncidentContext& trail, const Oom& now) const;
  /// Merges a report of a killed process into its incident. False if there is none.
  bool merge_kill_report(const Oom& now);
  /// True if the kernel killed the victims of `old` and `now` in one go.
  bool is_one_sweep(const Incident& old, const IncidentContext& trail, const Oom& now) const;
  /// Makes the current, more trusted report the main one of the incident.
  void replace_main_report(std::size_t index, const Oom& now);
  void add_occurrence(std::size_t index, const Evidence& evidence);
  Event event_here();

  ScanResult& result_;
  const Cursor* cursor_ = nullptr;
  const LineRef* mention_ = nullptr;
  std::optional<Evidence> evidence_;  ///< of mention_, made on demand
  Origin where_;
  i64 claimed_through_ = 0;
  std::map<StreamId, Stream> streams_;
  StreamId stream_id_;                        ///< key of stream_
  Stream* stream_ = nullptr;                  ///< the stream used last
  std::deque<SeriesState> series_;            ///< same indices as ScanResult::series
  std::unordered_set<std::size_t> left_out_;  ///< hashes of series beyond the limit
  std::size_t buckets_ = 0;                   ///< of all series together
  std::unordered_multimap<std::size_t, std::size_t> series_by_hash_;
  /// A cache in front of series_by_hash_, indexed by parser, stream, device and position of the reading within its
  /// emit. A look-up by hash takes longer.
  std::array<SeriesState*, 256> series_cache_{};
  std::size_t emitted_ = 0;  ///< readings since begin_emit()
  SeriesState*& cached_series(const SeriesId& id);
  std::optional<double> last_time_;  ///< of the last line that printed a time
  Latest last_progress_;
  std::vector<IncidentContext> incident_contexts_;
  std::vector<Sign>
      signs_;  ///< remarks handled/…, run/completed and run/went_on; finish() matches them with the incidents
  /// The latest end of a process. Whatever starts after it is another run.
  struct End {
    StreamId stream;
    bool exited = false;  ///< a launcher or a shell reported it, not the process itself
    bool of_job = false;  ///< a scheduler ended the whole job
    i64 line = 0;
  };
  std::optional<End> end_;
  void end_at(bool exited, bool of_job);
  /// Settings printed after the last step, or after the end of a process. They belong to the run that begins with
  /// them.
  struct Restated {
    std::optional<Evidence> first;
    int count = 0;
    bool changed = false;  ///< at least one has a new value
  };
  Restated restated_, restated_before_end_;
  bool starts_anew() const;
  std::optional<i64> furthest_;  ///< highest step that the ranks reached in this run
  bool advances_ranks(const Stream& here, i64 step);
  RunPlace place_;                  ///< the current run
  i64 progress_before_ = 0;         ///< progress lines of earlier runs
  std::optional<Evidence> killed_;  ///< first line in which a launcher terminated its processes
  /// Highest number of an attempt so far.
  double last_attempt_ = 0;
  int run_ = 0;  ///< how often the job ended or resumed; progress after that belongs to another process
  std::map<std::pair<int, StreamId>, Progress>
      progress_;  ///< by run and stream; ended runs keep only streams that failed
};

}  // namespace oomdoctor
