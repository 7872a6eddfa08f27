// The laws of growth that a series is tried against, as functions of u = (x − origin) / width, the share of the window.
// Each is linear in its coefficients once theta (rates, knots, positions of jumps, or period and offset) is held.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace oomdoctor {

enum class Law {
  constant,
  linear,
  quadratic,
  exponential,  ///< a + b (e^{cu} − 1), c > 0
  logarithmic,  ///< a + b ln(1 + θu)
  saturating,   ///< a + b (1 − e^{−u/τ})
  late,         ///< flat up to a knot, then a line
  ramp,         ///< a line up to a knot, then flat
  bend,         ///< two lines that meet
  step,
  two_steps,
  stairs,      ///< levels
  step_line,   ///< a line that jumps once
  sawtooth,    ///< rises between resets, the floor is level
  ratchet,     ///< the same with a sloping floor
  staircase,   ///< equal stairs at equal distances: what is kept is added every so many steps
  cycle,       ///< any level pattern that repeats
  cycle_line,  ///< the same on a slope
};
std::string_view to_string(Law);

inline constexpr std::size_t cycle_levels = 8;  ///< parts of a period that have a level of their own

/// Does the curve move smoothly with theta (a rate, a knot), so that theta has a standard error?
bool has_smooth_theta(Law law);
bool has_levels(Law law);  ///< piecewise constant: step, two_steps, stairs
bool has_teeth(Law law);   ///< repeats: sawtooth, ratchet, staircase, cycle, cycle_line

std::size_t column_count(Law law, const std::vector<double>& theta);
/// The law's columns at each u, column by column; `out` holds u.size() × column_count(…) values.
void fill_columns(Law law, const std::vector<double>& theta, std::span<const double> u, double* out);
/// The same at one u.
void fill_columns(Law law, const std::vector<double>& theta, double u, double* out);
double value_at(Law law, const std::vector<double>& beta, const std::vector<double>& theta, double u);

/// Which column is the straight line of the law, if it has one next to something else.
std::size_t line_column(Law law);

/// Where in its period (0 … 1) u lies; theta is (period, offset) or a list of at least three resets.
double phase_of(const std::vector<double>& theta, double u);
double period_of(const std::vector<double>& theta);

}  // namespace oomdoctor
