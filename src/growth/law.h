// The growth laws that are fitted to a series, as functions of u = (x − origin) / width, the share of the window. Each
// law is linear in its coefficients for a fixed theta (rates, knots, positions of jumps, or period and offset).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/enum_names.h"

namespace oomdoctor {

/// The laws. Without a formula, the coefficients are those of the columns in fill_columns().
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
  stairs,      ///< piecewise constant
  step_line,   ///< a line that jumps once
  sawtooth,    ///< rises between resets, with a level floor
  ratchet,     ///< the same with a sloping floor
  staircase,   ///< equal stairs at equal distances: memory that is added every so many steps stays
  cycle,       ///< any periodic pattern of levels
  cycle_line,  ///< the same plus a slope
};
template <>
inline constexpr auto enum_names<Law> = names_up_to<Law::cycle_line>("constant", "linear", "quadratic", "exponential",
                                                                     "logarithmic", "saturating", "late_linear", "ramp",
                                                                     "two_slopes", "step", "two_steps", "stairs",
                                                                     "step_and_line", "sawtooth", "ratchet",
                                                                     "staircase", "cycle", "cycle_and_line");

inline constexpr std::size_t cycle_levels = 8;  ///< parts of a period with separate levels

/// True if the curve moves smoothly with theta (a rate, a knot), so that theta has a standard error.
bool has_smooth_theta(Law law);
bool has_levels(Law law);   ///< piecewise constant: step, two_steps, stairs
bool is_periodic(Law law);  ///< periodic: sawtooth, ratchet, staircase, cycle, cycle_line

/// The number of coefficients.
std::size_t column_count(Law law, const std::vector<double>& theta);
/// Writes the law's columns at each u, column by column. `out` has room for u.size() × column_count(…) values.
void fill_columns(Law law, const std::vector<double>& theta, std::span<const double> u, double* out);
/// The same for one u.
void fill_columns(Law law, const std::vector<double>& theta, double u, double* out);
/// The law's value at u: Σ beta[i] · column i.
double value_at(Law law, const std::vector<double>& beta, const std::vector<double>& theta, double u);

/// The index of the column that is a straight line, for laws that have one next to something else.
std::size_t line_column(Law law);

/// The position of u in its period (0 … 1). `theta` is (period, offset), or a list of at least three resets.
double cycle_phase(const std::vector<double>& theta, double u);
/// The period in units of the window; the mean one for a list of resets.
double period_of(const std::vector<double>& theta);

}  // namespace oomdoctor
