// Everything in a curve besides growth: single outliers, jumps between levels, regular releases. Indices refer to the
// given Points. Positions are in units of the window (see fit.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "growth/fitter.h"

namespace oomdoctor {

/// The values that leave their neighbourhood and return within three values (2 % of a long series), ascending.
std::vector<std::size_t> find_spikes(const Points& points);

/// The first index of each new level. `noise` is the standard deviation of one value about its level.
std::vector<std::size_t> level_changes(const Points& points, double noise);

/// The standard deviation of the noise, from first differences. Slow movement does not affect it.
double compute_noise(const Points& points);

/// Fits the step, two steps or stairs with the given changes; nullopt without changes.
std::optional<Fit> fit_levels(const Fitter& fitter, const std::vector<std::size_t>& changes);

/// The best periodic laws, one with a level floor and one with a sloping floor. Both are absent if nothing suggests a
/// period.
struct Periodicity {
  std::optional<Fit> level, sloping;
};

/// Finds the periodic laws. `changes` of level are a hint, because stairs may be periodic (a staircase is a line minus
/// a sawtooth). `sloping` requests the second law.
Periodicity find_periodicity(const Fitter& fitter, const std::vector<std::size_t>& changes, bool sloping = true);

/// Finds the best equal stairs at equal distances. For a long series `changes` is a hint. nullopt for fewer than three
/// stairs.
std::optional<Fit> find_staircase(const Fitter& fitter, const std::vector<std::size_t>& changes);

/// Thins to about `max_count` points. If a block would blur a short period, blocks span whole periods.
Points in_whole_periods(const Points& points, std::size_t max_count);

}  // namespace oomdoctor
