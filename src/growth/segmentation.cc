// Optimal partitioning by dynamic programming: the best cut of the first n values is the best cut of some first k of
// them plus one line through the rest. Prefix sums give the residual of any line in constant time. The penalty is that
// of BIC for the three parameters of a further line (level, slope, position), multiplied by the factor that
// autocorrelation adds to the variance of a mean, so that a drifting level is not cut into pieces.
//
// A series of thousands of values is first averaged in blocks and cut there. Each boundary then moves, value by value,
// to the position at which the lines on its two sides have the smallest residual.
#include "growth/segmentation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "growth/growth_limits.h"
#include "growth/samples.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

constexpr std::size_t max_blocks = 200;    // 20,000 pairs of positions: under a millisecond
constexpr std::size_t min_for_spread = 8;  // differences that an estimate of the spread needs
constexpr std::size_t min_for_slope = 3;   // a line through two values fits perfectly and means nothing
constexpr std::size_t max_lag = 8;         // values; noise with ρ = 0.8 keeps only a sixth of a value after that many
constexpr double max_rho = 0.95;           // above this, a level and a random walk look the same

/// Prefix sums about the common centre of all values. Differences of sums around that centre lose the fewest digits.
class LineSums {
 public:
  explicit LineSums(const Points& points) : sums_(points.size() + 1) {
    double weight = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      x_ += points.weight[i] * points.x[i];
      y_ += points.weight[i] * points.y[i];
      weight += points.weight[i];
    }
    x_ /= weight, y_ /= weight;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double w = points.weight[i], x = points.x[i] - x_, y = points.y[i] - y_;
      const Sums& s = sums_[i];
      sums_[i + 1] = {s.w + w, s.x + w * x, s.y + w * y, s.xx + w * x * x, s.xy + w * x * y, s.yy + w * y * y};
    }
  }

  /// The residual square sum of the line through values [begin, end).
  double rss(std::size_t begin, std::size_t end) const {
    const Moments m = moments(begin, end);
    const double residual = end - begin >= min_for_slope && m.xx > 0 ? m.yy - m.xy * m.xy / m.xx : m.yy;
    return residual > 0 ? residual : 0;
  }

  Segment segment(std::size_t begin, std::size_t end) const {
    const Moments m = moments(begin, end);
    Segment s{begin, end, m.x + x_, m.y + y_, 0, rss(begin, end), 0};
    if (end - begin >= min_for_slope && m.xx > 0) s.slope = m.xy / m.xx, s.square_x = m.xx;
    return s;
  }

 private:
  struct Sums {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  };
  struct Moments {
    double x, y, xx, xy, yy;  ///< centre, and sums of products about the centre
  };
  Moments moments(std::size_t begin, std::size_t end) const {
    const Sums &a = sums_[begin], &b = sums_[end];
    const double w = b.w - a.w, x = b.x - a.x, y = b.y - a.y;
    return {x / w, y / w, b.xx - a.xx - x * x / w, b.xy - a.xy - x * y / w, b.yy - a.yy - y * y / w};
  }

  double x_ = 0, y_ = 0;
  std::vector<Sums> sums_;
};

/// The robust spread of the differences over `lag` values without an edge between them, as a standard deviation of one
/// value; nullopt for too few of them. A slope adds to first differences and a bend to second ones, so the smaller of
/// the two spreads is closer to the noise. `edges[i]` is the number of edges before value i.
std::optional<double> estimate_spread(const Points& points, std::size_t lag, const std::vector<std::size_t>& edges) {
  std::vector<double> first, second, moves;
  for (std::size_t i = lag; i < points.size(); ++i) {
    if (edges[i] != edges[i - lag]) continue;
    first.push_back(points.y[i] - points.y[i - lag]);
    if (first.back() != 0) moves.push_back(std::abs(first.back()));
    if (i >= 2 * lag && edges[i] == edges[i - 2 * lag])
      second.push_back(points.y[i] - 2 * points.y[i - lag] + points.y[i - 2 * lag]);
  }
  if (first.size() < min_for_spread) return std::nullopt;
  if (2 * moves.size() < first.size())
    return moves.empty() ? 0 : compute_median(moves);  // the value moves in print steps
  const double by_slope = compute_spread(first) / std::sqrt(2.0);
  return second.size() < min_for_spread ? by_slope : std::min(by_slope, compute_spread(second) / std::sqrt(6.0));
}

/// Counts the edges before each value: steps between neighbours that noise does not explain.
std::vector<std::size_t> count_edges(const Points& points, double floor) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i) steps.push_back(points.y[i] - points.y[i - 1]);
  const double usual = compute_median(steps);
  const double limit = growth_limits::edge_sigmas * std::max(compute_spread(steps, usual), std::sqrt(2.0) * floor);
  std::vector<std::size_t> edges(points.size(), 0);
  for (std::size_t i = 1; i < points.size(); ++i)
    edges[i] = edges[i - 1] + (std::abs(steps[i - 1] - usual) > limit ? 1 : 0);
  return edges;
}

/// The means of at most `max_count` blocks of neighbours. `begins[k]` is the first value of block k.
Points average_blocks(const Points& points, std::size_t max_count, std::vector<std::size_t>& begins) {
  const std::size_t n = points.size(), count = std::min(n, max_count);
  for (std::size_t block = 0; block <= count; ++block) begins.push_back(block * n / count);
  return condensed(points, max_count);
}

/// Scales the weights to a mean of 1. Weighted square sums then have the scale of the values' own scatter.
Points with_mean_weight_one(Points points) {
  double total = 0;
  for (const double weight : points.weight) total += weight;
  for (double& weight : points.weight) weight *= static_cast<double>(points.size()) / total;
  return points;
}

/// A block that contains an edge can become its own segment. Replaces it with a single cut if that describes the values
/// equally well.
void remove_edge_blocks(const LineSums& sums, double penalty, std::size_t longest, std::vector<std::size_t>& cuts) {
  for (std::size_t k = 1; k + 2 < cuts.size();) {
    const std::size_t before = cuts[k - 1], begin = cuts[k], end = cuts[k + 1], after = cuts[k + 2];
    double smallest = sums.rss(before, begin) + sums.rss(begin, end) + sums.rss(end, after) + penalty;
    std::optional<std::size_t> best;
    if (end - begin <= longest)
      for (std::size_t cut = begin; cut <= end; ++cut)
        if (const double residual = sums.rss(before, cut) + sums.rss(cut, after); residual < smallest)
          smallest = residual, best = cut;
    if (best) {
      cuts[k] = *best;
      cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    } else {
      ++k;
    }
  }
}

}  // namespace

double noise_floor(const Points& points, double movement) {
  return std::max({points.quantum / std::sqrt(12.0), growth_limits::imperfection * movement,
                   1e-9 * std::abs(points.y.front()), 1.0});
}

double usual_range(const Points& points) { return compute_quantile(points.y, 0.98) - compute_quantile(points.y, 0.02); }

NoiseScale estimate_noise(const Points& points, double floor) {
  NoiseScale noise{floor, 0, floor};
  if (points.size() < 3) return noise;
  const std::vector<std::size_t> edges = count_edges(points, floor);
  const double nearest = std::max(estimate_spread(points, 1, edges).value_or(floor), floor);
  noise.sigma = noise.next = nearest;
  for (std::size_t lag = 2; lag <= max_lag && points.size() >= (2 + lag) * min_for_spread; lag *= 2)
    noise.sigma = std::max(noise.sigma, estimate_spread(points, lag, edges).value_or(floor));
  // The variance of second differences of this noise is σ² (6 − 8ρ + 2ρ²). Solve it for ρ.
  const double ratio = nearest / noise.sigma;
  noise.rho = std::clamp(2 - std::sqrt(1 + 3 * ratio * ratio), 0.0, max_rho);
  return noise;
}

Segment fit_segment(const Points& points, std::size_t begin, std::size_t end) {
  Points part;
  for (const auto& [from, to] : {std::pair{&points.x, &part.x}, {&points.y, &part.y}, {&points.weight, &part.weight}})
    to->assign(from->begin() + static_cast<std::ptrdiff_t>(begin), from->begin() + static_cast<std::ptrdiff_t>(end));
  Segment segment = LineSums(part).segment(0, end - begin);
  segment.begin = begin, segment.end = end;
  return segment;
}

/// O(n²): tries every last segment for every end.
std::vector<Segment> cut_into_lines(const Points& points, double penalty) {
  const std::size_t n = points.size();
  if (n == 0) return {};
  const LineSums sums(points);
  std::vector<double> cost(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  cost[0] = 0;
  for (std::size_t end = 1; end <= n; ++end)
    for (std::size_t begin = 0; begin < end; ++begin) {
      const double total = cost[begin] + sums.rss(begin, end) + penalty;
      if (total < cost[end]) cost[end] = total, from[end] = begin;
    }
  std::vector<Segment> segments;
  for (std::size_t end = n; end > 0; end = from[end]) segments.push_back(sums.segment(from[end], end));
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::vector<Segment> segment_series(const Points& given, const NoiseScale& noise) {
  const std::size_t n = given.size();
  if (n == 0) return {};
  const Points points = with_mean_weight_one(given);
  const double penalty =
      3 * std::log(static_cast<double>(std::max<std::size_t>(n, 3))) * noise.sigma * noise.sigma * noise.inflation();
  std::vector<std::size_t> begins;
  const Points blocks = average_blocks(points, max_blocks, begins);
  std::vector<Segment> rough = cut_into_lines(blocks, penalty);
  if (blocks.size() == n) return rough;
  const LineSums sums(points);
  std::vector<std::size_t> cuts{0};
  for (std::size_t k = 1; k < rough.size(); ++k) {
    const std::size_t block = rough[k].begin;
    const std::size_t low = std::max(cuts.back() + 1, begins[block - 1] + 1);
    const std::size_t high = std::min(begins[block + 1], begins[rough[k].end] - 1), limit = begins[rough[k].end];
    std::size_t best = std::clamp(begins[block], low, std::max(low, high));
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t cut = low; cut <= high; ++cut)
      if (const double residual = sums.rss(cuts.back(), cut) + sums.rss(cut, limit); residual < smallest)
        smallest = residual, best = cut;
    cuts.push_back(best);
  }
  cuts.push_back(n);
  remove_edge_blocks(sums, penalty, 2 * (n / blocks.size() + 1), cuts);
  std::vector<Segment> segments;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
    if (cuts[k] < cuts[k + 1]) segments.push_back(sums.segment(cuts[k], cuts[k + 1]));
  return segments;
}

}  // namespace oomdoctor
