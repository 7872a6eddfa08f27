// Spikes leave before anything is fitted (least squares bow to a single wild value), long series are read in block
// means (the estimators are quadratic in places), and the noise is floored: by the print step, because a quantised
// constant has no scatter of its own, and by a share of the movement, because no program follows a formula to the last
// byte and the law that is wrong by less than that must be allowed to win by simplicity.
#include "analysis/scene.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/growth_limits.h"
#include "analysis/shapes.h"
#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

bool only_rises(const Fit& stairs) { return std::is_sorted(stairs.beta.begin(), stairs.beta.end()); }

/// May the levels between these changes only rise? Their means say so at once; a fit through dozens of levels costs as
/// much as all other laws. A fall that may be rounding is left to the fit.
bool may_only_rise(const Points& points, const std::vector<std::size_t>& changes) {
  constexpr double rounding = 1e-9;  // of the level before
  double last = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0, begin = 0; k <= changes.size(); ++k) {
    const std::size_t end = k < changes.size() ? changes[k] : points.size();
    double sum = 0, weight = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points.weight[i] * points.y[i], weight += points.weight[i];
    const double level = sum / weight;
    if (level < last - rounding * std::abs(last)) return false;
    last = level, begin = end;
  }
  return true;
}

/// How many periods begin inside the window.
std::size_t resets_in(const std::vector<double>& theta) {
  if (theta.size() != 2) return theta.size();
  return static_cast<std::size_t>(std::floor((1 - theta[1]) / theta[0]) - std::floor(-theta[1] / theta[0]));
}

/// Teeth that point down are stairs, and two steps are a change of input.
bool too_few_stairs(const Fit& fit) {
  return fit.law == Law::ratchet && fit.beta[2] < 0 && resets_in(fit.theta) < limits::least_stairs;
}

std::vector<Fit> all_fits(const Points& points) {
  std::vector<Fit> fits;
  for (const Law law : {Law::constant, Law::linear, Law::quadratic, Law::exponential, Law::logarithmic, Law::saturating,
                        Law::late, Law::ramp, Law::bend, Law::step, Law::two_steps, Law::step_line}) {
    if (points.size() < limits::least_for_bends && law != Law::constant && law != Law::linear && law != Law::ramp)
      continue;
    fits.push_back(fit_law(law, points));
  }
  const std::vector<std::size_t> changes = level_changes(points, noise_of(points));
  if (changes.size() >= limits::least_stairs && changes.size() <= points.size() / 3 &&
      (changes.size() <= limits::most_levels || may_only_rise(points, changes)))
    if (auto stairs = fit_levels(points, changes); changes.size() <= limits::most_levels || only_rises(*stairs))
      fits.push_back(std::move(*stairs));
  Teeth teeth = find_teeth(points, changes);
  if (auto stairs = find_staircase(points, changes)) fits.push_back(std::move(*stairs));
  if (teeth.level) fits.push_back(std::move(*teeth.level));
  if (teeth.sloping && !too_few_stairs(*teeth.sloping)) fits.push_back(std::move(*teeth.sloping));
  std::erase_if(fits, [](const Fit& fit) { return fit.law != Law::constant && !std::isfinite(fit.score); });
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.score < b.score; });
  return fits;
}

/// Labels that name a maximum, and labels that leave open whether they do: there the shape decides.
bool may_be_maximum(const Series& series) {
  switch (series.metric) {
    case Metric::allocated:
    case Metric::active:
    case Metric::free:
    case Metric::host_rss:
    case Metric::host_used:
    case Metric::host_available:
      return false;
    default:
      return true;
  }
}

bool cannot_fall(const Series& series, const Points& all) {
  std::size_t equal = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all.y[i] < all.y[i - 1] - all.quantum / 2) return false;
    if (all.y[i] == all.y[i - 1]) ++equal;
  }
  if (series.kind == SeriesKind::running_maximum) return true;
  return may_be_maximum(series) && all.size() >= limits::least_for_plateaus &&
         static_cast<double>(equal) >= limits::plateau_share * static_cast<double>(all.size());
}

/// A print step so coarse that whole stretches repeat one number: each stretch is one observation, not many.
Points thinned(const Points& points, double range) {
  std::size_t equal = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points.y[i] == points.y[i - 1]) ++equal;
  const bool coarse =
      range > 2 * points.quantum && range < limits::coarse_range * points.quantum && 2 * equal > points.size();
  return coarse ? condensed(points, limits::coarse_points) : in_whole_periods(points, limits::most_points);
}

/// How much the stairs climb late: the mean position of their jumps, each with its height as weight.
bool keeps_climbing(const Fit& stairs) {
  if (!only_rises(stairs)) return false;
  double heights = 0, places = 0;
  for (std::size_t i = 0; i < stairs.theta.size(); ++i) {
    const double height = stairs.beta[i + 1] - stairs.beta[i];
    heights += height;
    places += height * stairs.theta[i];
  }
  return stairs.theta.size() >= limits::least_stairs && places > limits::late_climb * heights &&
         stairs.theta.back() > limits::last_stair;
}

}  // namespace

Scene scene_of(const Series& series, const GrowthOptions& options) {
  Scene scene{series, options, samples_of(series, options.failure_step), {}, {}, {}, false};
  const Points& all = scene.samples.points;
  if (all.size() < limits::least_values) return scene;
  scene.spikes = find_spikes(all);
  const Points clean = without(all, scene.spikes);
  const double range = quantile_of(clean.y, 0.98) - quantile_of(clean.y, 0.02);
  scene.points = thinned(clean, range);
  scene.points.floor =
      std::max({all.quantum / std::sqrt(12.0), limits::imperfection * range, 1e-9 * std::abs(all.y[0]), 1.0});
  scene.maximum = cannot_fall(series, all);
  scene.fits = all_fits(scene.points);
  return scene;
}

const Fit* fit_of(const Scene& scene, Law law) {
  for (const Fit& fit : scene.fits)
    if (fit.law == law) return &fit;
  return nullptr;
}

double level_of(const Scene& scene) { return std::max(1.0, std::abs(median_of(scene.points.y))); }

Rise rise_of(const Fit& fit, const Scene& scene) {
  const auto column = [&](std::size_t i) {
    return Rise{fit.beta[i], std::sqrt(std::max(0.0, fit.covariance[i * fit.free_parameters() + i]))};
  };
  switch (fit.law) {
    case Law::ratchet:
    case Law::cycle_line:
      return column(line_column(fit.law));
    case Law::bend:  // slowing down: only what it still does counts
      if (fit.beta[2] / (1 - fit.theta[0]) < fit.beta[1] / fit.theta[0]) return column(2);
      break;
    case Law::step_line:  // after a fall the floor counts, and a floor has risen only if it starts higher than the
                          // first
      if (fit.beta[2] < 0) return {fit.beta[1] * fit.theta[0] + fit.beta[2], fit.sigma};
      return column(1);
    case Law::stairs:
      return {fit.beta.back() - fit.beta.front(), fit.sigma};
    default:
      break;
  }
  return {fit.at(scene.last()) - fit.at(scene.first()), fit.error_of_rise(scene.first(), scene.last())};
}

double visible_change(const Scene& scene) {
  return std::max(limits::print_steps * scene.points.quantum, limits::level_share * level_of(scene));
}

double least_growth(const Scene& scene) {
  if (!scene.options.capacity || scene.samples.counts_down) return visible_change(scene);
  return std::max(limits::print_steps * scene.points.quantum, limits::capacity_share * *scene.options.capacity);
}

bool grows(const Fit& fit, const Scene& scene) {
  switch (fit.law) {
    case Law::linear:
    case Law::exponential:
    case Law::late:
    case Law::staircase:
      return fit.beta[1] > 0;
    case Law::ratchet:
    case Law::cycle_line:
      return fit.beta[line_column(fit.law)] > 0;
    case Law::step_line:
      return fit.beta[1] > 0 && rise_of(fit, scene).value > 0;
    case Law::stairs:
      return keeps_climbing(fit);
    case Law::quadratic: {
      const double mean = rise_of(fit, scene).value / scene.window();
      return mean > 0 && fit.slope_at(scene.last()) > limits::still_rising * mean;
    }
    case Law::bend: {
      const double mean = (fit.at(scene.last()) - fit.at(scene.first())) / scene.window();
      return mean > 0 && fit.beta[2] / (1 - fit.theta[0]) / scene.window() > limits::stalled * mean;
    }
    default:
      return false;
  }
}

bool contains(Law law, Law part) {
  return part == Law::constant || (law == Law::ratchet && part == Law::sawtooth) ||
         (law == Law::cycle_line && part == Law::cycle) || (law == Law::step_line && part == Law::step) ||
         (law == Law::bend && part == Law::ramp);
}

}  // namespace oomdoctor
