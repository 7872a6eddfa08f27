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
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

#include <Eigen/Core>

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
  out.reserve(y.size());
  for (std::size_t i = 1; i < y.size(); ++i) out.push_back(y[i] - y[i - 1]);
  return out;
}

/// `steps`: the values' differences, and `usual` their median.
double noise_of(const std::vector<double>& steps, double usual, const Points& points) {
  return std::max(spread_of(steps, usual) / std::sqrt(2.0), points.floor);
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

constexpr double rounding = 1e-9;  // turns: a value that stands on a reset lies behind it
constexpr double near = 1e-6;      // share: gains closer than this are told apart by their exact sums

/// The values in front of each of `offsets` equally spaced offsets of one period: what `terms(i, whole turns, part of a
/// turn)` gives for them, summed up. A rhythm differs between two offsets by one turn of the values between them, so
/// that these sums judge every offset in one pass over the values, where each alone would need its own.
template <std::size_t width, typename Terms>
void sum_in_front(std::span<const double> u, double period, int offsets, Terms terms,
                  std::vector<std::array<double, width>>& sums) {
  sums.assign(static_cast<std::size_t>(offsets) + 1, {});
  const double inverse = 1 / period;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double turns = u[i] * inverse + rounding, whole = floored(turns), part = turns - whole;
    const int place = std::min(offsets - 1, static_cast<int>(part * offsets));
    const std::array<double, width> own = terms(i, whole, part);
    for (std::size_t k = 0; k < width; ++k) sums[static_cast<std::size_t>(place) + 1][k] += own[k];
  }
  for (std::size_t place = 1; place < sums.size(); ++place)
    for (std::size_t k = 0; k < width; ++k) sums[place][k] += sums[place - 1][k];
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

  /// How much of the residual square sum a tooth of this period explains at each of some offsets. They are summed up
  /// side by side: an addition waits for the one before it, but not for those of other offsets.
  template <std::size_t lanes>
  std::array<double, lanes> gains(double period, const std::array<double, lanes>& offsets) const {
    using Lanes = Eigen::Array<double, static_cast<int>(lanes), 1>;
    const Lanes offset = Eigen::Map<const Lanes>(offsets.data());
    Lanes sum = Lanes::Zero(), square = sum, with_u = sum, with_y = sum;
    const double inverse = 1 / period;
    for (std::size_t i = 0; i < u.size(); ++i) {
      const Lanes turns = (u[i] - offset) * inverse + rounding;
      // Rounded by an addition that leaves no place for digits behind the point, and up to one turn where that went
      // up: no processor is too old for it, and turns are far from 2^51.
      Lanes phase = turns - ((turns + no_fraction) - no_fraction);
      phase += (phase < 0).select(Lanes::Ones(), Lanes::Zero());
      sum += phase;
      square += phase * phase;
      with_u += phase * (u[i] - mean_u);
      with_y += phase * y[i];
    }
    std::array<double, lanes> out;
    for (std::size_t k = 0; k < lanes; ++k) {
      const auto lane = static_cast<Eigen::Index>(k);
      out[k] = gain(sum[lane], square[lane], with_u[lane], with_y[lane]);
    }
    return out;
  }

  double gain_at(double period, double offset) const { return gains<1>(period, {offset})[0]; }

  /// The same from the tooth's sums.
  double gain(double sum, double square, double with_u, double with_y) const {
    const double own = own_square(sum, square, with_u);
    return own > least_own ? with_y * with_y / own : 0;
  }

  /// The tooth's square sum less what a line explains of it.
  double own_square(double sum, double square, double with_u) const {
    return square - sum * sum / static_cast<double>(u.size()) - with_u * with_u / square_u;
  }

  static constexpr double least_own = 1e-9;
  static constexpr double no_fraction = 6755399441055744.0;  // 1.5 · 2^52
};

struct Tooth {
  double period = 0, offset = 0, gain = 0;
};

/// Memory that the search uses again for every period.
struct Scratch {
  std::vector<std::array<double, 4>> in_front;
};

void try_period(const Flattened& flat, double period, double spacing, Tooth& best, Scratch& scratch) {
  const int offsets = std::max(3, static_cast<int>(std::ceil(period / spacing)));
  double squares = 0, with_u = 0, with_y = 0;
  sum_in_front<4>(
      flat.u, period, offsets,
      [&](std::size_t i, double, double part) {
        const double centred = flat.u[i] - flat.mean_u;
        squares += part * part, with_u += part * centred, with_y += part * flat.y[i];
        return std::array{1.0, part, centred, flat.y[i]};
      },
      scratch.in_front);
  const auto& [count, parts, us, ys] = scratch.in_front.back();
  for (int k = 0; k < offsets; ++k) {
    // From offset 0 to this one all phases fall by `shift`, and those that would fall below 0 begin anew at 1.
    const double shift = static_cast<double>(k) / offsets;
    const auto& [passed, passed_parts, passed_us, passed_ys] = scratch.in_front[static_cast<std::size_t>(k)];
    const double sum = parts - shift * count + passed;
    const double square =
        squares - 2 * shift * parts + shift * shift * count + 2 * (passed_parts - shift * passed) + passed;
    const double own_u = with_u - shift * us + passed_us, own_y = with_y - shift * ys + passed_ys;
    const double own = flat.own_square(sum, square, own_u);
    // Offsets between the same two values explain alike: the last digits choose, so they have to be right.
    if (own > near && own_y * own_y < best.gain * (1 - near) * own) continue;
    const double offset = period * k / offsets;
    const double gain = flat.gain_at(period, offset);
    if (gain > best.gain) best = {period, offset, gain};
  }
}

/// The longest lag at which a series is held against itself.
std::size_t longest_echo(const Flattened& flat) { return flat.y.size() <= 1000 ? flat.y.size() / 2 : 500; }

/// Lags below `longest` at which the flattened series resembles itself, the strongest first.
std::vector<double> echoes(const Flattened& flat, std::size_t longest) {
  constexpr std::size_t lanes = 8;  // lags that are summed up side by side
  using Lanes = Eigen::Array<double, lanes, 1>;
  const std::size_t n = flat.y.size();
  std::vector<double> correlation(longest + 1, 0.0);
  for (std::size_t lag = 1; lag <= longest; lag += lanes) {
    Lanes sums = Lanes::Zero();
    std::size_t all = 0;  // values that have one behind them at each of the lags
    for (; all + lag + lanes <= n; ++all) sums += flat.y[all] * Eigen::Map<const Lanes>(&flat.y[all + lag]);
    for (std::size_t k = 0; k < lanes && lag + k <= longest; ++k) {
      double sum = sums[static_cast<Eigen::Index>(k)];
      for (std::size_t i = all; i + lag + k < n; ++i) sum += flat.y[i] * flat.y[i + lag + k];
      correlation[lag + k] = sum / flat.square_y * static_cast<double>(n) / static_cast<double>(n - lag - k);
    }
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
  if (const double gain = flat.gain_at(period, offset); gain >= tooth.gain * (1 - 1e-6)) tooth = {period, offset, gain};
}

/// Every period from `from` to `to` values; one off by p²/(10 n) is a tenth of a tooth out of step at the far end.
void scan(const Flattened& flat, double from, double to, Tooth& best) {
  const auto n = static_cast<double>(flat.u.size());
  Scratch scratch;
  for (double p = from; p <= to; p += std::max(0.125, p * p / (10 * n)))
    try_period(flat, p / (n - 1), 1 / (n - 1), best, scratch);
}

void refine(const Flattened& flat, Tooth& best) {
  const double spacing = 1 / (static_cast<double>(flat.u.size()) - 1);
  for (double reach = 1; best.gain > 0 && reach > 0.05; reach /= 2) {
    const Tooth start = best;
    for (int dp = -3; dp <= 3; ++dp) {
      const double period = start.period + dp * reach * start.period * start.period / 12;
      if (period <= 2.5 * spacing) continue;
      std::array<double, 8> offsets{};  // the eighth fills the lanes
      for (int shift = -3; shift <= 4; ++shift)
        offsets[static_cast<std::size_t>(shift + 3)] = start.offset + shift * reach * spacing / 3;
      const std::array<double, 8> gains = flat.gains<8>(period, offsets);
      for (std::size_t k = 0; k < 7; ++k)
        if (gains[k] > best.gain * (1 + 1e-9)) best = {period, offsets[k], gains[k]};
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
    std::vector<double> lags = echoes(flat, longest_echo(flat));
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
  const double middle = median_of(steps);
  const double usual = std::max({spread_of(steps, middle), std::abs(middle), points.floor});
  std::vector<double> resets;
  const double width = points.x.back() - points.x.front();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i] < -5 * usual) resets.push_back((points.x[i + 1] - points.x.front()) / width);
  return resets.size() >= 3 && resets.size() <= points.size() / 3 ? resets : std::vector<double>{};
}

}  // namespace

double noise_of(const Points& points) {
  const std::vector<double> steps = differences(points.y);
  return noise_of(steps, median_of(steps), points);
}

std::vector<std::size_t> find_spikes(const Points& points) {
  std::vector<double> y = points.y;
  const std::size_t n = y.size();
  std::vector<std::size_t> spikes;
  if (n < 6) return spikes;
  const std::vector<double> steps = differences(y);
  const double drift = median_of(steps);  // of a growing series: what a value must leave is its slope
  for (std::size_t i = 0; i < n; ++i) y[i] -= drift * static_cast<double>(i);
  const double threshold = std::max(spike_threshold * noise_of(steps, drift, points), 3 * points.quantum);
  const std::size_t longest = std::max(longest_spike, n / spike_share);
  // Where the series grows in one part only, its level part falls against the slope of the other one.
  const auto stands_out = [&](double leap) { return std::min(std::abs(leap), std::abs(leap + drift)) > threshold; };
  for (std::size_t i = 1; i + 1 < n;) {
    std::size_t taken = 0;
    const double leap = y[i] - y[i - 1];
    for (std::size_t length = 1; stands_out(leap) && length <= longest && i + length < n && taken == 0; ++length) {
      const double back = y[i + length] - y[i + length - 1];
      if (!stands_out(back) || (back > 0) == (leap > 0)) continue;
      const std::size_t reach = length + 3;  // most of what surrounds it must not be spikes themselves
      const double before = neighbourhood(y, i >= reach ? i - reach : 0, i);
      const double after = neighbourhood(y, i + length, std::min(n, i + length + reach));
      const auto [least, most] = std::minmax_element(y.begin() + static_cast<std::ptrdiff_t>(i),
                                                     y.begin() + static_cast<std::ptrdiff_t>(i + length));
      // It starts and ends at the usual level: the last values of a longer excursion are no spike.
      const bool whole = std::abs(y[i - 1] - before) <= threshold && std::abs(y[i + length] - after) <= threshold;
      if (whole &&
          (leap > 0 ? *least > std::max(before, after) + threshold : *most < std::min(before, after) - threshold))
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
  std::vector<double> place(n + 1, 0.0), total(n + 1, 0.0);
  const double level = points.y.front();
  for (std::size_t i = 0; i < n; ++i) {
    sum[i + 1] = sum[i] + points.y[i] - level;
    square[i + 1] = square[i] + (points.y[i] - level) * (points.y[i] - level);
    place[i + 1] = static_cast<double>(i + 1);
  }
  cost[0] = -penalty;
  for (std::size_t end = shortest; end <= n; ++end) {
    const std::size_t begins = end - shortest + 1;
    // All costs first and then the least: what does not depend on what was found so far, the compiler makes vectors of.
    const double sum_end = sum[end], square_end = square[end], place_end = place[end];
    for (std::size_t begin = 0; begin < begins; ++begin) {
      const double mass = sum_end - sum[begin];
      const double own = square_end - square[begin] - mass * mass / (place_end - place[begin]);
      total[begin] = cost[begin] + (own > 0 ? own : 0) + penalty;
    }
    const auto least = std::min_element(total.begin(), total.begin() + static_cast<std::ptrdiff_t>(begins));
    if (*least < cost[end]) cost[end] = *least, from[end] = static_cast<std::size_t>(least - total.begin());
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

Periodicity find_teeth(const Points& points, const std::vector<std::size_t>& changes, bool sloping) {
  Periodicity teeth;
  if (points.size() < 8) return teeth;
  const auto consider = [&](Law law, const std::vector<double>& theta, std::optional<Fit>& best) {
    if (&best == &teeth.sloping && !sloping) return;
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
  std::vector<std::array<double, 3>> in_front;
  const auto gain_of = [&](double sum, double square, double product) {
    const double own = square - sum * sum / static_cast<double>(n);
    return own > 1e-9 ? product * product / own : 0;
  };
  const auto try_stairs = [&](double period) {
    const int offsets = std::max(4, static_cast<int>(std::ceil(4 * period / interval)));
    double squares = 0, products = 0;
    sum_in_front<3>(
        u, period, offsets,
        [&](std::size_t i, double stair, double) {
          squares += stair * stair, products += stair * y[i];
          return std::array{1.0, stair, y[i]};
        },
        in_front);
    for (int k = 0; k < offsets; ++k) {
      // Those in front of this offset stand one stair lower than at offset 0.
      const auto& [passed, passed_stairs, passed_y] = in_front[static_cast<std::size_t>(k)];
      const double about =
          gain_of(in_front.back()[1] - passed, squares - 2 * passed_stairs + passed, products - passed_y);
      if (about < best.gain * (1 - near)) continue;
      const double offset = period * k / offsets;
      double sum = 0, square = 0, product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double stair = floored((u[i] - offset) / period + rounding);
        sum += stair, square += stair * stair, product += stair * y[i];
      }
      const double gain = gain_of(sum, square, product);
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
  const std::size_t longest = longest_echo(flat), blurred = 8 * block;
  // Most series have no echo that short, which a few lags show; only then the longer ones matter, which may be
  // stronger.
  if (!(flat.square_y > 0) || echoes(flat, std::min(longest, blurred + 1)).empty()) return condensed(points, most);
  const std::vector<double> lags = echoes(flat, longest);
  if (lags.empty() || lags.front() > static_cast<double>(blurred)) return condensed(points, most);
  // A period that the blocks would blur: blocks of whole periods take it out, and nothing of it comes back as a slow
  // wave.
  const auto period = static_cast<std::size_t>(lags.front());
  const std::size_t whole = (block + period - 1) / period * period;
  return condensed(points, std::max<std::size_t>(n / whole, 8));
}

}  // namespace oomdoctor
