// Fits growth laws to points by least squares.
#pragma once

#include <memory>
#include <vector>

#include "growth/fit.h"

namespace oomdoctor {

/// Fits laws to one set of points. It prepares the points once for all laws, and keeps a reference to them.
class Fitter {
 public:
  explicit Fitter(const Points& points);
  ~Fitter();
  Fitter(const Fitter&) = delete;
  Fitter& operator=(const Fitter&) = delete;

  const Points& points() const { return points_; }

  /// Fits a law with the given theta. `autocorrelated` also tries autocorrelated noise and keeps the better score.
  Fit fit_at(Law law, std::vector<double> theta, bool autocorrelated = true) const;

  /// Fits a law with levels to values without autocorrelated noise. `changes` are its theta: the positions between two
  /// levels, ascending. The time does not depend on their number.
  Fit fit_levels(Law law, std::vector<double> changes) const;

  /// Searches theta and fits, for laws with one smooth or positional parameter (not stairs, sawtooth, ratchet).
  Fit fit(Law law, bool autocorrelated = true);

 private:
  struct Prepared;
  const Points& points_;
  std::unique_ptr<Prepared> prepared_;
};

/// The same for one law.
Fit fit_at(Law law, std::vector<double> theta, const Points& points, bool autocorrelated = true);
Fit fit_law(Law law, const Points& points, bool autocorrelated = true);

/// A line with a known slope and its standard error (both per step). Only the level is fitted.
Fit line_with_slope(double slope, double error, const Points& points);

}  // namespace oomdoctor
