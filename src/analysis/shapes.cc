// Spikes: median and MAD (breakdown 50 %), with the rule that a spike stands above what comes before AND after it; the
// edge of a sawtooth or a step has company on one side and is left alone. Six MADN is far outside any Gaussian noise.
//
// Levels: optimal partitioning (Jackson et al. 2005; with pruning it is PELT, Killick et al. 2012), penalty 3 sigma² ln
// n per change; exact for piecewise constant means under white noise. A slope is cut into stairs too: which of the two
// it is must be decided by the scores, not here.
//
// Teeth: an exhaustive search over period and offset where the series is short, around the peaks of the autocorrelation
// where it is long; irregular releases are found as falls far outside the usual differences. Needs two full periods; a
// log interval near the period shows a slow wave that does not exist, which no method can tell from the log alone.
#include "analysis/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "analysis/samples.h"
#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

constexpr double spike_threshold = 6;      // MADN, far outside Gaussian noise
constexpr std::size_t longest_spike = 3;   // values; a longer excursion is a phase, not a spike …
constexpr std::size_t spike_share = 50;    // … unless it is under 1/50 of the window
constexpr std::size_t exhaustive = 100;    // up to here every period is tried
constexpr double shortest_stair = 1.25;    // log intervals; shorter ones are a line
constexpr double longest_stair = 1 / 3.0;  // of the window: three stairs show a rhythm
constexpr double echo = 0.3;               // an autocorrelation peak below this is common in plain noise

std::vector<double> differences(const std::vector<double>& y) {
  std::vector<double> out;
  for (std::size_t i = 1; i < y.size(); ++i) out.push_back(y[i] - y[i - 1]);
  return out;
}

double neighbourhood(const std::vector<double>& y, std::size_t from, std::size_t to) {
  return median_of({y.begin() + static_cast<std::ptrdiff_t>(from), y.begin() + static_cast<std::ptrdiff_t>(to)});
}

/// std::floor, without its call where the processor's own instruction cannot be presumed.
double floored(double number) {
  if (!(std::abs(number) < 1e15)) return std::floor(number);  // not for an integer
  const auto whole = static_cast<double>(static_cast<std::int64_t>(number));
  return whole > number ? whole - 1 : whole;
}

/// y less its straight line, and the sums that take the line out of any other column.
struct Flattened {
  std::vector<double> u, y;
  double mean_u = 0, square_u = 0, square_y = 0;

  explicit Flattened(const Points& points) {
    const Fit line = fit_at(Law::linear, {}, points, false);
    for (std::size_t i = 0; i < points.size(); ++i) {
      u.push_back((points.x[i] - line.origin) / line.width);
      mean_u += u.back();
    }
    y = line.residuals;
    mean_u /= static_cast<double>(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      square_u += (u[i] - mean_u) * (u[i] - mean_u);
      square_y += y[i] * y[i];
    }
  }

  /// How much of the residual square sum a tooth of this period and offset explains.
  double gain(double period, double offset) const {
    double sum = 0, square = 0, with_u = 0, with_y = 0;
    const double inverse = 1 / period;
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double turns = (u[i] - offset) * inverse + 1e-9;
      const double phase = turns - floored(turns);
      sum += phase;
      square += phase * phase;
      with_u += phase * (u[i] - mean_u);
      with_y += phase * y[i];
    }
    const double own = square - sum * sum / static_cast<double>(u.size()) - with_u * with_u / square_u;
    return own > 1e-9 ? with_y * with_y / own : 0;
  }
};

struct Tooth {
  double period = 0, offset = 0, gain = 0;
};

void try_period(const Flattened& flat, double period, double spacing, Tooth& best) {
  const int offsets = std::max(3, static_cast<int>(std::ceil(period / spacing)));
  for (int k = 0; k < offsets; ++k) {
    const double offset = period * k / offsets;
    const double gain = flat.gain(period, offset);
    if (gain > best.gain) best = {period, offset, gain};
  }
}

/// Lags at which the flattened series resembles itself, the strongest first.
std::vector<double> echoes(const Flattened& flat) {
  const std::size_t n = flat.y.size();
  const std::size_t longest = n <= 1000 ? n / 2 : 500;
  std::vector<double> correlation(longest + 1, 0.0);
  for (std::size_t lag = 1; lag <= longest; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < n; ++i) sum += flat.y[i] * flat.y[i - lag];
    correlation[lag] = sum / flat.square_y * static_cast<double>(n) / static_cast<double>(n - lag);
  }
  std::vector<std::pair<double, double>> peaks;
  for (std::size_t lag = 3; lag + 1 < correlation.size(); ++lag)
    if (correlation[lag] > echo && correlation[lag] >= correlation[lag - 1] && correlation[lag] > correlation[lag + 1])
      peaks.emplace_back(-correlation[lag], static_cast<double>(lag));
  std::sort(peaks.begin(), peaks.end());
  std::vector<double> lags;
  for (std::size_t i = 0; i < peaks.size() && i < 4; ++i) lags.push_back(peaks[i].second);
  return lags;
}

/// Any period that puts the resets between the same values fits alike: the middle of them is taken.
void centre(Tooth& tooth, const Flattened& flat) {
  std::vector<double> turn, place;
  for (std::size_t i = 1; i < flat.u.size(); ++i) {
    const double before = std::floor((flat.u[i - 1] - tooth.offset) / tooth.period + 1e-9);
    const double after = std::floor((flat.u[i] - tooth.offset) / tooth.period + 1e-9);
    if (after == before) continue;
    turn.push_back(after);
    place.push_back((flat.u[i - 1] + flat.u[i]) / 2);
  }
  if (turn.size() < 3) return;
  double mean_turn = 0, mean_place = 0, square = 0, product = 0;
  const auto count = static_cast<double>(turn.size());
  for (std::size_t i = 0; i < turn.size(); ++i) mean_turn += turn[i] / count, mean_place += place[i] / count;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    square += (turn[i] - mean_turn) * (turn[i] - mean_turn);
    product += (turn[i] - mean_turn) * (place[i] - mean_place);
  }
  const double period = product / square, offset = mean_place - period * mean_turn;
  if (const double gain = flat.gain(period, offset); gain >= tooth.gain * (1 - 1e-6)) tooth = {period, offset, gain};
}

/// Every period from `from` to `to` values; one off by p²/(10 n) is a tenth of a tooth out of step at the far end.
void scan(const Flattened& flat, double from, double to, Tooth& best) {
  const auto n = static_cast<double>(flat.u.size());
  for (double p = from; p <= to; p += std::max(0.125, p * p / (10 * n)))
    try_period(flat, p / (n - 1), 1 / (n - 1), best);
}

void refine(const Flattened& flat, Tooth& best) {
  const double spacing = 1 / (static_cast<double>(flat.u.size()) - 1);
  for (double reach = 1; best.gain > 0 && reach > 0.05; reach /= 2) {
    const Tooth start = best;
    for (int dp = -3; dp <= 3; ++dp) {
      const double period = start.period + dp * reach * start.period * start.period / 12;
      for (int shift = -3; shift <= 3; ++shift) {
        const double offset = start.offset + shift * reach * spacing / 3;
        const double gain = period > 2.5 * spacing ? flat.gain(period, offset) : 0;
        if (gain > best.gain * (1 + 1e-9)) best = {period, offset, gain};
      }
    }
  }
  centre(best, flat);
}

Tooth regular_tooth(const Points& points, const std::vector<std::size_t>& changes) {
  const Flattened flat(points);
  const auto n = static_cast<double>(points.size());
  Tooth best;
  if (!(flat.square_y > 0)) return best;
  if (points.size() <= exhaustive) {
    scan(flat, 3, n / 2, best);
  } else {
    const Flattened coarse(condensed(points, exhaustive));
    Tooth rough;
    scan(coarse, 3, exhaustive / 2.0, rough);
    std::vector<double> lags = echoes(flat);
    if (rough.gain > 0) lags.push_back(rough.period * n);
    if (changes.size() >= 3)
      lags.push_back(static_cast<double>(changes.back() - changes.front()) / static_cast<double>(changes.size() - 1));
    for (const double lag : lags) scan(flat, std::max(3.0, lag * 0.92), std::min(n / 2, lag * 1.08), best);
  }
  refine(flat, best);
  return best;
}

/// Positions of falls that stand out from the usual differences; needs three for a rhythm.
std::vector<double> irregular_resets(const Points& points) {
  const std::vector<double> steps = differences(points.y);
  const double usual = std::max({spread_of(steps), std::abs(median_of(steps)), points.floor});
  std::vector<double> resets;
  const double width = points.x.back() - points.x.front();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i] < -5 * usual) resets.push_back((points.x[i + 1] - points.x.front()) / width);
  return resets.size() >= 3 && resets.size() <= points.size() / 3 ? resets : std::vector<double>{};
}

}  // namespace

double noise_of(const Points& points) {
  return std::max(spread_of(differences(points.y)) / std::sqrt(2.0), points.floor);
}

std::vector<std::size_t> find_spikes(const Points& points) {
  std::vector<double> y = points.y;
  const std::size_t n = y.size();
  std::vector<std::size_t> spikes;
  if (n < 6) return spikes;
  const double drift = median_of(differences(y));  // of a growing series: what a value must leave is its slope
  for (std::size_t i = 0; i < n; ++i) y[i] -= drift * static_cast<double>(i);
  const double threshold = std::max(spike_threshold * noise_of(points), 3 * points.quantum);
  const std::size_t longest = std::max(longest_spike, n / spike_share);
  for (std::size_t i = 1; i + 1 < n;) {
    std::size_t taken = 0;
    const double leap = y[i] - y[i - 1];
    for (std::size_t length = 1; std::abs(leap) > threshold && length <= longest && i + length < n && taken == 0;
         ++length) {
      const double back = y[i + length] - y[i + length - 1];
      if (std::abs(back) <= threshold || (back > 0) == (leap > 0)) continue;
      const std::size_t reach = length + 3;  // most of what surrounds it must not be spikes themselves
      const double before = neighbourhood(y, i >= reach ? i - reach : 0, i);
      const double after = neighbourhood(y, i + length, std::min(n, i + length + reach));
      const auto [least, most] = std::minmax_element(y.begin() + static_cast<std::ptrdiff_t>(i),
                                                     y.begin() + static_cast<std::ptrdiff_t>(i + length));
      if (leap > 0 ? *least > std::max(before, after) + threshold : *most < std::min(before, after) - threshold)
        taken = length;
    }
    for (std::size_t j = i; j < i + taken; ++j) spikes.push_back(j);
    i += std::max<std::size_t>(taken, 1);
  }
  // A fifth of all values are no exceptions any more: the series has two levels.
  return spikes.size() * 5 > n ? std::vector<std::size_t>{} : spikes;
}

std::vector<std::size_t> level_changes(const Points& points, double noise) {
  const std::size_t n = points.size(), shortest = n < 30 ? 2 : 3;
  if (n < 2 * shortest) return {};
  const double penalty = 3 * noise * noise * std::log(static_cast<double>(n));
  std::vector<double> sum(n + 1, 0.0), square(n + 1, 0.0), cost(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  const double level = points.y.front();
  for (std::size_t i = 0; i < n; ++i) {
    sum[i + 1] = sum[i] + points.y[i] - level;
    square[i + 1] = square[i] + (points.y[i] - level) * (points.y[i] - level);
  }
  cost[0] = -penalty;
  for (std::size_t end = shortest; end <= n; ++end) {
    for (std::size_t begin = 0; begin + shortest <= end; ++begin) {
      if (!std::isfinite(cost[begin])) continue;
      const double mass = sum[end] - sum[begin];
      const double own = square[end] - square[begin] - mass * mass / static_cast<double>(end - begin);
      const double total = cost[begin] + std::max(0.0, own) + penalty;
      if (total < cost[end]) cost[end] = total, from[end] = begin;
    }
  }
  std::vector<std::size_t> changes;
  for (std::size_t at = from[n]; at > 0; at = from[at]) changes.push_back(at);
  std::reverse(changes.begin(), changes.end());
  return changes;
}

std::optional<Fit> fit_levels(const Points& points, const std::vector<std::size_t>& changes) {
  if (changes.empty()) return std::nullopt;
  std::vector<double> theta;
  const double origin = points.x.front(), width = points.x.back() - origin;
  for (const std::size_t i : changes) theta.push_back(((points.x[i - 1] + points.x[i]) / 2 - origin) / width);
  const Law law = theta.size() == 1 ? Law::step : theta.size() == 2 ? Law::two_steps : Law::stairs;
  return fit_at(law, std::move(theta), points, false);
}

Teeth find_teeth(const Points& points, const std::vector<std::size_t>& changes) {
  Teeth teeth;
  if (points.size() < 8) return teeth;
  const auto consider = [&](Law law, const std::vector<double>& theta, std::optional<Fit>& best) {
    Fit fit = fit_at(law, theta, points);
    if (!best || fit.score < best->score) best = std::move(fit);
  };
  if (const Tooth tooth = regular_tooth(points, changes); tooth.gain > 0) {
    consider(Law::sawtooth, {tooth.period, tooth.offset}, teeth.level);
    consider(Law::ratchet, {tooth.period, tooth.offset}, teeth.sloping);
    if (tooth.period * static_cast<double>(points.size() - 1) >= cycle_levels) {
      consider(Law::cycle, {tooth.period, tooth.offset}, teeth.level);
      consider(Law::cycle_line, {tooth.period, tooth.offset}, teeth.sloping);
    }
  }
  if (const std::vector<double> resets = irregular_resets(points); !resets.empty()) {
    consider(Law::sawtooth, resets, teeth.level);
    consider(Law::ratchet, resets, teeth.sloping);
  }
  return teeth;
}

std::optional<Fit> find_staircase(const Points& points, const std::vector<std::size_t>& changes) {
  const std::size_t n = points.size();
  if (n < 8) return std::nullopt;
  const double origin = points.x.front(), width = points.x.back() - origin;
  const double interval = 1 / (static_cast<double>(n) - 1);
  std::vector<double> u(n), y(n);
  const double mean = std::accumulate(points.y.begin(), points.y.end(), 0.0) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = (points.x[i] - origin) / width, y[i] = points.y[i] - mean;

  Tooth best;
  const auto try_stairs = [&](double period) {
    const int offsets = std::max(4, static_cast<int>(std::ceil(4 * period / interval)));
    for (int k = 0; k < offsets; ++k) {
      const double offset = period * k / offsets;
      double sum = 0, square = 0, product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double stair = std::floor((u[i] - offset) / period + 1e-9);
        sum += stair, square += stair * stair, product += stair * y[i];
      }
      const double own = square - sum * sum / static_cast<double>(n);
      const double gain = own > 1e-9 ? product * product / own : 0;
      if (gain > best.gain * (1 + 1e-9)) best = {period, offset, gain};
    }
  };
  if (n <= exhaustive) {
    for (double p = shortest_stair; p * interval <= longest_stair;
         p += std::max(1 / 32.0, p * p / (10 * static_cast<double>(n))))
      try_stairs(p * interval);
  } else if (changes.size() >= 3) {
    const double period = (u[changes.back()] - u[changes.front()]) / static_cast<double>(changes.size() - 1);
    for (int i = -8; i <= 8; ++i) try_stairs(period * (1 + i * interval));
  }
  if (best.gain <= 0) return std::nullopt;
  return fit_at(Law::staircase, {best.period, best.offset}, points);
}

Points in_whole_periods(const Points& points, std::size_t most) {
  const std::size_t n = points.size();
  if (n <= most) return points;
  const std::size_t block = (n + most - 1) / most;
  const Flattened flat(points);
  const std::vector<double> lags = flat.square_y > 0 ? echoes(flat) : std::vector<double>{};
  if (lags.empty() || lags.front() > static_cast<double>(8 * block)) return condensed(points, most);
  // A period that the blocks would blur: blocks of whole periods take it out, and nothing of it comes back as a slow
  // wave.
  const auto period = static_cast<std::size_t>(lags.front());
  const std::size_t whole = (block + period - 1) / period * period;
  return condensed(points, std::max<std::size_t>(n / whole, 8));
}

}  // namespace oomdoctor
