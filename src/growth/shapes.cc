// Spikes: median and MAD (breakdown 50 %). A spike must differ from the values before AND after it. The edge of a
// sawtooth or a step is similar to one side, so it is not a spike. Six MADN is far outside any Gaussian noise.
//
// Levels: optimal partitioning (Jackson et al. 2005; with pruning it is PELT, Killick et al. 2012), penalty 3 sigma² ln
// n per change; exact for piecewise constant means with white noise. A slope is cut into stairs too. The scores later
// decide between the slope and the stairs.
//
// Teeth: an exhaustive search over period and offset for short series, around the peaks of the autocorrelation for long
// ones. Irregular releases are falls far outside the usual differences. Two full periods are necessary. A log interval
// near the period shows a slow wave that does not exist; no method can detect that from the log alone.
#include "growth/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

#include <Eigen/Core>

#include "growth/samples.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

constexpr double spike_threshold = 6;        // MADN, far outside Gaussian noise
constexpr std::size_t max_spike = 3;         // values; a longer excursion is a phase …
constexpr std::size_t spike_share = 50;      // … unless it is shorter than 1/50 of the window
constexpr std::size_t max_exhaustive = 100;  // a series up to this length gets a search over every period
constexpr double min_stair = 1.25;           // in log intervals; shorter stairs look like a line
constexpr double max_stair = 1 / 3.0;        // of the window: a rhythm needs three stairs
constexpr double min_echo = 0.3;             // plain noise often has autocorrelation peaks below this

std::vector<double> differences(const std::vector<double>& y) {
  std::vector<double> out;
  out.reserve(y.size());
  for (std::size_t i = 1; i < y.size(); ++i) out.push_back(y[i] - y[i - 1]);
  return out;
}

/// The standard deviation of the noise. `steps` are the differences of the values, `usual` is their median.
double compute_noise(const std::vector<double>& steps, double usual, const Points& points) {
  return std::max(compute_spread(steps, usual) / std::sqrt(2.0), points.floor);
}

double neighbourhood(const std::vector<double>& y, std::size_t from, std::size_t to) {
  return compute_median({y.begin() + static_cast<std::ptrdiff_t>(from), y.begin() + static_cast<std::ptrdiff_t>(to)});
}

/// Like std::floor, but without the function call that it becomes if the build cannot assume a rounding instruction.
double fast_floor(double number) {
  if (!(std::abs(number) < 1e15)) return std::floor(number);  // too large for an integer, or NaN
  const auto whole = static_cast<double>(static_cast<std::int64_t>(number));
  return whole > number ? whole - 1 : whole;
}

constexpr double reset_tolerance = 1e-9;  // turns; a value exactly on a reset counts as after it
constexpr double near_tie = 1e-6;         // relative; gains closer than this are compared by their exact sums
constexpr double equal_gains = 1e-9;      // relative; the last digits of closer gains are those of the processor

/// Sums `terms(i, whole turns, part of a turn)` over the values before each of `offsets` equally spaced offsets of one
/// period. A rhythm differs between two offsets by exactly one turn of the values between them. So these sums rate
/// every offset in one pass over the values, not in one pass per offset.
template <std::size_t width, typename Terms>
void sum_before_offsets(std::span<const double> u, double period, int offsets, Terms terms,
                        std::vector<std::array<double, width>>& sums) {
  sums.assign(static_cast<std::size_t>(offsets) + 1, {});
  const double inverse = 1 / period;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double turns = u[i] * inverse + reset_tolerance, whole = fast_floor(turns), part = turns - whole;
    const int reset_at = std::min(offsets - 1, static_cast<int>(part * offsets));
    const std::array<double, width> own_terms = terms(i, whole, part);
    for (std::size_t k = 0; k < width; ++k) sums[static_cast<std::size_t>(reset_at) + 1][k] += own_terms[k];
  }
  for (std::size_t offset = 1; offset < sums.size(); ++offset)
    for (std::size_t k = 0; k < width; ++k) sums[offset][k] += sums[offset - 1][k];
}

/// y minus its line, with the sums that remove the line from any other column.
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

  /// The part of the residual square sum that a tooth of this period explains, at each of several offsets. The offsets
  /// are summed in parallel lanes: an addition depends on the previous one in its lane only.
  template <std::size_t lanes>
  std::array<double, lanes> gains(double period, const std::array<double, lanes>& offsets) const {
    using Lanes = Eigen::Array<double, static_cast<int>(lanes), 1>;
    const Lanes offset = Eigen::Map<const Lanes>(offsets.data());
    Lanes sum = Lanes::Zero(), square = sum, with_u = sum, with_y = sum;
    const double inverse = 1 / period;
    for (std::size_t i = 0; i < u.size(); ++i) {
      const Lanes turns = (u[i] - offset) * inverse + reset_tolerance;
      // Rounds by adding and subtracting 1.5 · 2^52, which drops the digits after the point; adds one turn if it
      // rounded up. Every processor can do this, and turns are far below 2^51.
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

  /// The same from the sums over the tooth.
  double gain(double sum, double square, double with_u, double with_y) const {
    const double remaining = remaining_square(sum, square, with_u);
    return remaining > min_square ? with_y * with_y / remaining : 0;
  }

  /// The tooth's square sum minus the part that a line explains.
  double remaining_square(double sum, double square, double with_u) const {
    return square - sum * sum / static_cast<double>(u.size()) - with_u * with_u / square_u;
  }

  static constexpr double min_square = 1e-9;
  static constexpr double no_fraction = 6755399441055744.0;  // 1.5 · 2^52
};

/// A periodic tooth. Period and offset are shares of the window; `gain` is the square sum that it explains.
struct Tooth {
  double period = 0, offset = 0, gain = 0;
};

/// Buffers that the search reuses for every period.
struct Scratch {
  std::vector<std::array<double, 4>> before_offset;
};

/// Tries every offset of one period and keeps the best tooth. Sums at a shifted offset follow from those at offset 0.
void try_period(const Flattened& flat, double period, double spacing, Tooth& best, Scratch& scratch) {
  const int offsets = std::max(3, static_cast<int>(std::ceil(period / spacing)));
  double squares = 0, with_u = 0, with_y = 0;
  sum_before_offsets<4>(
      flat.u, period, offsets,
      [&](std::size_t i, double, double part) {
        const double centred = flat.u[i] - flat.mean_u;
        squares += part * part, with_u += part * centred, with_y += part * flat.y[i];
        return std::array{1.0, part, centred, flat.y[i]};
      },
      scratch.before_offset);
  const auto& [count, parts, us, ys] = scratch.before_offset.back();
  for (int k = 0; k < offsets; ++k) {
    // From offset 0 to this one all phases fall by `shift`. Phases that would fall below 0 restart at 1.
    const double shift = static_cast<double>(k) / offsets;
    const auto& [passed, passed_parts, passed_us, passed_ys] = scratch.before_offset[static_cast<std::size_t>(k)];
    const double sum = parts - shift * count + passed;
    const double square =
        squares - 2 * shift * parts + shift * shift * count + 2 * (passed_parts - shift * passed) + passed;
    const double own_u = with_u - shift * us + passed_us, own_y = with_y - shift * ys + passed_ys;
    const double remaining = flat.remaining_square(sum, square, own_u);
    // Offsets between the same two values have almost equal gains: those are computed exactly, and the first one
    // counts.
    if (remaining > near_tie && own_y * own_y < best.gain * (1 - near_tie) * remaining) continue;
    const double offset = period * k / offsets;
    const double gain = flat.gain_at(period, offset);
    if (gain > best.gain * (1 + equal_gains)) best = {period, offset, gain};
  }
}

/// The longest lag of the autocorrelation.
std::size_t max_echo_lag(const Flattened& flat) { return flat.y.size() <= 1000 ? flat.y.size() / 2 : 500; }

/// The lags below `max_lag` with a peak of the autocorrelation, the strongest first.
std::vector<double> find_echoes(const Flattened& flat, std::size_t max_lag) {
  constexpr std::size_t lanes = 8;  // lags that are summed in parallel
  using Lanes = Eigen::Array<double, static_cast<int>(lanes), 1>;
  const std::size_t n = flat.y.size();
  std::vector<double> correlation(max_lag + 1, 0.0);
  for (std::size_t lag = 1; lag <= max_lag; lag += lanes) {
    Lanes sums = Lanes::Zero();
    std::size_t all = 0;  // values that have a successor at each of the lags
    for (; all + lag + lanes <= n; ++all) sums += flat.y[all] * Eigen::Map<const Lanes>(&flat.y[all + lag]);
    for (std::size_t k = 0; k < lanes && lag + k <= max_lag; ++k) {
      double sum = sums[static_cast<Eigen::Index>(k)];
      for (std::size_t i = all; i + lag + k < n; ++i) sum += flat.y[i] * flat.y[i + lag + k];
      correlation[lag + k] = sum / flat.square_y * static_cast<double>(n) / static_cast<double>(n - lag - k);
    }
  }
  std::vector<std::pair<double, double>> peaks;
  for (std::size_t lag = 3; lag + 1 < correlation.size(); ++lag)
    if (correlation[lag] > min_echo && correlation[lag] >= correlation[lag - 1] &&
        correlation[lag] > correlation[lag + 1])
      peaks.emplace_back(-correlation[lag], static_cast<double>(lag));
  std::sort(peaks.begin(), peaks.end());
  std::vector<double> lags;
  for (std::size_t i = 0; i < peaks.size() && i < 4; ++i) lags.push_back(peaks[i].second);
  return lags;
}

/// Centres the tooth: every period with its resets between the same values fits equally well, so take the middle.
void centre(Tooth& tooth, const Flattened& flat) {
  std::vector<double> turns_seen, reset_places;
  for (std::size_t i = 1; i < flat.u.size(); ++i) {
    const double before = std::floor((flat.u[i - 1] - tooth.offset) / tooth.period + 1e-9);
    const double after = std::floor((flat.u[i] - tooth.offset) / tooth.period + 1e-9);
    if (after == before) continue;
    turns_seen.push_back(after);
    reset_places.push_back((flat.u[i - 1] + flat.u[i]) / 2);
  }
  if (turns_seen.size() < 3) return;
  double mean_turn = 0, mean_place = 0, square = 0, product = 0;
  const auto count = static_cast<double>(turns_seen.size());
  for (std::size_t i = 0; i < turns_seen.size(); ++i)
    mean_turn += turns_seen[i] / count, mean_place += reset_places[i] / count;
  for (std::size_t i = 0; i < turns_seen.size(); ++i) {
    square += (turns_seen[i] - mean_turn) * (turns_seen[i] - mean_turn);
    product += (turns_seen[i] - mean_turn) * (reset_places[i] - mean_place);
  }
  const double period = product / square, offset = mean_place - period * mean_turn;
  if (const double gain = flat.gain_at(period, offset); gain >= tooth.gain * (1 - 1e-6)) tooth = {period, offset, gain};
}

/// Tries every period from `from` to `to` values. A period that is wrong by p²/(10 n) is off by a tenth of a tooth at
/// the far end.
void scan(const Flattened& flat, double from, double to, Tooth& best) {
  const auto n = static_cast<double>(flat.u.size());
  Scratch scratch;
  for (double p = from; p <= to; p += std::max(0.125, p * p / (10 * n)))
    try_period(flat, p / (n - 1), 1 / (n - 1), best, scratch);
}

/// Improves period and offset by a local search with shrinking steps.
void refine(const Flattened& flat, Tooth& best) {
  const double spacing = 1 / (static_cast<double>(flat.u.size()) - 1);
  for (double reach = 1; best.gain > 0 && reach > 0.05; reach /= 2) {
    const Tooth start = best;
    for (int dp = -3; dp <= 3; ++dp) {
      const double period = start.period + dp * reach * start.period * start.period / 12;
      if (period <= 2.5 * spacing) continue;
      std::array<double, 8> offsets{};  // the eighth only fills the lanes
      for (int shift = -3; shift <= 4; ++shift)
        offsets[static_cast<std::size_t>(shift + 3)] = start.offset + shift * reach * spacing / 3;
      const std::array<double, 8> gains = flat.gains<8>(period, offsets);
      for (std::size_t k = 0; k < 7; ++k)
        if (gains[k] > best.gain * (1 + equal_gains)) best = {period, offsets[k], gains[k]};
    }
  }
  centre(best, flat);
}

/// False if this tooth cannot score better than no tooth, even if its refinement explains half as much again. It costs
/// five parameters: height, period, offset, and the latter two again because they were searched.
bool may_pay(const Tooth& tooth, const Flattened& flat) {
  constexpr double refined = 1.5, parameters = 5;
  const auto n = static_cast<double>(flat.y.size());
  const double explained = refined * tooth.gain / flat.square_y;
  return explained >= 1 || -n * std::log(1 - explained) > parameters * std::log(n);
}

/// False if nothing but the rounding of the arithmetic is left besides a line, which differs between processors.
bool rises_above_rounding(const Flattened& flat, const Points& points) {
  constexpr double rounding = 1e-12;  // relative; some thousand times that of one operation
  double largest = 0;
  for (const double y : points.y) largest = std::max(largest, std::abs(y));
  return flat.square_y > static_cast<double>(points.size()) * rounding * largest * rounding * largest;
}

/// The best regular tooth; without gain if none can pay. In a long series, candidates come from a coarse search, the
/// autocorrelation and the changes of level.
Tooth find_regular_tooth(const Points& points, const std::vector<std::size_t>& changes) {
  const Flattened flat(points);
  const auto n = static_cast<double>(points.size());
  Tooth best;
  if (!rises_above_rounding(flat, points)) return best;
  if (points.size() <= max_exhaustive) {
    scan(flat, 3, n / 2, best);
  } else {
    const Flattened coarse(condensed(points, max_exhaustive));
    Tooth rough;
    scan(coarse, 3, max_exhaustive / 2.0, rough);
    std::vector<double> lags = find_echoes(flat, max_echo_lag(flat));
    const bool echoes = !lags.empty();
    if (rough.gain > 0) lags.push_back(rough.period * n);
    if (changes.size() >= 3)
      lags.push_back(static_cast<double>(changes.back() - changes.front()) / static_cast<double>(changes.size() - 1));
    for (const double lag : lags) scan(flat, std::max(3.0, lag * 0.92), std::min(n / 2, lag * 1.08), best);
    if (!echoes && !may_pay(best, flat)) return {};
  }
  refine(flat, best);
  return best;
}

/// The positions of falls far beyond the usual differences; empty for fewer than three, which show no rhythm.
std::vector<double> find_irregular_resets(const Points& points) {
  const std::vector<double> steps = differences(points.y);
  const double middle = compute_median(steps);
  const double usual = std::max({compute_spread(steps, middle), std::abs(middle), points.floor});
  std::vector<double> resets;
  const double width = points.x.back() - points.x.front();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i] < -5 * usual) resets.push_back((points.x[i + 1] - points.x.front()) / width);
  return resets.size() >= 3 && resets.size() <= points.size() / 3 ? resets : std::vector<double>{};
}

}  // namespace

double compute_noise(const Points& points) {
  const std::vector<double> steps = differences(points.y);
  return compute_noise(steps, compute_median(steps), points);
}

std::vector<std::size_t> find_spikes(const Points& points) {
  std::vector<double> y = points.y;
  const std::size_t n = y.size();
  std::vector<std::size_t> spikes;
  if (n < 6) return spikes;
  const std::vector<double> steps = differences(y);
  const double drift = compute_median(steps);  // slope of a growing series; a spike must leave the slope
  for (std::size_t i = 0; i < n; ++i) y[i] -= drift * static_cast<double>(i);
  const double threshold = std::max(spike_threshold * compute_noise(steps, drift, points), 3 * points.quantum);
  const std::size_t max_lag = std::max(max_spike, n / spike_share);
  // If only a part of the series grows, its level part falls relative to the slope of the growing part. Test both.
  const auto stands_out = [&](double leap) { return std::min(std::abs(leap), std::abs(leap + drift)) > threshold; };
  for (std::size_t i = 1; i + 1 < n;) {
    std::size_t spike_length = 0;
    const double leap = y[i] - y[i - 1];
    for (std::size_t length = 1; stands_out(leap) && length <= max_lag && i + length < n && spike_length == 0;
         ++length) {
      const double back = y[i + length] - y[i + length - 1];
      if (!stands_out(back) || (back > 0) == (leap > 0)) continue;
      const std::size_t reach = length + 3;  // most of the surrounding values must not be spikes
      const double before = neighbourhood(y, i >= reach ? i - reach : 0, i);
      const double after = neighbourhood(y, i + length, std::min(n, i + length + reach));
      const auto [lowest, highest] = std::minmax_element(y.begin() + static_cast<std::ptrdiff_t>(i),
                                                         y.begin() + static_cast<std::ptrdiff_t>(i + length));
      // It starts and ends at the usual level. The last values of a longer excursion are not a spike.
      const bool whole = std::abs(y[i - 1] - before) <= threshold && std::abs(y[i + length] - after) <= threshold;
      if (whole &&
          (leap > 0 ? *lowest > std::max(before, after) + threshold : *highest < std::min(before, after) - threshold))
        spike_length = length;
    }
    for (std::size_t j = i; j < i + spike_length; ++j) spikes.push_back(j);
    i += std::max<std::size_t>(spike_length, 1);
  }
  // With more than a fifth of all values, the series has two levels and no spikes.
  return spikes.size() * 5 > n ? std::vector<std::size_t>{} : spikes;
}

std::vector<std::size_t> level_changes(const Points& points, double noise) {
  const std::size_t n = points.size(), min_length = n < 30 ? 2 : 3;
  if (n < 2 * min_length) return {};
  const double penalty = 3 * noise * noise * std::log(static_cast<double>(n));
  std::vector<double> sum(n + 1, 0.0), square(n + 1, 0.0), cost(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  std::vector<double> count(n + 1, 0.0), total(n + 1, 0.0);
  const double level = points.y.front();
  for (std::size_t i = 0; i < n; ++i) {
    sum[i + 1] = sum[i] + points.y[i] - level;
    square[i + 1] = square[i] + (points.y[i] - level) * (points.y[i] - level);
    count[i + 1] = static_cast<double>(i + 1);
  }
  cost[0] = -penalty;
  for (std::size_t end = min_length; end <= n; ++end) {
    const std::size_t begins = end - min_length + 1;
    // Compute all costs first and then the minimum: the compiler vectorises a loop without a running minimum.
    const double sum_end = sum[end], square_end = square[end], count_end = count[end];
    for (std::size_t begin = 0; begin < begins; ++begin) {
      const double mass = sum_end - sum[begin];
      const double remaining = square_end - square[begin] - mass * mass / (count_end - count[begin]);
      total[begin] = cost[begin] + (remaining > 0 ? remaining : 0) + penalty;
    }
    const auto lowest = std::min_element(total.begin(), total.begin() + static_cast<std::ptrdiff_t>(begins));
    if (*lowest < cost[end]) cost[end] = *lowest, from[end] = static_cast<std::size_t>(lowest - total.begin());
  }
  std::vector<std::size_t> changes;
  for (std::size_t at = from[n]; at > 0; at = from[at]) changes.push_back(at);
  std::reverse(changes.begin(), changes.end());
  return changes;
}

std::optional<Fit> fit_levels(const Fitter& fitter, const std::vector<std::size_t>& changes) {
  const Points& points = fitter.points();
  if (changes.empty()) return std::nullopt;
  std::vector<double> theta;
  const double origin = points.x.front(), width = points.x.back() - origin;
  for (const std::size_t i : changes) theta.push_back(((points.x[i - 1] + points.x[i]) / 2 - origin) / width);
  const Law law = theta.size() == 1 ? Law::step : theta.size() == 2 ? Law::two_steps : Law::stairs;
  return fitter.fit_levels(law, std::move(theta));
}

Periodicity find_periodicity(const Fitter& fitter, const std::vector<std::size_t>& changes, bool sloping) {
  const Points& points = fitter.points();
  Periodicity teeth;
  if (points.size() < 8) return teeth;
  const auto consider = [&](Law law, const std::vector<double>& theta, std::optional<Fit>& best) {
    if (&best == &teeth.sloping && !sloping) return;
    Fit fit = fitter.fit_at(law, theta);
    if (!best || fit.score < best->score) best = std::move(fit);
  };
  if (const Tooth tooth = find_regular_tooth(points, changes); tooth.gain > 0) {
    consider(Law::sawtooth, {tooth.period, tooth.offset}, teeth.level);
    consider(Law::ratchet, {tooth.period, tooth.offset}, teeth.sloping);
    if (tooth.period * static_cast<double>(points.size() - 1) >= cycle_levels) {
      consider(Law::cycle, {tooth.period, tooth.offset}, teeth.level);
      consider(Law::cycle_line, {tooth.period, tooth.offset}, teeth.sloping);
    }
  }
  if (const std::vector<double> resets = find_irregular_resets(points); !resets.empty()) {
    consider(Law::sawtooth, resets, teeth.level);
    consider(Law::ratchet, resets, teeth.sloping);
  }
  return teeth;
}

std::optional<Fit> find_staircase(const Fitter& fitter, const std::vector<std::size_t>& changes) {
  const Points& points = fitter.points();
  const std::size_t n = points.size();
  if (n < 8) return std::nullopt;
  const double origin = points.x.front(), width = points.x.back() - origin;
  const double interval = 1 / (static_cast<double>(n) - 1);
  std::vector<double> u(n), y(n);
  const double mean = std::accumulate(points.y.begin(), points.y.end(), 0.0) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = (points.x[i] - origin) / width, y[i] = points.y[i] - mean;

  Tooth best;
  std::vector<std::array<double, 3>> before_offset;
  const auto compute_gain = [&](double sum, double square, double product) {
    const double remaining = square - sum * sum / static_cast<double>(n);
    return remaining > 1e-9 ? product * product / remaining : 0;
  };
  const auto try_stairs = [&](double period) {
    const int offsets = std::max(4, static_cast<int>(std::ceil(4 * period / interval)));
    double squares = 0, products = 0;
    sum_before_offsets<3>(
        u, period, offsets,
        [&](std::size_t i, double stair, double) {
          squares += stair * stair, products += stair * y[i];
          return std::array{1.0, stair, y[i]};
        },
        before_offset);
    for (int k = 0; k < offsets; ++k) {
      // The values before this offset are one stair lower than at offset 0.
      const auto& [passed, passed_stairs, passed_y] = before_offset[static_cast<std::size_t>(k)];
      const double about =
          compute_gain(before_offset.back()[1] - passed, squares - 2 * passed_stairs + passed, products - passed_y);
      if (about < best.gain * (1 - near_tie)) continue;
      const double offset = period * k / offsets;
      double sum = 0, square = 0, product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double stair = fast_floor((u[i] - offset) / period + reset_tolerance);
        sum += stair, square += stair * stair, product += stair * y[i];
      }
      const double gain = compute_gain(sum, square, product);
      if (gain > best.gain * (1 + equal_gains)) best = {period, offset, gain};
    }
  };
  if (n <= max_exhaustive) {
    for (double p = min_stair; p * interval <= max_stair;
         p += std::max(1 / 32.0, p * p / (10 * static_cast<double>(n))))
      try_stairs(p * interval);
  } else if (changes.size() >= 3) {
    const double period = (u[changes.back()] - u[changes.front()]) / static_cast<double>(changes.size() - 1);
    for (int i = -8; i <= 8; ++i) try_stairs(period * (1 + i * interval));
  }
  if (best.gain <= 0) return std::nullopt;
  return fitter.fit_at(Law::staircase, {best.period, best.offset});
}

Points in_whole_periods(const Points& points, std::size_t max_count) {
  const std::size_t n = points.size();
  if (n <= max_count) return points;
  const std::size_t block = (n + max_count - 1) / max_count;
  const Flattened flat(points);
  const std::size_t max_lag = max_echo_lag(flat), max_blurred = 8 * block;
  // Most series have no echo as short as that, and a few lags show it. Only the others need the longer lags, whose
  // echoes may be stronger.
  if (!(flat.square_y > 0) || find_echoes(flat, std::min(max_lag, max_blurred + 1)).empty())
    return condensed(points, max_count);
  const std::vector<double> lags = find_echoes(flat, max_lag);
  if (lags.empty() || lags.front() > static_cast<double>(max_blurred)) return condensed(points, max_count);
  // The blocks would blur this period. Blocks of whole periods remove it completely, without aliasing into a slow wave.
  const auto period = static_cast<std::size_t>(lags.front());
  const std::size_t whole = (block + period - 1) / period * period;
  return condensed(points, std::max<std::size_t>(n / whole, 8));
}

}  // namespace oomdoctor
