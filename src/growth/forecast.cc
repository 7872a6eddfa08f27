// A Monte Carlo forecast. It draws curves from the uncertainty of the fit (coefficients and rate jointly normal, scale
// from Student's t) and follows each curve until it reaches the capacity. The result is the shortest interval with 90 %
// of the crossings. The delta method fails for nearly flat slopes: there the crossings are far from normal, and some
// curves never cross. If two laws describe the data about equally well, curves come from both, in proportion to
// exp(−Δ/2) (Akaike weights): a parabola and an exponential agree inside the window and disagree outside.
//
// The forecast assumes that the law continues to hold. A crossing further away than the length of the data is marked.
// The generator and its seed are fixed, so one input always gives the same result.
#include "growth/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <utility>

#include "growth/fitter.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

constexpr int draws = 600;        // the 5 % quantile then depends on 30 of them
constexpr double horizon = 2000;  // in windows; a later crossing counts as "never"
constexpr double never = std::numeric_limits<double>::infinity();

/// Normal random numbers, identical on every machine (those of std::normal_distribution are not).
class NormalNumbers {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }

 private:
  std::mt19937_64 engine_{20240229};
};

/// The square root of freedom over a chi-square draw (Wilson and Hilferty 1931). It turns normal draws into Student's
/// t.
double student_scale(double z, double freedom) {
  const double spread = 2 / (9 * freedom);
  const double cube = std::max(0.1, 1 - spread + z * std::sqrt(spread));
  return 1 / std::sqrt(cube * cube * cube);
}

/// The curve through the maxima of the teeth. It rises steadily, so a search can follow it.
double envelope(const Fit& fit, double x) {
  const double u = (x - fit.origin) / fit.width;
  if (fit.law == Law::ratchet) return fit.beta[0] + fit.beta[1] * (u - 0.5) + std::max(0.0, fit.beta[2]);
  if (fit.law == Law::cycle_line)
    return *std::max_element(fit.beta.begin(), fit.beta.end() - 1) + fit.beta.back() * (u - 0.5);
  return fit.at(x);
}

/// Narrows the bracket of a crossing: the curve is below the level at `near` and reaches it at `far`. Uses the Illinois
/// method, a secant that halves the value at an end that it keeps. Bisection alone would evaluate each drawn curve
/// fifty times.
std::pair<double, double> narrow_bracket(const Fit& fit, double level, double near, double far) {
  constexpr int secants = 12;
  constexpr double close = 1e-12;  // of the distance
  double below = level - envelope(fit, near), above = envelope(fit, far) - level;
  const double tolerance = close * (far - near);
  int side = 0;
  for (int i = 0; i < secants && far - near > tolerance; ++i) {
    const double guess = near + (far - near) * (below / (below + above));
    if (!(guess > near && guess < far)) break;
    const double difference = envelope(fit, guess) - level;
    if (difference >= 0) {
      far = guess, above = difference;
      if (side > 0) below /= 2;
      side = 1;
    } else {
      near = guess, below = -difference;
      if (side < 0) above /= 2;
      side = -1;
    }
  }
  return {near, far};
}

/// A bracket of the crossing of a law that is a line from `from` on, a few roundings wide; nullopt for other laws.
std::optional<std::pair<double, double>> bracket_on_line(const Fit& fit, double level, double from) {
  const bool has_knot = fit.law == Law::bend || fit.law == Law::late || fit.law == Law::step_line;
  if (fit.law != Law::linear && !(has_knot && from >= fit.origin + fit.width)) return std::nullopt;
  const double at_from = envelope(fit, from), rise = envelope(fit, from + fit.width) - at_from;
  const double windows = (level - at_from) / rise;
  if (!(windows > 0 && windows < horizon)) return std::nullopt;
  constexpr double roundings = 1e-12;  // of the distance from 0
  const double guess = from + windows * fit.width, reach = roundings * (std::abs(guess) + fit.width);
  if (envelope(fit, guess - reach) >= level || envelope(fit, guess + reach) < level) return std::nullopt;
  return std::pair(guess - reach, guess + reach);
}

/// Steps ahead in growing steps until the curve reaches the level; nullopt if it does not within the horizon.
std::optional<std::pair<double, double>> bracket_by_steps(const Fit& fit, double level, double from) {
  double near = from, far = from, step = fit.width / 64;
  while (envelope(fit, far) < level) {
    near = far;
    far += step;
    step *= 1.2;
    if (far - from > horizon * fit.width) return std::nullopt;
  }
  return narrow_bracket(fit, level, near, far);
}

/// The first step from `from` on at which the curve reaches the level; for teeth, the first logged step.
double find_crossing(const Fit& fit, double level, double from, double spacing) {
  if (envelope(fit, from) >= level && !is_periodic(fit.law)) return from;
  std::optional<std::pair<double, double>> bracket = bracket_on_line(fit, level, from);
  if (!bracket) bracket = bracket_by_steps(fit, level, from);
  if (!bracket) return never;
  auto [near, far] = *bracket;
  for (int i = 0; i < 50; ++i) {
    const double middle = (near + far) / 2;
    if (middle == near || middle == far) break;  // adjacent doubles
    (envelope(fit, middle) >= level ? far : near) = middle;
  }
  if (!is_periodic(fit.law)) return far;
  const double start = from + std::floor((far - from) / spacing) * spacing,
               end = far + 40 * fit.width * period_of(fit.theta);
  for (double x = start; x < end; x += spacing)
    if (fit.at(x) >= level) return x;
  return far;
}

/// The shortest interval with this share of the values: crossings are skewed, and periodic laws cross at few positions.
/// If too many curves never cross, the interval is open and starts at the quantile (1 − share) / 2.
std::pair<double, double> find_shortest_interval(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto covered = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  std::pair<double, double> best{compute_quantile(values, (1 - share) / 2), never};
  for (std::size_t i = 0; i + covered <= values.size(); ++i)
    if (values[i + covered - 1] < never && !(values[i + covered - 1] - values[i] >= best.second - best.first))
      best = {values[i], values[i + covered - 1]};
  return best;
}

/// A possible rhythm of the law, and its likelihood.
struct Rhythm {
  Fit fit;
  double weight = 1;
};

/// The possible rhythms of a law. Logged values locate a reset or a stair only to one log interval, so many periods and
/// offsets fit about equally well. Each is weighted by its likelihood. If the period is close to a whole number of log
/// intervals, a whole number (an epoch of fixed length) is more likely than a nearby one, by a factor equal to the
/// number of resets.
std::vector<Rhythm> list_rhythms(const Fit& fit, const Points& points, double spacing) {
  if ((fit.law != Law::ratchet && fit.law != Law::staircase) || fit.theta.size() != 2) return {{fit, 1}};
  constexpr int periods = 7, offsets = 5;  // on either side
  const double interval = spacing / fit.width, period = fit.theta[0], resets = std::max(2.0, 1 / period);
  const bool whole = std::abs(period / interval - std::round(period / interval)) < 0.02;
  const Fitter fitter(points);
  std::vector<Rhythm> rhythms;
  for (int p = -periods; p <= periods; ++p)
    for (int o = -offsets; o <= offsets; ++o) {
      // Vary the offset about the middle of the window, where the values determine it best.
      const double stretched = period + interval / resets * p / periods;
      const double middle = fit.theta[1] + std::round((0.5 - fit.theta[1]) / period) * period + interval * o / offsets;
      const double offset = middle - std::ceil(middle / stretched) * stretched;
      Fit other = p == 0 && o == 0 ? fit : fitter.fit_at(fit.law, {stretched, offset}, false);
      const double weight = std::exp((fit.rss - other.rss) / (2 * fit.sigma * fit.sigma));
      if (std::isfinite(weight) && other.beta[1] > 0)
        rhythms.push_back({std::move(other), weight * (whole && p == 0 ? resets * periods : 1)});
    }
  return rhythms;
}

}  // namespace

Forecast compute_forecast(const std::vector<WeightedModel>& models, const Points& points, double capacity) {
  Forecast forecast;
  forecast.capacity = capacity;
  const double last = points.x.back(), window = last - points.x.front();
  const Fit& chosen = models.front().fit;
  const double from = envelope(chosen, last) < capacity ? last : points.x.front();
  const double spacing = window / static_cast<double>(points.size() - 1);
  double total = 0;
  for (const WeightedModel& model : models) total += model.weight;
  NormalNumbers normal;
  std::vector<double> crossings;
  for (const WeightedModel& model : models) {
    const std::vector<double> root = covariance_root(model.fit);
    const double inflation_factor = inflation(model.fit, points.floor).factor;
    const std::size_t count = root.empty() ? 0 : model.fit.free_parameters();
    const int share = static_cast<int>(std::lround(draws * model.weight / total));
    const std::vector<Rhythm> rhythms = list_rhythms(model.fit, points, spacing);
    double weights = 0;
    for (const Rhythm& rhythm : rhythms) weights += rhythm.weight;
    for (int i = 0; i < share; ++i) {
      const double scale = inflation_factor * student_scale(normal(), model.fit.freedom);
      std::vector<double> z(count), change(count, 0.0);
      for (double& value : z) value = normal();
      for (std::size_t row = 0; row < count; ++row)
        for (std::size_t column = 0; column <= row; ++column)
          change[row] += scale * root[row * count + column] * z[column];
      const double noise = scale * model.fit.sigma * normal();  // a single value fails, so add the noise of one value
      double chance = rhythms.size() > 1 ? weights * normal.uniform() : 0;
      std::size_t k = 0;
      while (k + 1 < rhythms.size() && (chance -= rhythms[k].weight) > 0) ++k;
      const Fit drawn = rhythms[k].fit.moved(change);
      crossings.push_back(find_crossing(drawn, capacity - noise, from, spacing));
    }
  }
  const auto [low, high] = find_shortest_interval(crossings, 0.9);
  forecast.step = find_crossing(chosen, capacity, from, spacing);
  if (!std::isfinite(forecast.step)) forecast.step = compute_median(crossings);
  forecast.step_low = std::min(low, forecast.step);
  if (std::isfinite(high)) forecast.step_high = std::max(high, forecast.step);
  forecast.beyond_data = forecast.step - last > window;
  return forecast;
}

}  // namespace oomdoctor
