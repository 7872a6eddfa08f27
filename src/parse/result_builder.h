// The fold over one input: takes what parsers say, in its order, and keeps what has context: the current step of each
// stream, which reports are the same failure, whether the program went on. Its memory is bounded however long the input
// is. What several inputs say together is the business of result_merger.h.
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

class ResultBuilder : public EventSink {
 public:
  explicit ResultBuilder(ScanResult& out) : result_(out) {}

  /// All that the sink is told next comes from this place. `mention` is kept until end_block().
  void begin_emit(const Cursor& cursor, const LineRef& mention);
  /// The first of these lines was told by step(); this is what the others say.
  void go_on(const StepRun& run);
  /// The lines mentioned so far are about to go.
  void end_block();
  /// Concludes what needs the end of the input: which failures were handled.
  void finish();

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
  /// Who speaks: a rank, a process, or the one that carries no tag.
  struct StreamId {
    enum class Kind { untagged, rank, process } kind = Kind::untagged;
    i64 number = 0;
    auto operator<=>(const StreamId&) const = default;
  };
  /// The latest line of its kind: evidence is made of it when the block goes.
  struct Latest {
    const LineRef* mention = nullptr;
    std::optional<Evidence> evidence;

    void settle();
  };
  /// How far a stream went in one run of the job.
  struct Progress {
    i64 advances = 0;  ///< how often the step went forward, since the beginning of the stream
    Latest line;       ///< of the latest one
  };
  /// One stream's part of the log.
  struct Stream {
    std::optional<i64> step;
    i64 advances = 0;
    std::optional<double> epoch;
    int run = -1;                  ///< that `progress` belongs to
    Progress* progress = nullptr;  ///< into progress_
  };
  /// What finish() needs to know of an incident beside the incident itself.
  struct IncidentContext {
    StreamId stream;
    i64 advances = 0;  ///< of the stream, when it failed
    int run = 0;
    i64 line = 0;
    std::string test;  ///< that failed, where a summary of tests says so
  };
  struct SeriesId {
    Metric metric;
    StreamId stream;
    std::optional<int> device;
    std::string_view counter, label, phase;
    /// For every value of a log: the numbers first, and no call for the texts that most series do not have.
    bool operator==(const SeriesId& o) const {
      const auto same = [](std::string_view a, std::string_view b) {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
      };
      return metric == o.metric && stream == o.stream && device == o.device && same(counter, o.counter) &&
             same(label, o.label) && same(phase, o.phase);
    }
  };
  static std::size_t hash_of(const SeriesId& id);
  void leave_out(const SeriesId& id);
  void drop_incident();
  struct SeriesState {
    std::size_t index = 0;  ///< in the case
    SeriesId id;            ///< views into the strings below and into the series
    std::string counter, label, phase;
    Latest last;
    std::optional<double> t0;
    double last_time = 0;
  };
  struct Sign {
    i64 line;
    i64 through;  ///< the last line that was read with it
    StreamId stream;
    int run;
    std::string id;
    Evidence evidence;
  };

  void emit_time(double time);
  void cover(double time);
  void advance(Stream& stream, i64 times, const LineRef& mention);
  bool stepped_on(const Incident& incident, const IncidentContext& trail) const;
  void handle_alike();
  void end_run();
  void begin_run();
  RunPlace place() const;
  bool begins_to_load() const;
  void emit_counted_refusal();
  void emit_silent_death();
  StreamId stream_id() const;
  Stream& stream();
  const Evidence& evidence();
  i64 line() const { return mention_->first_line; }
  SeriesState* find_series(const SeriesId& id);
  SeriesState& add_series(const SeriesId& id, const Reading& reading, bool has_step, bool has_time);
  void thin_series();
  bool is_same_failure(const Incident& old, const IncidentContext& trail, const Oom& now) const;
  /// Joins a report of a death to the incident that it belongs to, if there is one.
  bool join_death(const Oom& now);
  bool is_one_sweep(const Incident& old, const IncidentContext& trail, const Oom& now) const;
  void take_place(std::size_t index, const Oom& now);
  void add_occurrence(std::size_t index, const Evidence& evidence);
  Event event_here();

  ScanResult& result_;
  const Cursor* cursor_ = nullptr;
  const LineRef* mention_ = nullptr;
  std::optional<Evidence> evidence_;  ///< of mention_, made when asked for
  Origin where_;
  i64 claimed_through_ = 0;
  std::map<StreamId, Stream> streams_;
  StreamId stream_id_;                        ///< of the stream that was asked for last
  Stream* stream_ = nullptr;                  ///< that stream
  std::deque<SeriesState> series_;            ///< as many as the case has
  std::unordered_set<std::size_t> left_out_;  ///< hashes of series beyond the limit
  std::size_t buckets_ = 0;                   ///< of all of them
  std::unordered_multimap<std::size_t, std::size_t> series_by_hash_;
  /// Where readings went before, by who told them as which of its readings: to find a series by its hash takes longer.
  std::array<SeriesState*, 256> series_cache_{};
  std::size_t emitted_ = 0;  ///< readings since begin_emit()
  SeriesState*& cached_series(const SeriesId& id);
  std::optional<double> last_time_;  ///< of the last line that prints one
  Latest last_progress_;
  std::vector<IncidentContext> trails_;
  std::vector<Sign> signs_;  ///< handled/…, run/completed and run/went_on, to be joined with incidents
  /// The end of a process that was told last; what begins anew behind it is another run.
  struct End {
    StreamId stream;
    bool exited = false;  ///< a launcher or a shell says so, not the process itself
    bool of_job = false;  ///< a scheduler ended all of it
    i64 line = 0;
  };
  std::optional<End> end_;
  void end_at(bool exited, bool of_job);
  /// Settings that were told behind the last step, or behind the end: the run that they belong to begins with them.
  struct Restated {
    std::optional<Evidence> first;
    int count = 0;
    bool changed = false;  ///< one of them has another value than before
  };
  Restated restated_, restated_before_end_;
  bool starts_anew() const;
  std::optional<i64> furthest_;  ///< step of the run that a rank has come to
  bool advances_ranks(const Stream& here, i64 step);
  RunPlace place_;                  ///< the run that is told now
  i64 progress_before_ = 0;         ///< lines of the runs before it
  std::optional<Evidence> killed_;  ///< by the launcher, first of all
  double last_attempt_ = 0;
  int run_ = 0;  ///< how often the job was seen to end or to resume: progress behind that is another process's
  std::map<std::pair<int, StreamId>, Progress> progress_;  ///< by run; of those that ended, what a trail names
};

}  // namespace oomdoctor
