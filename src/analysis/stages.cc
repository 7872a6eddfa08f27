// Segments know where a course changes, not why. What a change means shows in what comes after it: memory that falls to
// next to nothing and stays there is a release, a plateau behind which the course goes on is an evaluation (or a pause
// where it goes on as if no time had passed). What is left is one course in the order of time. Whether it began with a
// start-up of its own is not decided by the size of a jump but by the laws: a start pays where the segments before it
// and the best law from it on describe the values better than any law over all of them (scene.cc).
//
// Levels are compared with that of an empty device: 0, or the largest free amount where values say what is left.
#include "analysis/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/growth_limits.h"
#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

double extent(const Segment& segment, const Points& points) {
  return segment.slope * (points.x[segment.end - 1] - points.x[segment.begin]);
}

}  // namespace

std::string_view to_string(StageKind kind) {
  switch (kind) {
    case StageKind::idle:
      return "idle";
    case StageKind::load:
      return "load";
    case StageKind::warmup:
      return "warmup";
    case StageKind::working:
      return "working";
    case StageKind::evaluation:
      return "evaluation";
    case StageKind::pause:
      return "pause";
    case StageKind::release:
      return "release";
    case StageKind::restart:
      return "restart";
  }
  return "working";
}

StageMap::StageMap(const Points& points, bool negated, bool timed) : points_(points), timed_(timed) {
  noise_ = noise_scale_of(points, noise_floor(points, usual_range(points)));
  if (negated) zero_ = *std::min_element(points.y.begin(), points.y.end());
  for (const Segment& segment : segments_of(points, noise_)) parts_.push_back({segment, StageKind::working});
  least_jump_ =
      std::max({limits::print_steps * points.quantum, limits::level_share * std::abs(median_of(points.y) - zero_),
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

/// The longest end of the series that lies near the level of an empty device, far below what came before it.
void StageMap::mark_release() {
  const std::size_t count = parts_.size();
  std::size_t first = count;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (std::size_t i = count; i-- > 1;) {
    const double level = level_of(parts_[i].segment), before = end_of(parts_[i - 1].segment) - zero_;
    least = std::min(least, level), most = std::max(most, level);
    const bool as_at_first = std::abs(most - level_of(parts_[0].segment)) <= limits::same_idle * before &&
                             most <= limits::half_idle * before && i > 1;
    if ((most <= limits::idle_share * before || as_at_first) && most - least <= limits::same_idle * before) first = i;
  }
  if (first == count || parts_[first].segment.begin < limits::least_before_release) return;
  // What falls steeply to it belongs to it.
  while (first > 1 &&
         extent(parts_[first - 1].segment, points_) < -limits::steep * (start_of(parts_[first - 1].segment) - zero_))
    --first;
  for (std::size_t i = first; i < count; ++i) parts_[i].kind = StageKind::idle;
  parts_[first].kind = StageKind::release;
}

std::optional<StageMap::Plateau> StageMap::plateau_between(const Segment& before, const Segment& first,
                                                           const Segment& last, const Segment& behind) const {
  // It may be jumped into or grow out of the course; it ends at once.
  const double into = start_of(first) - end_of(before), height = end_of(last) - end_of(before);
  const double out = end_of(last) - start_of(behind), jump = std::min(std::abs(height), std::abs(out));
  if (jump < least_jump_ || (height > 0) != (out > 0) || (std::abs(into) > least_jump_ && (into > 0) != (out > 0)))
    return std::nullopt;
  // Both sides share one slope, each about its own centre; what it leaves open grows with the distance between them.
  const double square = before.square_x + behind.square_x;
  const double slope = square > 0 ? (before.slope * before.square_x + behind.slope * behind.square_x) / square : 0;
  const double distance = behind.x - before.x;
  const double error = noise_.sigma * std::sqrt(noise_.inflation() * (1 / static_cast<double>(before.size()) +
                                                                      1 / static_cast<double>(behind.size()) +
                                                                      (square > 0 ? distance * distance / square : 0)));
  // What a course may miss where it comes back, in units of what noise and a share of the jump leave open.
  const auto miss = [&](double distance_to, double open) {
    return std::abs(distance_to) /
           std::min(limits::returns_at_most * jump, std::max(limits::returns * jump, 4 * open + 2 * points_.quantum));
  };
  const double as_evaluation = miss(behind.y - before.y - slope * distance, error);
  const double as_pause = timed_ ? miss(start_of(behind) - end_of(before), noise_.sigma) : as_evaluation + 1;
  if (std::min(as_evaluation, as_pause) > 1) return std::nullopt;
  return Plateau{as_pause < as_evaluation ? StageKind::pause : StageKind::evaluation, into,
                 points_.x[behind.begin] - points_.x[first.begin], last.slope};
}

/// The shortest plateaus first, until none is left: which of two alternating levels is the exception is a question of
/// time spent there.
void StageMap::mark_plateaus() {
  constexpr std::size_t longest = 3;      // segments of one plateau
  constexpr std::size_t most_parts = 80;  // more are a pattern for the laws that repeat
  for (std::vector<std::size_t> left = working(); left.size() >= 3 && left.size() <= most_parts; left = working()) {
    std::size_t least = std::numeric_limits<std::size_t>::max(), from = 0, to = 0;
    std::optional<Plateau> found;
    for (std::size_t i = 1; i + 1 < left.size(); ++i)
      for (std::size_t j = i, size = 0; j + 1 < left.size() && j < i + longest; ++j) {
        size += parts_[left[j]].segment.size();
        if (size >= least) break;
        const auto plateau = plateau_between(parts_[left[i - 1]].segment, parts_[left[i]].segment,
                                             parts_[left[j]].segment, parts_[left[j + 1]].segment);
        if (plateau) least = size, from = i, to = j, found = plateau;
      }
    if (!found) return;
    for (std::size_t i = from; i <= to; ++i) parts_[left[i]].kind = found->kind;
    plateaus_.push_back(*found);
  }
}

/// The log may end inside of a plateau: one that begins as those before it did, or rises as they did and no further.
void StageMap::mark_open_plateau() {
  const std::vector<std::size_t> left = working();
  if (plateaus_.size() < 2 || left.size() < 2) return;
  const Segment &before = parts_[left[left.size() - 2]].segment, &last = parts_[left.back()].segment;
  const double jump = start_of(last) - end_of(before);
  const double length = points_.x[last.end - 1] - points_.x[last.begin];
  const auto resembles = [&](const Plateau& plateau) {
    const bool begins_alike = std::abs(jump - plateau.jump) <= limits::same_plateau * std::abs(plateau.jump);
    const bool rises_alike = plateau.slope * last.slope > 0 && std::abs(before.slope) <= std::abs(last.slope) / 2 &&
                             std::min(std::abs(plateau.slope), std::abs(last.slope)) >=
                                 limits::equal_rises * std::max(std::abs(plateau.slope), std::abs(last.slope)) &&
                             length <= (1 + limits::same_plateau) * plateau.length;
    return begins_alike || rises_alike;
  };
  if (std::count_if(plateaus_.begin(), plateaus_.end(), resembles) >= 2)
    parts_[left.back()].kind = StageKind::evaluation;
}

/// A level stretch between two equal rises that meet it on both sides.
void StageMap::mark_pauses() {
  const std::vector<std::size_t> left = working();
  constexpr std::size_t least = 3;  // values of each of the three
  for (std::size_t i = 1; i + 1 < left.size(); ++i) {
    const Segment &before = parts_[left[i - 1]].segment, &level = parts_[left[i]].segment,
                  &behind = parts_[left[i + 1]].segment;
    if (std::min({before.size(), level.size(), behind.size()}) < least) continue;
    const double slower = std::min(before.slope, behind.slope), faster = std::max(before.slope, behind.slope);
    if (slower <= 0 || slower < limits::equal_rises * faster || std::abs(level.slope) > limits::rests * slower)
      continue;
    const double x_in = points_.x[level.begin], x_out = points_.x[behind.begin];
    const double interval = (points_.x[level.end - 1] - x_in) / static_cast<double>(level.size() - 1);
    const double open = 4 * noise_.sigma + 2 * points_.quantum + 2 * faster * interval;
    if (std::abs(before.at(x_in) - level.at(x_in)) > open || std::abs(behind.at(x_out) - level.at(x_out)) > open)
      continue;
    parts_[left[i]].kind = StageKind::pause;
  }
}

/// Did something before part `first` rise as the end of the series does, and as far, and was given back? Not where the
/// job ended with it.
bool StageMap::was_given_back(std::size_t first) const {
  const Segment& last = parts_[working().back()].segment;
  const double rise = extent(last, points_);
  if (rise <= least_jump_) return false;
  for (std::size_t i = 0; i < first; ++i) {
    const Segment &before = parts_[i].segment, &behind = parts_[i + 1].segment;
    const double own = extent(before, points_), fall = end_of(before) - start_of(behind);
    const bool job_ended = level_of(behind) <= limits::idle_share * (end_of(before) - zero_);
    if (before.slope >= limits::equal_rises * last.slope && own >= limits::equal_rises * rise && fall >= own / 2 &&
        fall <= 2 * own && !job_ended)
      return true;
  }
  return false;
}

/// One of many like jumps, which go on behind it or may well do so: a staircase, not a start. Never where a job begins.
bool StageMap::is_stair(const std::vector<std::size_t>& left, std::size_t number) const {
  const auto jump_into = [&](std::size_t i) {
    const Segment& there = parts_[left[i]].segment;
    return start_of(there) - parts_[left[i - 1]].segment.at(points_.x[there.begin]);
  };
  const double own = jump_into(number);
  const Segment &before = parts_[left[number - 1]].segment, &behind = parts_[left[number]].segment;
  if (std::abs(own) < least_jump_ || level_of(before) <= limits::idle_share * level_of(behind)) return false;
  double longest = 0, last = points_.x[parts_[left[0]].segment.begin];
  int earlier = 0, later = 0;
  for (std::size_t i = 1; i < left.size(); ++i) {
    const double jump = jump_into(i), x = points_.x[parts_[left[i]].segment.begin];
    if (jump * own <= 0 || std::abs(jump) < limits::like_jump * std::abs(own) ||
        std::abs(own) < limits::like_jump * std::abs(jump))
      continue;
    if (i <= number) longest = std::max(longest, x - last), last = x;
    earlier += i<number, later += i> number;
  }
  const double quiet = points_.x[parts_[left.back()].segment.end - 1] - points_.x[behind.begin];
  return later >= 2 || (earlier >= 2 && quiet < limits::quiet_gaps * longest);
}

std::vector<std::size_t> StageMap::starts(std::size_t least_values, bool only_rises) const {
  constexpr std::size_t most = 6;  // of the sharpest edges: each costs a fit of all laws
  const std::vector<std::size_t> left = working();
  std::vector<std::pair<double, std::size_t>> edges;
  std::size_t values = 0;
  for (std::size_t i = left.size(); i-- > 1;) {
    const Segment &before = parts_[left[i - 1]].segment, &behind = parts_[left[i]].segment;
    values += behind.size();
    if (values < least_values) continue;
    const double x = points_.x[behind.begin];
    if (was_given_back(left[i]) || is_stair(left, i)) continue;
    const double reach = std::min(x - points_.x[before.begin], points_.x[behind.end - 1] - x);
    const double sharp = std::max(std::abs(behind.at(x) - before.at(x)), std::abs(behind.slope - before.slope) * reach);
    if (sharp >= (only_rises ? std::max(least_jump_, limits::steep * level_of(behind)) : least_jump_))
      edges.emplace_back(-sharp, left[i]);
  }
  std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < std::min(most, edges.size()); ++i) parts.push_back(edges[i].second);
  return parts;
}

void StageMap::begin_work_at(std::size_t first) {
  const double level = start_of(parts_[first].segment) - zero_;
  bool idle_behind = false;  // something ended before the work that counts began
  for (std::size_t i = first; i-- > 0;) {
    Part& part = parts_[i];
    if (part.kind != StageKind::working) continue;
    const double own = level_of(part.segment), rise = extent(part.segment, points_);
    const bool rises = rise > limits::steep * level && part.segment.slope > 2 * std::abs(parts_[first].segment.slope);
    if (own <= limits::idle_share * level && !rises) {
      part.kind = StageKind::idle;
      idle_behind = idle_behind || i > 0;
    } else if (!idle_behind) {
      part.kind = rises || own < limits::nearly * level ? StageKind::load : StageKind::warmup;
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

double StageMap::paused_behind(std::size_t value) const {
  double paused = 0;
  for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
    const Segment& segment = parts_[i].segment;
    if (parts_[i].kind != StageKind::pause || segment.begin <= value) continue;
    // Where in the last interval before it and the first behind it the pause lay, shows in what grew meanwhile.
    const Segment &before = parts_[i - 1].segment, &behind = parts_[i + 1].segment;
    const double x_before = points_.x[before.end - 1], x_behind = points_.x[behind.begin];
    const double slope = (before.slope + behind.slope) / 2;
    const double grown = slope > 0 ? (start_of(behind) - end_of(before)) / slope : 0;
    const double least = points_.x[segment.end - 1] - points_.x[segment.begin];
    paused += std::clamp(x_behind - x_before - grown, least, std::max(least, x_behind - x_before));
  }
  return paused;
}

}  // namespace oomdoctor
