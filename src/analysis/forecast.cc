// Curves are drawn from what the fit leaves open (coefficients and rate jointly normal, scale from Student's t), each
// is followed until it reaches the capacity, and the shortest interval that holds 90 % of the crossings is the answer.
// The delta method fails where a slope is nearly flat: crossings are far from normal there, and some curves never
// cross. Where two laws describe the data about equally well, both are drawn, in proportion to exp(−Δ/2) (Akaike
// weights): a parabola and an exponential agree inside the window and disagree outside.
//
// Assumes that the law goes on to hold. Silent about that: a crossing further away than the data are long is marked.
// The generator and its seed are fixed, so that one input always gives one answer.
#include "analysis/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

constexpr int draws = 600;        // the 5 % quantile then rests on 30 of them
constexpr double horizon = 2000;  // windows; beyond, a crossing is "never"
constexpr double never = std::numeric_limits<double>::infinity();

/// Normal numbers that are the same on every machine (std::normal_distribution is not).
class Normal {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }

 private:
  std::mt19937_64 engine_{20240229};
};

/// Root of freedom over a chi-square draw (Wilson and Hilferty 1931): turns normal draws into Student's.
double student_scale(double z, double freedom) {
  const double spread = 2 / (9 * freedom);
  const double cube = std::max(0.1, 1 - spread + z * std::sqrt(spread));
  return 1 / std::sqrt(cube * cube * cube);
}

/// The curve through the tops of the teeth, so that what is searched rises steadily.
double envelope(const Fit& fit, double x) {
  const double u = (x - fit.origin) / fit.width;
  if (fit.law == Law::ratchet) return fit.beta[0] + fit.beta[1] * (u - 0.5) + std::max(0.0, fit.beta[2]);
  if (fit.law == Law::cycle_line)
    return *std::max_element(fit.beta.begin(), fit.beta.end() - 1) + fit.beta.back() * (u - 0.5);
  return fit.at(x);
}

/// Two places close together between which the curve reaches the level that it does not reach at `near` and does at
/// `far`. A secant whose kept end counts half each time (the Illinois method) closes in from both sides; halving alone
/// would look at the curve fifty times for every curve that is drawn.
std::pair<double, double> around(const Fit& fit, double level, double near, double far) {
  constexpr int secants = 12;
  constexpr double close = 1e-12;  // of the distance
  double lack = level - envelope(fit, near), excess = envelope(fit, far) - level;
  const double enough = close * (far - near);
  int side = 0;
  for (int i = 0; i < secants && far - near > enough; ++i) {
    const double guess = near + (far - near) * (lack / (lack + excess));
    if (!(guess > near && guess < far)) break;
    const double over = envelope(fit, guess) - level;
    if (over >= 0) {
      far = guess, excess = over;
      if (side > 0) lack /= 2;
      side = 1;
    } else {
      near = guess, lack = -over;
      if (side < 0) excess /= 2;
      side = -1;
    }
  }
  return {near, far};
}

/// First step from `from` on at which the curve is at `level`; for teeth, the first one that is logged.
double crossing(const Fit& fit, double level, double from, double spacing) {
  if (envelope(fit, from) >= level && !has_teeth(fit.law)) return from;
  double near = from, far = from, step = fit.width / 64;
  while (envelope(fit, far) < level) {
    near = far;
    far += step;
    step *= 1.2;
    if (far - from > horizon * fit.width) return never;
  }
  const auto [below, above] = around(fit, level, near, far);
  for (int i = 0; i < 50; ++i) {
    const double middle = (near + far) / 2;
    if (middle == near || middle == far) break;  // neighbours
    const bool reached = middle >= above || (middle > below && envelope(fit, middle) >= level);
    (reached ? far : near) = middle;
  }
  if (!has_teeth(fit.law)) return far;
  const double start = from + std::floor((far - from) / spacing) * spacing,
               end = far + 40 * fit.width * period_of(fit.theta);
  for (double x = start; x < end; x += spacing)
    if (fit.at(x) >= level) return x;
  return far;
}

/// The shortest interval that holds this share of the values: crossings are skewed, and a rhythm lets them happen at
/// few places. Where too many never happen it is open: from the value that leaves half of the rest below it.
std::pair<double, double> shortest_interval(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto held = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  std::pair<double, double> best{quantile_of(values, (1 - share) / 2), never};
  for (std::size_t i = 0; i + held <= values.size(); ++i)
    if (values[i + held - 1] < never && !(values[i + held - 1] - values[i] >= best.second - best.first))
      best = {values[i], values[i + held - 1]};
  return best;
}

/// One way to see a rhythm, and how much the values speak for it.
struct Rhythm {
  Fit fit;
  double weight = 1;
};

/// Resets and stairs are seen only between two logged values, so that many periods and offsets describe the values
/// alike: all of them are weighed by the likelihood of the values. Where the resets are equally far apart in log
/// intervals, the period is as many times as likely to be a whole number of them (an epoch of fixed length) as to be
/// only close to one as there are resets.
std::vector<Rhythm> rhythms_of(const Fit& fit, const Points& points, double spacing) {
  if ((fit.law != Law::ratchet && fit.law != Law::staircase) || fit.theta.size() != 2) return {{fit, 1}};
  constexpr int periods = 7, offsets = 5;  // to either side
  const double interval = spacing / fit.width, period = fit.theta[0], resets = std::max(2.0, 1 / period);
  const bool whole = std::abs(period / interval - std::round(period / interval)) < 0.02;
  std::vector<Rhythm> rhythms;
  for (int p = -periods; p <= periods; ++p)
    for (int o = -offsets; o <= offsets; ++o) {
      // The offset turns about the middle of the window, where the values hold it.
      const double stretched = period + interval / resets * p / periods;
      const double middle = fit.theta[1] + std::round((0.5 - fit.theta[1]) / period) * period + interval * o / offsets;
      const double offset = middle - std::ceil(middle / stretched) * stretched;
      Fit other = p == 0 && o == 0 ? fit : fit_at(fit.law, {stretched, offset}, points, false);
      const double weight = std::exp((fit.rss - other.rss) / (2 * fit.sigma * fit.sigma));
      if (std::isfinite(weight) && other.beta[1] > 0)
        rhythms.push_back({std::move(other), weight * (whole && p == 0 ? resets * periods : 1)});
    }
  return rhythms;
}

}  // namespace

Forecast forecast_of(const std::vector<WeightedModel>& beliefs, const Points& points, double capacity) {
  Forecast forecast;
  forecast.capacity = capacity;
  const double last = points.x.back(), window = last - points.x.front();
  const Fit& chosen = beliefs.front().fit;
  const double from = envelope(chosen, last) < capacity ? last : points.x.front();
  const double spacing = window / static_cast<double>(points.size() - 1);
  double total = 0;
  for (const WeightedModel& belief : beliefs) total += belief.weight;
  Normal normal;
  std::vector<double> crossings;
  for (const WeightedModel& belief : beliefs) {
    const std::vector<double> root = covariance_root(belief.fit);
    const double unseen = inflation(belief.fit, points.floor).factor;
    const std::size_t count = root.empty() ? 0 : belief.fit.free_parameters();
    const int share = static_cast<int>(std::lround(draws * belief.weight / total));
    const std::vector<Rhythm> rhythms = rhythms_of(belief.fit, points, spacing);
    double weights = 0;
    for (const Rhythm& rhythm : rhythms) weights += rhythm.weight;
    for (int i = 0; i < share; ++i) {
      const double scale = unseen * student_scale(normal(), belief.fit.freedom);
      std::vector<double> z(count), change(count, 0.0);
      for (double& value : z) value = normal();
      for (std::size_t row = 0; row < count; ++row)
        for (std::size_t column = 0; column <= row; ++column)
          change[row] += scale * root[row * count + column] * z[column];
      const double noise = scale * belief.fit.sigma * normal();  // the value that fails is a single one
      double chance = rhythms.size() > 1 ? weights * normal.uniform() : 0;
      std::size_t k = 0;
      while (k + 1 < rhythms.size() && (chance -= rhythms[k].weight) > 0) ++k;
      const Fit drawn = rhythms[k].fit.moved(change);
      crossings.push_back(crossing(drawn, capacity - noise, from, spacing));
    }
  }
  const auto [low, high] = shortest_interval(crossings, 0.9);
  forecast.step = crossing(chosen, capacity, from, spacing);
  if (!std::isfinite(forecast.step)) forecast.step = median_of(crossings);
  forecast.step_low = std::min(low, forecast.step);
  if (std::isfinite(high)) forecast.step_high = std::max(high, forecast.step);
  forecast.beyond_data = forecast.step - last > window;
  return forecast;
}

}  // namespace oomdoctor
