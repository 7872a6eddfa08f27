// What a curve does besides growing: single wild values, jumps between levels, regular releases.
// Indices point into the Points that were given; positions are in units of the window (see fit.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/fit.h"

namespace oomdoctor {

/// Values that leave their neighbourhood and come back within three values (2 % of a long series); ascending.
std::vector<std::size_t> find_spikes(const Points& points);

/// First index of each new level; `noise` is the standard deviation of one value about its level.
std::vector<std::size_t> level_changes(const Points& points, double noise);

/// Standard deviation of the noise from first differences: slow movement does not count.
double noise_of(const Points& points);

/// The stairs, step or steps through the given changes; nothing without changes.
std::optional<Fit> fit_levels(const Points& points, const std::vector<std::size_t>& changes);

/// The best repeating law with a level floor and with a sloping one, where anything like a period shows.
struct Periodicity {
  std::optional<Fit> level, sloping;
};

/// `changes`: of level, as a hint where stairs may have a rhythm (a staircase is a line less a sawtooth). `sloping`: is
/// the second one wanted?
Periodicity find_teeth(const Points& points, const std::vector<std::size_t>& changes, bool sloping = true);

/// The best equal stairs at equal distances, `changes` as a hint where the series is long; nothing for a series that
/// has fewer than three.
std::optional<Fit> find_staircase(const Points& points, const std::vector<std::size_t>& changes);

/// At most about `most` points, in blocks that hold whole periods where a short period would be blurred.
Points in_whole_periods(const Points& points, std::size_t most);

}  // namespace oomdoctor
