// Segments show where a series changes, but not why. The reason shows in the values that follow. Memory that falls
// almost to zero and stays there is a release. A plateau after which the trend continues is an evaluation, or a pause
// if it continues as if no time had passed. The other segments are one trend in time order. The size of a jump does not
// decide whether it begins with a start-up. The laws do: a start counts if the segments before it, plus the best law
// from it on, describe the values better than one law over all of them (fitted_series.cc).
//
// Levels are relative to an empty GPU: 0, or the largest free amount for a metric of remaining memory.
#include "growth/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "growth/growth_limits.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

/// The rise of the segment's line from its first to its last value.
double line_rise(const Segment& segment, const Points& points) {
  return segment.slope * (points.x[segment.end - 1] - points.x[segment.begin]);
}

}  // namespace

StageMap::StageMap(const Points& points, bool negated, bool timed) : points_(points), timed_(timed) {
  noise_ = estimate_noise(points, noise_floor(points, usual_range(points)));
  if (negated) {
    zero_ = *std::min_element(points.y.begin(), points.y.end());
    least_release_ = limits::least_release * std::abs(zero_);
  }
  for (const Segment& segment : segment_series(points, noise_)) parts_.push_back({segment, StageKind::working});
  min_jump_ =
      std::max({limits::print_steps * points.quantum, limits::level_share * std::abs(compute_median(points.y) - zero_),
                limits::edge_sigmas * noise_.sigma});
  mark_release();
  mark_plateaus();
  mark_open_plateau();
  if (timed_) mark_pauses();
}

std::vector<std::size_t> StageMap::working() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].kind == StageKind::working) numbers.push_back(i);
  return numbers;
}

double StageMap::start_of(const Segment& segment) const { return segment.at(points_.x[segment.begin]); }
double StageMap::end_of(const Segment& segment) const { return segment.at(points_.x[segment.end - 1]); }

/// True if the values fell as low several times before, for as long as they stay low from value `first` on: such falls
/// are a rhythm, and no end of the work.
bool StageMap::was_as_low_before(std::size_t first) const {
  constexpr int several = 2;
  const double level = *std::max_element(points_.y.begin() + static_cast<std::ptrdiff_t>(first), points_.y.end());
  const double length = points_.x.back() - points_.x[first];
  int troughs = 0;
  std::size_t begin = 0;  // of the values that are now low
  bool fell = false;      // a value before them was above the level
  for (std::size_t i = 0; i < first; ++i) {
    if (points_.y[i] <= level) continue;
    const bool low_before = i > 0 && points_.y[i - 1] <= level;
    troughs += low_before && fell && points_.x[i] - points_.x[begin] >= length;
    fell = true, begin = i + 1;
  }
  return troughs >= several;
}

/// Marks the longest end of the series that stays near the level of an empty GPU, far below the values before it.
void StageMap::mark_release() {
  const std::size_t count = parts_.size();
  std::size_t first = count;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (std::size_t i = count; i-- > 1;) {
    const double level = level_of(parts_[i].segment), before = end_of(parts_[i - 1].segment) - zero_;
    lowest = std::min(lowest, level), highest = std::max(highest, level);
    const bool like_start = std::abs(highest - level_of(parts_[0].segment)) <= limits::same_idle * before &&
                            highest <= limits::half_idle * before && i > 1;
    if (before >= least_release_ && (highest <= limits::idle_share * before || like_start) &&
        highest - lowest <= limits::same_idle * before)
      first = i;
  }
  if (first == count || parts_[first].segment.begin < limits::min_before_release) return;
  if (was_as_low_before(parts_[first].segment.begin)) return;
  // A steep fall to the idle level is part of the release.
  while (first > 1 &&
         line_rise(parts_[first - 1].segment, points_) < -limits::steep * (start_of(parts_[first - 1].segment) - zero_))
    --first;
  for (std::size_t i = first; i < count; ++i) parts_[i].kind = StageKind::idle;
  parts_[first].kind = StageKind::release;
}

/// The plateau between two parts of a trend, or nullopt. It needs two opposite jumps, and its two sides must lie on one
/// line (evaluation), or meet as if no time had passed (pause, if x counts time).
std::optional<StageMap::Plateau> StageMap::plateau_between(const Segment& before, const Segment& first,
                                                           const Segment& last, const Segment& after) const {
  // The plateau may start with a jump or grow out of the trend, but it must end with a jump.
  const double jump_in = start_of(first) - end_of(before), height = end_of(last) - end_of(before);
  const double jump_out = end_of(last) - start_of(after), jump = std::min(std::abs(height), std::abs(jump_out));
  if (jump < min_jump_ || (height > 0) != (jump_out > 0) ||
      (std::abs(jump_in) > min_jump_ && (jump_in > 0) != (jump_out > 0)))
    return std::nullopt;
  // Both sides share one slope, each about its own centre. The error of the comparison grows with their distance.
  const double square = before.square_x + after.square_x;
  const double slope = square > 0 ? (before.slope * before.square_x + after.slope * after.square_x) / square : 0;
  const double distance = after.x - before.x;
  const double error = noise_.sigma * std::sqrt(noise_.inflation() * (1 / static_cast<double>(before.size()) +
                                                                      1 / static_cast<double>(after.size()) +
                                                                      (square > 0 ? distance * distance / square : 0)));
  // How far the trend misses its old line, relative to the allowed miss: a share of the jump, or the noise if it is
  // larger.
  const auto miss = [&](double distance_to, double open) {
    return std::abs(distance_to) /
           std::min(limits::returns_at_most * jump, std::max(limits::returns * jump, 4 * open + 2 * points_.quantum));
  };
  const double as_evaluation = miss(after.y - before.y - slope * distance, error);
  const double as_pause = timed_ ? miss(start_of(after) - end_of(before), noise_.sigma) : as_evaluation + 1;
  if (std::min(as_evaluation, as_pause) > 1) return std::nullopt;
  return Plateau{as_pause < as_evaluation ? StageKind::pause : StageKind::evaluation, jump_in,
                 points_.x[after.begin] - points_.x[first.begin], last.slope};
}

/// Marks plateaus, the shortest first, until none is left. Of two alternating levels, the one with less time in it is
/// the exception.
void StageMap::mark_plateaus() {
  constexpr std::size_t max_segments = 3;  // in segments of one plateau
  constexpr std::size_t max_parts = 80;    // more parts are a pattern for the periodic laws
  for (std::vector<std::size_t> work = working(); work.size() >= 3 && work.size() <= max_parts; work = working()) {
    std::size_t smallest = std::numeric_limits<std::size_t>::max(), from = 0, to = 0;
    std::optional<Plateau> found;
    for (std::size_t i = 1; i + 1 < work.size(); ++i)
      for (std::size_t j = i, size = 0; j + 1 < work.size() && j < i + max_segments; ++j) {
        size += parts_[work[j]].segment.size();
        if (size >= smallest) break;
        const auto plateau = plateau_between(parts_[work[i - 1]].segment, parts_[work[i]].segment,
                                             parts_[work[j]].segment, parts_[work[j + 1]].segment);
        if (plateau) smallest = size, from = i, to = j, found = plateau;
      }
    if (!found) return;
    for (std::size_t i = from; i <= to; ++i) parts_[work[i]].kind = found->kind;
    plateaus_.push_back(*found);
  }
}

/// The log may end inside a plateau. Such an end begins like earlier plateaus, or rises like them and no further.
void StageMap::mark_open_plateau() {
  const std::vector<std::size_t> work = working();
  if (plateaus_.size() < 2 || work.size() < 2) return;
  const Segment &before = parts_[work[work.size() - 2]].segment, &last = parts_[work.back()].segment;
  const double jump = start_of(last) - end_of(before);
  const double length = points_.x[last.end - 1] - points_.x[last.begin];
  const auto is_similar = [&](const Plateau& plateau) {
    const bool same_jump = std::abs(jump - plateau.jump) <= limits::same_plateau * std::abs(plateau.jump);
    const bool same_rise = plateau.slope * last.slope > 0 && std::abs(before.slope) <= std::abs(last.slope) / 2 &&
                           std::min(std::abs(plateau.slope), std::abs(last.slope)) >=
                               limits::equal_rises * std::max(std::abs(plateau.slope), std::abs(last.slope)) &&
                           length <= (1 + limits::same_plateau) * plateau.length;
    return same_jump || same_rise;
  };
  if (std::count_if(plateaus_.begin(), plateaus_.end(), is_similar) >= 2)
    parts_[work.back()].kind = StageKind::evaluation;
}

/// Marks a level stretch between two equal rises that meet it on both sides.
void StageMap::mark_pauses() {
  const std::vector<std::size_t> work = working();
  constexpr std::size_t min_values = 3;  // minimum number of values in each of the three
  for (std::size_t i = 1; i + 1 < work.size(); ++i) {
    const Segment &before = parts_[work[i - 1]].segment, &level = parts_[work[i]].segment,
                  &after = parts_[work[i + 1]].segment;
    if (std::min({before.size(), level.size(), after.size()}) < min_values) continue;
    const double slower = std::min(before.slope, after.slope), faster = std::max(before.slope, after.slope);
    if (slower <= 0 || slower < limits::equal_rises * faster || std::abs(level.slope) > limits::rests * slower)
      continue;
    const double x_in = points_.x[level.begin], x_out = points_.x[after.begin];
    const double interval = (points_.x[level.end - 1] - x_in) / static_cast<double>(level.size() - 1);
    const double open = 4 * noise_.sigma + 2 * points_.quantum + 2 * faster * interval;
    if (std::abs(before.at(x_in) - level.at(x_in)) > open || std::abs(after.at(x_out) - level.at(x_out)) > open)
      continue;
    parts_[work[i]].kind = StageKind::pause;
  }
}

/// True if an earlier part rose like the end of the series, and as far, and its memory was freed afterwards. A fall at
/// the end of a job does not count.
bool StageMap::was_released(std::size_t first) const {
  const Segment& last = parts_[working().back()].segment;
  const double rise = line_rise(last, points_);
  if (rise <= min_jump_) return false;
  for (std::size_t i = 0; i < first; ++i) {
    const Segment &before = parts_[i].segment, &after = parts_[i + 1].segment;
    const double earlier_rise = line_rise(before, points_), fall = end_of(before) - start_of(after);
    const bool job_ended = level_of(after) <= limits::idle_share * (end_of(before) - zero_);
    if (before.slope >= limits::equal_rises * last.slope && earlier_rise >= limits::equal_rises * rise &&
        fall >= earlier_rise / 2 && fall <= 2 * earlier_rise && !job_ended)
      return true;
  }
  return false;
}

/// True for one of many similar jumps that continue after it, or may continue: that is a staircase and not a start.
/// False if a job begins there.
bool StageMap::is_stair(const std::vector<std::size_t>& work, std::size_t number) const {
  const auto jump_into = [&](std::size_t i) {
    const Segment& segment = parts_[work[i]].segment;
    return start_of(segment) - parts_[work[i - 1]].segment.at(points_.x[segment.begin]);
  };
  const double own_jump = jump_into(number);
  const Segment &before = parts_[work[number - 1]].segment, &after = parts_[work[number]].segment;
  if (std::abs(own_jump) < min_jump_ || level_of(before) <= limits::idle_share * level_of(after)) return false;
  double longest_gap = 0, last = points_.x[parts_[work[0]].segment.begin];
  int earlier = 0, later = 0;
  for (std::size_t i = 1; i < work.size(); ++i) {
    const double jump = jump_into(i), x = points_.x[parts_[work[i]].segment.begin];
    if (jump * own_jump <= 0 || std::abs(jump) < limits::like_jump * std::abs(own_jump) ||
        std::abs(own_jump) < limits::like_jump * std::abs(jump))
      continue;
    if (i <= number) longest_gap = std::max(longest_gap, x - last), last = x;
    earlier += i<number, later += i> number;
  }
  const double quiet = points_.x[parts_[work.back()].segment.end - 1] - points_.x[after.begin];
  return later >= 2 || (earlier >= 2 && quiet < limits::quiet_gaps * longest_gap);
}

std::vector<std::size_t> StageMap::starts(std::size_t min_values, bool only_rises) const {
  constexpr std::size_t max_starts = 6;  // of the sharpest edges; each costs a fit of all laws
  const std::vector<std::size_t> work = working();
  std::vector<std::pair<double, std::size_t>> edges;
  std::size_t values = 0;
  for (std::size_t i = work.size(); i-- > 1;) {
    const Segment &before = parts_[work[i - 1]].segment, &after = parts_[work[i]].segment;
    values += after.size();
    if (values < min_values) continue;
    const double x = points_.x[after.begin];
    if (was_released(work[i]) || is_stair(work, i)) continue;
    const double overlap = std::min(x - points_.x[before.begin], points_.x[after.end - 1] - x);
    const double sharpness =
        std::max(std::abs(after.at(x) - before.at(x)), std::abs(after.slope - before.slope) * overlap);
    if (sharpness >= (only_rises ? std::max(min_jump_, limits::steep * level_of(after)) : min_jump_))
      edges.emplace_back(-sharpness, work[i]);
  }
  std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < std::min(max_starts, edges.size()); ++i) parts.push_back(edges[i].second);
  return parts;
}

void StageMap::begin_work_at(std::size_t first) {
  const double level = start_of(parts_[first].segment) - zero_;
  bool idle_before = false;  // another job ended before the work began
  for (std::size_t i = first; i-- > 0;) {
    StagedSegment& part = parts_[i];
    if (part.kind != StageKind::working) continue;
    const double own_level = level_of(part.segment), rise = line_rise(part.segment, points_);
    const bool rises = rise > limits::steep * level && part.segment.slope > 2 * std::abs(parts_[first].segment.slope);
    if (own_level <= limits::idle_share * level && !rises) {
      part.kind = StageKind::idle;
      idle_before = idle_before || i > 0;
    } else if (!idle_before) {
      part.kind = rises || own_level < limits::nearly * level ? StageKind::load : StageKind::warmup;
    }
  }
}

std::vector<std::size_t> StageMap::values_of_work(std::size_t first) const {
  std::vector<std::size_t> values;
  for (std::size_t i = first; i < parts_.size(); ++i)
    if (parts_[i].kind == StageKind::working)
      for (std::size_t k = parts_[i].segment.begin; k < parts_[i].segment.end; ++k) values.push_back(k);
  return values;
}

double StageMap::paused_after(std::size_t value) const {
  double paused = 0;
  for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
    const Segment& segment = parts_[i].segment;
    if (parts_[i].kind != StageKind::pause || segment.begin <= value) continue;
    // A pause begins and ends between two logged values. The growth across it shows how much of these intervals was
    // work.
    const Segment &before = parts_[i - 1].segment, &after = parts_[i + 1].segment;
    const double x_before = points_.x[before.end - 1], x_after = points_.x[after.begin];
    const double slope = (before.slope + after.slope) / 2;
    const double grown = slope > 0 ? (start_of(after) - end_of(before)) / slope : 0;
    const double min_pause = points_.x[segment.end - 1] - points_.x[segment.begin];
    paused += std::clamp(x_after - x_before - grown, min_pause, std::max(min_pause, x_after - x_before));
  }
  return paused;
}

}  // namespace oomdoctor
