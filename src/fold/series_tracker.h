// Collects the values of one input into its series: which series a value belongs to, and where it lies on the x axis.
//
// Memory is bounded, whatever the length of the input: the number of series, and the buckets of all together.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "fold/current_line.h"
#include "model/scan_result.h"

namespace oomdoctor {

class SeriesTracker {
 public:
  explicit SeriesTracker(ScanResult& out) : result_(out) {}

  /// Starts the values of one line.
  void begin_line() { values_of_line_ = 0; }
  /// Adds a value. `step` and `time` are those of its line, `stream_step` is the latest step of its stream.
  /// `counts_epochs`: the step is an epoch.
  void add(const CurrentLine& here, const Reading& reading, int run, std::optional<double> step,
           std::optional<double> time, std::optional<i64> stream_step, bool counts_epochs = false);
  /// True if memory that never falls within a process fell clearly below all values of its series.
  bool starts_again(const CurrentLine& here, const Reading& reading, int run);
  /// Turns the kept lines into evidence. Call it before the block's text is freed.
  void end_block();
  /// Sets the last evidence of each series, and that of its peak.
  void finish();

 private:
  /// The identity of a series. Two counters of one name from two parsers are two series.
  struct Id {
    Metric metric;
    int run;
    StreamId stream;
    std::optional<int> device;
    std::string_view counter, label, phase;
    /// Compared for every value of a log. The numbers come first, and most series have empty texts, which need no
    /// call.
    bool operator==(const Id& o) const {
      const auto same = [](std::string_view a, std::string_view b) {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
      };
      return metric == o.metric && run == o.run && stream == o.stream && device == o.device &&
             same(counter, o.counter) && same(label, o.label) && same(phase, o.phase);
    }
  };
  struct SeriesState {
    std::size_t index = 0;  ///< in ScanResult::series
    Id id;                  ///< its views point into the strings below
    std::string counter, label, phase;
    LatestLine last, peak;
    std::optional<double> t0;  ///< time of the first value, in seconds; x counts from it
    double last_time = 0;
    double quantum = 0;       ///< of the first value
    double longest_wait = 0;  ///< seconds between two values of a session
    int waits = 0;
  };
  static std::size_t compute_hash(const Id& id);
  static Id make_id(const CurrentLine& here, const Reading& reading, int run);
  SeriesState*& cached(const Id& id, std::string_view reader);
  SeriesState* find(const Id& id);
  SeriesState& add_series(const Id& id, const CurrentLine& here, const Reading& reading, bool has_step, bool has_time);
  void count_excess(const Id& id);
  double find_x(SeriesState& state, std::optional<double> step, std::optional<double> time,
                std::optional<i64> stream_step, bool since_start) const;
  static bool begins_session(SeriesState& state, const Series& series, double x);
  void thin();

  ScanResult& result_;
  std::deque<SeriesState> states_;  ///< same indices as ScanResult::series
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
  std::unordered_set<std::size_t> left_out_;  ///< hashes of series beyond the limit
  std::size_t buckets_ = 0;                   ///< of all series together
  /// A cache in front of by_hash_, indexed by parser, stream, device and position of the value in its line. A look-up
  /// by hash takes longer.
  std::array<SeriesState*, 256> cache_{};
  std::size_t values_of_line_ = 0;
};

}  // namespace oomdoctor
