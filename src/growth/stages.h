// The activity of a run while its memory was logged: idle, load, work, evaluation, pause, release.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "growth/segmentation.h"

namespace oomdoctor {

/// The kinds of stages. Trends use the working stages only.
enum class StageKind {
  idle,        ///< nothing runs on the GPU yet, or any more
  load,        ///< memory rises steeply to the working level
  warmup,      ///< near the working level, but still below it
  working,     ///< the work itself
  evaluation,  ///< a plateau between two parts of one trend
  pause,       ///< growth stops, then continues from the same value
  release,     ///< the work is over and its memory is free again
  restart,     ///< the step counter restarts
};
template <>
inline constexpr auto enum_names<StageKind> = names_up_to<StageKind::restart>("idle", "load", "warmup", "working",
                                                                              "evaluation", "pause", "release",
                                                                              "restart");

/// A stage of a run, with steps and values as printed.
struct Stage {
  StageKind kind = StageKind::working;
  double first_step = 0, last_step = 0;
  double first_value = 0, last_value = 0;  ///< bytes
  double slope = 0;                        ///< bytes per step
};

/// The segments of one run, each with its stage kind. Built once; begin_work_at() then fixes the start of the work.
class StageMap {
 public:
  /// Cuts the run and marks releases, evaluations and pauses. `points`: without spikes, kept by reference, so they must
  /// outlive the map. `negated`: the values are negated remaining memory. `timed`: x is in seconds, so a pause takes up
  /// x.
  StageMap(const Points& points, bool negated, bool timed);

  /// One segment and its kind.
  struct StagedSegment {
    Segment segment;
    StageKind kind = StageKind::working;
  };
  const std::vector<StagedSegment>& parts() const { return parts_; }
  const NoiseScale& noise() const { return noise_; }

  /// The parts at which the last working stage may begin, the sharpest edge first. Each has at least `min_values`
  /// values after it. `only_rises`: the values are a maximum, so its steps are not stages.
  std::vector<std::size_t> starts(std::size_t min_values, bool only_rises) const;

  /// Marks the working parts before part `first` as idle, load or warm-up. Earlier jobs stay working.
  void begin_work_at(std::size_t first);

  /// Indices of the values in working parts, from part `first` on.
  std::vector<std::size_t> values_of_work(std::size_t first) const;

  /// The total length of the pauses after value `value`, in units of x.
  double paused_after(std::size_t value) const;

 private:
  /// A plateau between two parts of one trend.
  struct Plateau {
    StageKind kind;  ///< evaluation; or pause, if the trend continues as if no time had passed
    double jump;     ///< height of the jump into it
    double length;   ///< in x, up to the first value after it
    double slope;    ///< slope at its end
  };
  std::vector<std::size_t> working() const;
  double start_of(const Segment& segment) const;
  double end_of(const Segment& segment) const;
  double level_of(const Segment& segment) const { return segment.y - zero_; }
  std::optional<Plateau> plateau_between(const Segment& before, const Segment& first, const Segment& last,
                                         const Segment& behind) const;
  bool was_released(std::size_t first) const;
  bool is_stair(const std::vector<std::size_t>& work, std::size_t number) const;
  bool was_as_low_before(std::size_t first) const;
  void mark_release();
  void mark_plateaus();
  void mark_open_plateau();
  void mark_pauses();

  const Points& points_;
  std::vector<StagedSegment> parts_;
  std::vector<Plateau> plateaus_;
  NoiseScale noise_;
  double zero_ = 0;  ///< level of an empty GPU
  double least_release_ = 0;
  double min_jump_ = 0;  ///< smallest height of an edge
  bool timed_ = false;
};

}  // namespace oomdoctor
