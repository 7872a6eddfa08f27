// Curves are drawn from what the fit leaves open (coefficients and rate jointly normal, scale from Student's t), each
// is followed until it reaches the capacity, and the middle 90 % of the crossings is the interval. The delta method
// fails where a slope is nearly flat: crossings are far from normal there, and some curves never cross. Where two laws
// describe the data about equally well, both are drawn, in proportion to exp(−Δ/2) (Akaike weights): a parabola and an
// exponential agree inside the window and disagree outside.
//
// Assumes that the law goes on to hold. Silent about that: a crossing further away than the data are long is marked.
// The generator and its seed are fixed, so that one input always gives one answer.
#include "analysis/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

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
  for (int i = 0; i < 50; ++i) {
    const double middle = (near + far) / 2;
    (envelope(fit, middle) >= level ? far : near) = middle;
  }
  if (!has_teeth(fit.law)) return far;
  const double start = from + std::floor((far - from) / spacing) * spacing,
               end = far + 40 * fit.width * period_of(fit.theta);
  for (double x = start; x < end; x += spacing)
    if (fit.at(x) >= level) return x;
  return far;
}

/// Resets are seen only between two logged values, so K of them leave the period open by up to 1/K log intervals. Where
/// all are equally far apart the period is K times as likely to be a whole number of intervals (an epoch of fixed
/// length) as to be only close to one: that share of the draws keeps it. Each tooth keeps its flank and its fall, so
/// that the floor's slope follows the period.
void stretch_teeth(Fit& fit, double spacing, Normal& normal) {
  if (fit.law != Law::ratchet || fit.theta.size() != 2) return;
  const double interval = spacing / fit.width, old = fit.theta[0], intervals = old / interval;
  const double resets = std::max(2.0, 1 / old), stretch = normal.uniform() + normal.uniform() - 1;
  const bool whole = std::abs(intervals - std::round(intervals)) < 0.02;
  if (whole && normal.uniform() < resets / (resets + 1)) return;
  fit.theta[0] += stretch * interval / resets;
  fit.beta[1] += fit.beta[2] * (1 / old - 1 / fit.theta[0]);
}

}  // namespace

Forecast forecast_of(const std::vector<Belief>& beliefs, const Points& points, double capacity) {
  Forecast forecast;
  forecast.capacity = capacity;
  const double last = points.x.back(), window = last - points.x.front();
  const Fit& chosen = beliefs.front().fit;
  const double from = envelope(chosen, last) < capacity ? last : points.x.front();
  const double spacing = window / static_cast<double>(points.size() - 1);
  double total = 0;
  for (const Belief& belief : beliefs) total += belief.weight;
  Normal normal;
  std::vector<double> crossings;
  for (const Belief& belief : beliefs) {
    const std::vector<double> root = covariance_root(belief.fit);
    const double unseen = inflation(belief.fit, points.floor).factor;
    const std::size_t count = root.empty() ? 0 : belief.fit.free_parameters();
    const int share = static_cast<int>(std::lround(draws * belief.weight / total));
    for (int i = 0; i < share; ++i) {
      const double scale = unseen * student_scale(normal(), belief.fit.freedom);
      std::vector<double> z(count), change(count, 0.0);
      for (double& value : z) value = normal();
      for (std::size_t row = 0; row < count; ++row)
        for (std::size_t column = 0; column <= row; ++column)
          change[row] += scale * root[row * count + column] * z[column];
      const double noise = scale * belief.fit.sigma * normal();
      Fit drawn = belief.fit.moved(change);
      stretch_teeth(drawn, spacing, normal);
      crossings.push_back(crossing(drawn, capacity - noise, from, spacing));
    }
  }
  const double low = quantile_of(crossings, 0.05), high = quantile_of(crossings, 0.95);
  forecast.step = crossing(chosen, capacity, from, spacing);
  if (!std::isfinite(forecast.step)) forecast.step = median_of(crossings);
  forecast.step_low = std::min(low, forecast.step);
  if (std::isfinite(high)) forecast.step_high = std::max(high, forecast.step);
  forecast.beyond_data = forecast.step - last > window;
  return forecast;
}

}  // namespace oomdoctor
