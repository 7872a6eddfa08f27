#include "growth/fitter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "growth/samples.h"
#include "growth/statistics.h"

using namespace oomdoctor;

namespace {

/// Nine values in GB at steps 100 … 900. The figures of each model were computed by hand.
Points accelerating() {
  Points points;
  const std::vector<double> values{18.2, 18.5, 18.9, 19.4, 20.1, 20.9, 21.8, 22.9, 24.2};
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.x.push_back(100.0 * static_cast<double>(i + 1));
    points.y.push_back(values[i]);
    points.weight.push_back(1);
  }
  points.quantum = 0.1;
  return points;
}

template <typename Curve>
Points drawn(int n, Curve curve) {
  Points points;
  for (int i = 0; i < n; ++i) {
    points.x.push_back(5.0 * i);
    points.y.push_back(curve(static_cast<double>(i) / (n - 1)));
    points.weight.push_back(1);
  }
  points.floor = 1e-3;
  return points;
}

/// Half width of the 95% prediction interval.
double reach(const Fit& fit, double x) {
  return student_quantile(0.975, fit.freedom) * std::hypot(fit.sigma, fit.error_at(x));
}

}  // namespace

TEST_CASE("a straight line through an accelerating series") {
  const Points points = accelerating();
  const Fit fit = fit_law(Law::linear, points, false);
  CHECK(fit.at(500) == Approx(20.5444).margin(1e-4));
  CHECK(100 * fit.slope_at(500) == Approx(0.74167).margin(1e-5));
  CHECK(fit.rss == Approx(1.4981).margin(1e-4));
  CHECK(fit.sigma == Approx(0.463).margin(0.001));
  CHECK(aicc(fit.rss, 9, 3) == Approx(-5.34).margin(0.01));
  CHECK(bic(fit.rss, 9, 3) == Approx(-9.55).margin(0.01));
  CHECK(fit.at(1000) == Approx(24.25).margin(0.005));
  CHECK(reach(fit, 1000) == Approx(1.35).margin(0.01));
}

TEST_CASE("a parabola through it") {
  const Points points = accelerating();
  const Fit fit = fit_law(Law::quadratic, points, false);
  CHECK(fit.at(500) == Approx(20.0805).margin(1e-4));
  CHECK(100 * fit.slope_at(500) == Approx(0.74167).margin(1e-5));
  CHECK(fit.beta[2] / 64 == Approx(0.06959).margin(1e-5));
  CHECK(std::sqrt(fit.covariance[8]) / 64 == Approx(0.0019).margin(5e-5));
  CHECK(fit.error_at(500) == Approx(0.0167).margin(1e-4));
  CHECK(fit.rss == Approx(0.00654).margin(1e-5));
  CHECK(fit.sigma == Approx(0.033).margin(5e-4));
  CHECK(aicc(fit.rss, 9, 4) == Approx(-47.05).margin(0.02));
  CHECK(bic(fit.rss, 9, 4) == Approx(-56.26).margin(0.02));
  CHECK(fit.at(1000) == Approx(25.53).margin(0.005));
  CHECK(reach(fit, 1000) == Approx(0.13).margin(0.005));
  CHECK(100 * fit.slope_at(100) == Approx(0.185).margin(0.001));
  CHECK(100 * fit.slope_at(900) == Approx(1.298).margin(0.001));
}

TEST_CASE("slopes of the parabola, with their errors") {
  const Fit fit = fit_law(Law::quadratic, accelerating(), false);
  const auto error = [&](double x) {  // half width of the 95% interval, per 100 steps
    return student_quantile(0.975, fit.freedom) * fit.error_of_rise(x - 1, x + 1) / 2 * 100;
  };
  CHECK(std::sqrt(fit.covariance[4]) / 8 == Approx(0.0043).margin(5e-5));
  CHECK(error(100) == Approx(0.038).margin(0.0005));
  CHECK(error(500) == Approx(0.010).margin(0.0006));
  CHECK(error(900) == Approx(0.038).margin(0.0005));
  CHECK(100 * fit.slope_at(1000) == Approx(1.438).margin(0.0005));
  CHECK(error(1000) == Approx(0.047).margin(0.0005));
  CHECK(fit.slope_at(900) / fit.slope_at(100) == Approx(7).margin(0.05));
  CHECK(2 * fit.beta[2] / 64 == Approx(0.1392).margin(5e-5));
  const double error_of_bend = std::sqrt(fit.covariance[8]);
  CHECK(2 * student_quantile(0.975, fit.freedom) * error_of_bend / 64 == Approx(0.0092).margin(5e-5));
  CHECK(fit.beta[2] / error_of_bend == Approx(37.0).margin(0.05));
  CHECK(2 * student_upper(fit.beta[2] / error_of_bend, fit.freedom) == Approx(2.6e-8).margin(5e-10));
}

TEST_CASE("the score by which the parabola beats the straight line") {
  const Points points = accelerating();
  const Fit line = fit_law(Law::linear, points, false), parabola = fit_law(Law::quadratic, points, false),
            level = fit_law(Law::constant, points, false), exponential = fit_law(Law::exponential, points, false);
  CHECK(1 - line.rss / level.rss == Approx(0.9566).margin(5e-5));
  CHECK(1 - parabola.rss / level.rss == Approx(0.99981).margin(5e-6));
  CHECK((line.rss - parabola.rss) / (parabola.rss / 6) == Approx(1369).margin(0.5));
  const double rounding = points.quantum * points.quantum / 12;  // variance
  CHECK(std::sqrt(rounding) == Approx(0.0289).margin(5e-5));
  CHECK(parabola.rss / rounding == Approx(7.85).margin(0.01));
  CHECK(exponential.rss / rounding == Approx(14.1).margin(0.05));
  CHECK(line.rss / rounding == Approx(1798).margin(0.5));
  const double lower_bound = 9 * rounding;
  CHECK(aicc(std::max(parabola.rss, lower_bound), 9, 4) == Approx(-45.81).margin(0.005));
  CHECK(bic(std::max(parabola.rss, lower_bound), 9, 4) == Approx(-55.02).margin(0.005));
}

TEST_CASE("the prediction of each curve for later steps") {
  const Points points = accelerating();
  const Fit line = fit_law(Law::linear, points, false), parabola = fit_law(Law::quadratic, points, false);
  const auto at_step = [](const Fit& fit, double level) {  // the first whole step
    double x = 900;
    while (fit.at(x) < level) ++x;
    return x;
  };
  CHECK(parabola.at(1000) - reach(parabola, 1000) == Approx(25.40).margin(0.005));
  CHECK(parabola.at(1000) + reach(parabola, 1000) == Approx(25.66).margin(0.005));
  CHECK(at_step(parabola, 24.5) == Approx(926).margin(1));
  CHECK(at_step(parabola, 30) == Approx(1275).margin(1));
  CHECK(at_step(parabola, 40) == Approx(1741).margin(1));
  CHECK(at_step(line, 24.5) == Approx(1033).margin(1));
  CHECK(at_step(line, 25.0) == Approx(1101).margin(1));
  CHECK(at_step(line, 25.66) == Approx(1190).margin(1));
  CHECK(at_step(line, 26) == Approx(1236).margin(1));
  CHECK(at_step(line, 30) == Approx(1775).margin(1));
}

TEST_CASE("the first and the last four values, each with its line") {
  const Points points = accelerating();
  const auto slope_of = [&](std::size_t from) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (i < from || i >= from + 4) others.push_back(i);
    return 100 * fit_law(Law::linear, without(points, others), false).slope_at(500);
  };
  CHECK(slope_of(0) == Approx(0.40).margin(0.005));
  CHECK(slope_of(5) == Approx(1.10).margin(0.005));
  CHECK(slope_of(5) / slope_of(0) == Approx(2.75).margin(0.01));
}

TEST_CASE("a logarithm describes it worse than a line") {
  // The window begins at step 100 and has 800 steps: 8 makes it the logarithm of the step.
  const Fit fit = fit_at(Law::logarithmic, {8}, accelerating(), false);
  CHECK(fit.rss == Approx(7.94).margin(0.005));
  CHECK(aicc(fit.rss, 9, 3) == Approx(9.7).margin(0.05));
  CHECK(bic(fit.rss, 9, 3) == Approx(5.5).margin(0.05));
  CHECK(fit_law(Law::logarithmic, accelerating(), false).rss > fit_law(Law::linear, accelerating(), false).rss);
}

TEST_CASE("an exponential with an offset through it") {
  const Fit fit = fit_law(Law::exponential, accelerating(), false);
  // 16.400 + 3.6956 e^(0.1875 (step − 500) / 100)
  const double rate = fit.theta[0] / 8, height = fit.beta[1] / std::expm1(fit.theta[0]);
  CHECK(height * std::exp(4 * rate) == Approx(3.6956).margin(0.01));
  CHECK(fit.beta[0] - height == Approx(16.400).margin(0.01));
  CHECK(100 * std::log(2) / rate == Approx(370).margin(1));
  CHECK(fit.theta[0] / 8 == Approx(0.1875).margin(0.0005));
  CHECK(fit.rss == Approx(0.0117).margin(1e-4));
  CHECK(aicc(fit.rss, 9, 4) == Approx(-41.8).margin(0.1));
  CHECK(bic(fit.rss, 9, 4) == Approx(-51.0).margin(0.1));
  CHECK(fit.at(1000) == Approx(25.84).margin(0.01));
}

TEST_CASE("the print step is a lower bound of the noise, and so of the score") {
  Points points = accelerating();
  points.floor = points.quantum / std::sqrt(12.0);
  CHECK(fit_law(Law::quadratic, points, false).score == Approx(-45.81).margin(0.02));
  for (double& y : points.y) y = 20;
  const Fit constant = fit_law(Law::constant, points);
  CHECK(constant.sigma == Approx(points.floor));
  CHECK(constant.score < fit_law(Law::linear, points).score);
}

TEST_CASE("the score is AICc for few values, BIC for many, and the stricter of both between") {
  CHECK(criterion(2, 9, 4) == aicc(2, 9, 4));
  CHECK(criterion(2, 40, 4) == bic(2, 40, 4));
  CHECK(criterion(2, 20, 4) == std::max(aicc(2, 20, 4), bic(2, 20, 4)));
  CHECK(std::isinf(aicc(2, 5, 4)));
}

TEST_CASE("each law finds its curve and its parameter") {
  const auto best = [](const Points& points) {
    const Fit* winner = nullptr;
    static std::vector<Fit> fits;
    fits.clear();
    for (const Law law : {Law::constant, Law::linear, Law::quadratic, Law::exponential, Law::saturating, Law::late,
                          Law::ramp, Law::bend, Law::step, Law::two_steps, Law::step_line})
      fits.push_back(fit_law(law, points));
    for (const Fit& fit : fits)
      if (winner == nullptr || fit.score < winner->score) winner = &fit;
    return *winner;
  };
  CHECK(best(drawn(40, [](double) { return 7.0; })).law == Law::constant);
  CHECK(best(drawn(40, [](double u) { return 7 + u; })).law == Law::linear);
  CHECK(best(drawn(40, [](double u) { return 7 + u * u; })).law == Law::quadratic);

  const Fit exponential = best(drawn(40, [](double u) { return 7 + 0.2 * std::exp(3 * u); }));
  CHECK(exponential.law == Law::exponential);
  CHECK(exponential.theta[0] == Approx(3).epsilon(0.01));
  const Fit saturating = best(drawn(40, [](double u) { return 7 + 2 * (1 - std::exp(-u / 0.15)); }));
  CHECK(saturating.law == Law::saturating);
  CHECK(saturating.theta[0] == Approx(0.15).epsilon(0.01));
  const Fit late = best(drawn(40, [](double u) { return 7 + 2 * std::max(0.0, u - 0.4); }));
  CHECK(late.law == Law::late);
  CHECK(late.theta[0] == Approx(0.4).epsilon(0.02));
  const Fit ramp = best(drawn(40, [](double u) { return 7 + 2 * std::min(u, 0.1); }));
  CHECK(ramp.law == Law::ramp);
  CHECK(ramp.theta[0] == Approx(0.1).epsilon(0.05));
  CHECK(best(drawn(40, [](double u) { return 7 + u + 3 * std::max(0.0, u - 0.5); })).law == Law::bend);
  const Fit step = best(drawn(41, [](double u) { return u > 0.6 ? 9.0 : 7.0; }));
  CHECK(step.law == Law::step);
  CHECK(step.theta[0] == Approx(0.6).margin(0.02));
  CHECK(step.beta[1] - step.beta[0] == Approx(2));
  CHECK(best(drawn(40, [](double u) { return 7 + (u > 0.3) + 0.5 * (u > 0.8); })).law == Law::two_steps);
  CHECK(best(drawn(40, [](double u) { return 7 + u + (u > 0.5); })).law == Law::step_line);
}

TEST_CASE("a slow random wave is autocorrelated noise, not a trend") {
  Points points = drawn(60, [](double) { return 0.0; });
  double state = 0;
  unsigned seed = 12345;
  for (double& y : points.y) {
    seed = seed * 1664525u + 1013904223u;
    state = 0.9 * state + (static_cast<double>(seed >> 8) / 16777216.0 - 0.5);
    y = 10 + 0.1 * state;
  }
  const Fit constant = fit_law(Law::constant, points);
  CHECK(constant.rho >= 0.6);
  const Fit line = fit_law(Law::linear, points), naive = fit_law(Law::linear, points, false);
  CHECK(constant.score < naive.score);
  CHECK(line.error_of_rise(0, 295) > 2 * naive.error_of_rise(0, 295));
}

TEST_CASE("weights count: a bucket of four values counts like four values") {
  Points heavy = drawn(3, [](double) { return 1.0; });
  heavy.y[1] = 6;
  heavy.weight[1] = 4;
  CHECK(fit_law(Law::constant, heavy, false).at(0) == Approx((1 + 4 * 6 + 1) / 6.0));
}

TEST_CASE("a fit can be moved along its uncertainty") {
  const Fit fit = fit_law(Law::linear, accelerating(), false);
  const std::vector<double> root = covariance_root(fit);
  REQUIRE(root.size() == 4);
  CHECK(root[0] * root[0] == Approx(fit.covariance[0]));
  CHECK(root[2] * root[2] + root[3] * root[3] == Approx(fit.covariance[3]));
  const Fit moved = fit.moved({1, 0});
  CHECK(moved.at(300) == Approx(fit.at(300) + 1));
}

TEST_CASE("no other theta has a clearly smaller residual, for any weights and gaps") {
  Points points =
      drawn(150, [](double u) { return 20 + 3 * std::min(u, 0.4) + 0.8 * (u > 0.7) + 0.3 * std::sin(40 * u); });
  for (std::size_t i = 0; i < points.size(); ++i) points.weight[i] = 1 + static_cast<double>(i * 7 % 4);
  for (const std::size_t gap : {20U, 90U})
    for (std::size_t i = gap; i < points.size(); ++i) points.x[i] += 130;
  for (const Law law : {Law::exponential, Law::logarithmic, Law::saturating, Law::late, Law::ramp, Law::bend, Law::step,
                        Law::step_line}) {
    INFO(to_string(law));
    // The search minimizes the weighted residual, and sigma is weighted as well.
    const double found = fit_law(law, points, false).sigma;
    const bool rate = law == Law::exponential || law == Law::logarithmic || law == Law::saturating;
    for (int i = 0; i <= 200; ++i) {
      const double share = i / 200.0;
      const double theta = law == Law::exponential   ? 0.2 * std::pow(60, share)
                           : law == Law::logarithmic ? 3 * std::pow(3e3, share)
                           : rate                    ? 0.011 * std::pow(130, share)
                                                     : 0.12 + 0.76 * share;
      CHECK(found <= fit_at(law, {theta}, points, false).sigma * (1 + 1e-6));
    }
  }
}

TEST_CASE("a staircase of many levels has the means of its values, each with the precision of its count") {
  Points points = drawn(120, [](double u) { return std::floor(24 * u); });
  for (std::size_t i = 0; i < points.size(); i += 2) points.y[i] += 0.25;
  std::vector<double> theta;
  for (int i = 1; i < 24; ++i) theta.push_back((5 * i - 0.5) / 119);
  const Fit fit = fit_at(Law::stairs, theta, points, false);
  REQUIRE(fit.beta.size() == 24);
  for (std::size_t level = 0; level < 24; ++level) {
    double mean = 0, lower_bound = 1e9;
    for (std::size_t i = 5 * level; i < 5 * level + 5; ++i)
      mean += points.y[i] / 5, lower_bound = std::min(lower_bound, points.y[i]);
    CHECK(fit.beta[level] == Approx(mean).epsilon(1e-9));
    CHECK(fit.error_at(points.x[5 * level]) == Approx(fit.sigma / std::sqrt(5.0)).epsilon(1e-6));
    CHECK(lower_bound < mean);
  }
}

TEST_CASE("equal values neither rise nor fall, whichever way their mean is rounded") {
  for (const double level : {0.1, 12.88, 41.88, 13829824675.84, 1e15 / 3}) {
    Points points = drawn(37, [&](double) { return level; });
    for (std::size_t i = 0; i < points.size(); ++i) points.weight[i] = 1 + static_cast<double>(i % 3);
    for (const Law law : {Law::linear, Law::exponential, Law::late, Law::bend, Law::step_line}) {
      const Fit fit = fit_law(law, points);
      CHECK(fit.beta[0] == level);
      for (std::size_t i = 1; i < fit.beta.size(); ++i) CHECK(fit.beta[i] == 0);
    }
  }
}

TEST_CASE("autocorrelated noise gives the same solution as whitening the rows directly") {
  // A line in autocorrelated noise: rho, coefficients and noise against explicit sums.
  Points points = drawn(80, [](double u) { return 5 + 2 * u; });
  double noise = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    noise = 0.8 * noise + 0.05 * std::sin(static_cast<double>(i * i));
    points.y[i] += noise;
  }
  const Fit fit = fit_law(Law::linear, points);
  REQUIRE(fit.rho > 0);
  const auto squares = [&](double level, double slope) {
    double sum = 0, before = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double u = static_cast<double>(i) / 79, residual = points.y[i] - level - slope * (u - 0.5);
      const double white = i == 0 ? residual * std::sqrt(1 - fit.rho * fit.rho) : residual - fit.rho * before;
      sum += white * white, before = residual;
    }
    return sum;
  };
  const double lower_bound = squares(fit.beta[0], fit.beta[1]);
  CHECK(fit.sigma == Approx(std::sqrt(lower_bound / fit.freedom / (1 - fit.rho * fit.rho))).epsilon(1e-9));
  for (const double by : {-1e-3, 1e-3}) {
    CHECK(squares(fit.beta[0] + by, fit.beta[1]) > lower_bound);
    CHECK(squares(fit.beta[0], fit.beta[1] + by) > lower_bound);
  }
}

TEST_CASE("a fitter gives each law the fit that the law gets by itself") {
  const Points points = drawn(80, [](double u) { return 20 + 3 * u + 0.4 * std::sin(40 * u) + (u > 0.6 ? 2 : 0); });
  Fitter fitter(points);
  for (const Law law : {Law::step, Law::constant, Law::exponential, Law::bend, Law::two_steps, Law::linear, Law::late,
                        Law::logarithmic, Law::step_line, Law::saturating, Law::ramp, Law::quadratic}) {
    CAPTURE(to_string(law));
    const Fit shared = fitter.fit(law), own = fit_law(law, points);
    CHECK(shared.score == own.score);
    CHECK(shared.theta == own.theta);
    CHECK(shared.beta == own.beta);
    CHECK(shared.covariance == own.covariance);
  }
}

TEST_CASE("levels are the means of their values, as in a fit with a column for each") {
  Points points = drawn(120, [](double u) { return 20 + std::floor(u * 9.5) + 0.1 * std::sin(900 * u); });
  for (std::size_t i = 0; i < points.size(); ++i) points.weight[i] = 1 + static_cast<double>(i % 3);
  std::vector<double> changes;
  for (int k = 1; k < 10; ++k) changes.push_back(k / 9.5);
  const Fitter fitter(points);
  const Fit sums = fitter.fit_levels(Law::stairs, changes), matrix = fitter.fit_at(Law::stairs, changes, false);
  CHECK(sums.score == Approx(matrix.score).epsilon(1e-9));
  CHECK(sums.sigma == Approx(matrix.sigma).epsilon(1e-9));
  CHECK(sums.parameters == matrix.parameters);
  REQUIRE(sums.beta.size() == 10);
  for (std::size_t k = 0; k < sums.beta.size(); ++k) CHECK(sums.beta[k] == Approx(matrix.beta[k]).epsilon(1e-9));
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(sums.residuals[i] == Approx(matrix.residuals[i]).margin(1e-9));
    CHECK(sums.error_at(points.x[i]) == Approx(matrix.error_at(points.x[i])).epsilon(1e-6));
  }
  CHECK(sums.error_of_rise(points.x.front(), points.x.back()) ==
        Approx(matrix.error_of_rise(points.x.front(), points.x.back())).epsilon(1e-6));
}

TEST_CASE("a level may be empty") {
  const Points points = drawn(20, [](double u) { return u < 0.5 ? 3 : 7; });
  const Fit fit = Fitter(points).fit_levels(Law::two_steps, {0.5, 0.51});
  CHECK(fit.at(points.x.front()) == Approx(3));
  CHECK(fit.at(points.x.back()) == Approx(7));
  for (const double variance : fit.covariance) CHECK(std::isfinite(variance));
}
