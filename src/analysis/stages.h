// What a run was doing while its memory was logged: idle, load, work, evaluation, pause, release.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/segmentation.h"

namespace oomdoctor {

enum class StageKind {
  idle,        ///< nothing runs on the GPU yet, or any more
  load,        ///< memory rises steeply to the level of the work
  warmup,      ///< near the working level, but not yet there
  working,     ///< what trends are read from
  evaluation,  ///< a plateau between two parts of one course
  pause,       ///< nothing grows, then growth goes on where it stopped
  release,     ///< the work is over and its memory is given back
  restart,     ///< the step counter begins again
};
std::string_view to_string(StageKind);

/// A stage of a run; steps and values as printed.
struct Stage {
  StageKind kind = StageKind::working;
  double first_step = 0, last_step = 0;
  double first_value = 0, last_value = 0;  ///< bytes
  double slope = 0;                        ///< bytes per step
};

/// The segments of a run's values, each with its part in the run.
class StageMap {
 public:
  /// Finds releases, evaluations and pauses. `points`: without spikes, kept by reference; `negated`: values say what is
  /// left, with their sign turned; `timed`: x counts seconds, so that a pause takes room.
  StageMap(const Points& points, bool negated, bool timed);

  struct Part {
    Segment segment;
    StageKind kind = StageKind::working;
  };
  const std::vector<Part>& parts() const { return parts_; }
  const NoiseScale& noise() const { return noise_; }

  /// Parts at which the last working stage may begin, the sharpest edge first; at least `least_values` behind each.
  /// `only_rises`: the values are a maximum, whose stairs are no stages.
  std::vector<std::size_t> starts(std::size_t least_values, bool only_rises) const;

  /// Working parts before part `first` become idle, load or warm-up; earlier jobs stay working.
  void begin_work_at(std::size_t first);

  /// Indices of the values of working parts from part `first` on.
  std::vector<std::size_t> values_of_work(std::size_t first) const;

  /// How long the pauses behind value `value` last, in x.
  double paused_behind(std::size_t value) const;

 private:
  struct Plateau {
    StageKind kind;  ///< evaluation, or pause where the course goes on as if no time had passed
    double jump;     ///< into it
    double length;   ///< in x, up to the first value behind it
    double slope;    ///< of its end
  };
  std::vector<std::size_t> working() const;
  double start_of(const Segment& segment) const;
  double end_of(const Segment& segment) const;
  double level_of(const Segment& segment) const { return segment.y - zero_; }
  std::optional<Plateau> plateau_between(const Segment& before, const Segment& first, const Segment& last,
                                         const Segment& behind) const;
  bool was_given_back(std::size_t first) const;
  bool is_stair(const std::vector<std::size_t>& left, std::size_t number) const;
  void mark_release();
  void mark_plateaus();
  void mark_open_plateau();
  void mark_pauses();

  const Points& points_;
  std::vector<Part> parts_;
  std::vector<Plateau> plateaus_;
  NoiseScale noise_;
  double zero_ = 0;        ///< the level of an empty device
  double least_jump_ = 0;  ///< what counts as an edge
  bool timed_ = false;
};

}  // namespace oomdoctor
