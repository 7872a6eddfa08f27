// Cuts a series where its course changes: the cheapest description by straight lines that may jump between each other.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/fit.h"

namespace oomdoctor {

/// The scatter of values about their course, in the unit of y. Robust: up to half of the values may be edges.
struct NoiseScale {
  double sigma = 0;  ///< standard deviation of one value
  double rho = 0;    ///< lag-1 autocorrelation, 0 … 0.95
  double next = 0;   ///< standard deviation of what is new in a value, given the one before it

  /// What autocorrelation adds to the variance of a mean: (1 + ρ) / (1 − ρ).
  double inflation() const { return (1 + rho) / (1 - rho); }
};

/// The least scatter that is believed: of the print step, and of a share of the movement.
double noise_floor(const Points& points, double movement);

/// Between the lowest and the highest fiftieth of the values.
double usual_range(const Points& points);

/// From differences over 1, 2, 4, … values: white noise scatters alike over every distance, a wandering level does not.
/// Never below `floor`.
NoiseScale noise_scale_of(const Points& points, double floor);

/// Values [begin, end) and the least-squares line through them; one or two values are a level.
struct Segment {
  std::size_t begin = 0, end = 0;
  double x = 0, y = 0;  ///< centre of the values: the line passes through it
  double slope = 0;     ///< per unit of x
  double rss = 0;       ///< weighted
  double square_x = 0;  ///< weighted square sum of x about its centre: what the slope rests on

  std::size_t size() const { return end - begin; }
  double at(double place) const { return y + slope * (place - x); }
};

/// The line through values [begin, end).
Segment fit_segment(const Points& points, std::size_t begin, std::size_t end);

/// The cut that minimises Σ rss + count · penalty, exactly (optimal partitioning, Jackson et al. 2005). O(n²) time for
/// n points; callers thin first.
std::vector<Segment> cut_into_lines(const Points& points, double penalty);

/// The same for any number of points: thinned to a few hundred, cut with a penalty from the noise (three parameters a
/// line, by BIC), and each boundary moved to its best place among all points.
std::vector<Segment> segments_of(const Points& points, const NoiseScale& noise);

}  // namespace oomdoctor
