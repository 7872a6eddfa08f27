#include "growth/segmentation.h"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "curves.h"

using namespace oomdoctor;
using namespace oomdoctor::curves;

namespace {

Points points_of(const std::vector<double>& y, double quantum = 0) {
  Points points;
  for (std::size_t i = 0; i < y.size(); ++i) {
    points.x.push_back(static_cast<double>(i));
    points.y.push_back(y[i]);
    points.weight.push_back(1);
  }
  points.quantum = quantum;
  return points;
}

/// Textbook least squares, for comparison; one or two values are a level.
double rss_of(const std::vector<double>& y, std::size_t begin, std::size_t end) {
  const auto n = static_cast<double>(end - begin);
  double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = begin; i < end; ++i) mx += static_cast<double>(i) / n, my += y[i] / n;
  for (std::size_t i = begin; i < end; ++i) {
    const double dx = static_cast<double>(i) - mx, dy = y[i] - my;
    xx += dx * dx, xy += dx * dy, yy += dy * dy;
  }
  return end - begin < 3 ? yy : yy - xy * xy / xx;
}

/// All possible cuts.
double cheapest_cut(const std::vector<double>& y, double penalty) {
  double cheapest = std::numeric_limits<double>::infinity();
  for (unsigned cuts = 0; cuts < 1u << (y.size() - 1); ++cuts) {
    double cost = 0;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= y.size(); ++i)
      if (i == y.size() || (cuts >> (i - 1) & 1u) != 0) cost += rss_of(y, begin, i) + penalty, begin = i;
    cheapest = std::min(cheapest, cost);
  }
  return cheapest;
}

}  // namespace

TEST_CASE("the cut into lines costs as little as the cheapest of all cuts", "[segmentation]") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Noise source(seed);
    std::vector<double> y;
    double level = 10;
    for (int i = 0; i < 13; ++i) {
      if (source.uniform() < 0.2) level += 4 * source.normal();
      y.push_back(level + 0.3 * i * (seed % 3) + 0.2 * source.normal());
    }
    for (const double penalty : {0.05, 0.5, 5.0}) {
      const std::vector<Segment> segments = cut_into_lines(points_of(y), penalty);
      double cost = 0;
      std::size_t end = 0;
      for (const Segment& segment : segments) {
        CHECK(segment.begin == end);
        CHECK(segment.rss == Approx(rss_of(y, segment.begin, segment.end)).margin(1e-9));
        end = segment.end;
        cost += segment.rss + penalty;
      }
      CHECK(end == y.size());
      CHECK(cost == Approx(cheapest_cut(y, penalty)));
    }
  }
}

TEST_CASE("edges of a run are exact to the value, also after thinning", "[segmentation]") {
  const std::vector<std::pair<std::size_t, std::size_t>> runs{{120, 0},  {400, 0},  {2000, 0}, {2000, 1}, {2000, 2},
                                                              {2000, 3}, {4096, 0}, {4096, 4}, {4096, 7}};
  for (const auto& [n, shift] : runs) {  // a shift moves the edges against the blocks
    Noise source(static_cast<unsigned>(n));
    std::vector<double> y;
    const std::size_t load = n / 10 + shift, work = n / 7 + shift;
    for (std::size_t i = 0; i < n; ++i) {
      const double at = static_cast<double>(i);
      y.push_back((i < load   ? 1.0
                   : i < work ? 20.0 + 10.0 * (at - static_cast<double>(load)) / static_cast<double>(work - load)
                              : 40.0 + 8 * at / static_cast<double>(n)) +
                  0.02 * source.normal());
    }
    const Points points = points_of(y);
    const std::vector<Segment> segments = segment_series(points, estimate_noise(points, 0.001));
    INFO("n = " << n << ", shift " << shift);
    REQUIRE(segments.size() == 3);
    CHECK(segments[1].begin == load);
    CHECK(segments[2].begin == work);
    CHECK(segments[2].slope == Approx(8 / static_cast<double>(n)).epsilon(0.02));
  }
}

TEST_CASE("the noise scale ignores slopes and edges, and measures the autocorrelation", "[segmentation]") {
  const auto scale = [](double rho, double slope, int edge_every) {
    Noise source(5);
    std::vector<double> y;
    double noise = 0;
    for (int i = 0; i < 400; ++i) {
      noise = rho * noise + std::sqrt(1 - rho * rho) * source.normal();
      y.push_back(slope * i + (edge_every > 0 && i / edge_every % 2 == 1 ? 50 : 0) + noise);
    }
    return estimate_noise(points_of(y), 1e-6);
  };
  for (const int edges : {0, 12}) {
    CHECK(scale(0, 0.3, edges).sigma == Approx(1).epsilon(0.2));
    CHECK(scale(0, 0.3, edges).rho < 0.25);
    CHECK(scale(0.8, 0, edges).sigma == Approx(1).epsilon(0.35));
    CHECK(scale(0.8, 0, edges).rho == Approx(0.8).margin(0.2));
  }
}

TEST_CASE("the noise scale ignores a curvature, also over the longer distances", "[segmentation]") {
  for (const double curvature : {0.02, 0.1}) {
    Noise source(9);
    std::vector<double> y;
    for (int i = 0; i < 400; ++i) y.push_back(curvature * i * i + source.normal());
    CAPTURE(curvature);
    CHECK(estimate_noise(points_of(y), 1e-6).sigma == Approx(1).epsilon(0.4));
  }
}

TEST_CASE("a wandering level is not cut into pieces", "[segmentation]") {
  int cuts = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Noise source(seed);
    std::vector<double> y;
    double noise = 0;
    for (int i = 0; i < 200; ++i) y.push_back(10 + (noise = 0.8 * noise + 0.6 * source.normal()));
    const Points points = points_of(y);
    cuts += static_cast<int>(segment_series(points, estimate_noise(points, 1e-6)).size()) - 1;
  }
  CHECK(cuts <= 10);
}
