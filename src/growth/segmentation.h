// Cuts a series where its trend changes, into the best set of straight lines; the lines may jump where they meet.
#pragma once

#include <cstddef>
#include <vector>

#include "growth/fit.h"

namespace oomdoctor {

/// The scatter of values around their trend, in the unit of y. Robust: up to half of the values may be edges.
struct NoiseScale {
  double sigma = 0;  ///< standard deviation of one value
  double rho = 0;    ///< lag-1 autocorrelation, 0 … 0.95
  double next = 0;   ///< standard deviation of the innovation: the new part of a value, given the one before it

  /// The factor that autocorrelation adds to the variance of a mean: (1 + ρ) / (1 − ρ).
  double inflation() const { return (1 + rho) / (1 - rho); }
};

/// The smallest scatter to assume, from the print step and a share of the movement.
double noise_floor(const Points& points, double movement);

/// The range between the 2 % and the 98 % quantile of the values.
double usual_range(const Points& points);

/// Estimates the noise from differences over 1, 2, 4, … values: white noise scatters equally over every distance, a
/// drifting level does not. The result is never below `floor`.
NoiseScale estimate_noise(const Points& points, double floor);

/// Values [begin, end) and the least-squares line through them. One or two values give a level.
struct Segment {
  std::size_t begin = 0, end = 0;
  double x = 0, y = 0;  ///< centre of the values; the line passes through it
  double slope = 0;     ///< per unit of x
  double rss = 0;       ///< weighted
  double square_x = 0;  ///< weighted sum of squares of x about its centre; it determines the error of the slope

  std::size_t size() const { return end - begin; }
  double at(double place) const { return y + slope * (place - x); }
};

/// Fits the line through values [begin, end).
Segment fit_segment(const Points& points, std::size_t begin, std::size_t end);

/// Returns the cut that minimises Σ rss + count · penalty, exactly (optimal partitioning, Jackson et al. 2005). O(n²)
/// time for n points, so callers thin the series first.
std::vector<Segment> cut_into_lines(const Points& points, double penalty);

/// Cuts any number of points: thins them to a few hundred, cuts with a penalty from the noise (three parameters per
/// line, by BIC), and moves each boundary to its best position among all points.
std::vector<Segment> segment_series(const Points& points, const NoiseScale& noise);

}  // namespace oomdoctor
