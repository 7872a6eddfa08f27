// Growth is a choice between laws, not the slope of a line: a line through a warm-up, a step or a saturating cache is
// as steep and as significant as one through a leak. oomdoctor fits every law in law.h. The best law that grows without
// a bound must have a better score than the best law that does not. It must then pass four tests:
// 1. The growth exceeds the effect of rounding, GPU size and noise.
// 2. It is significant with the autocorrelation of its noise.
// 3. The last third of the window still grows like the middle third.
// 4. In a maximum that cannot fall, new records are more frequent than by chance. The running maximum of a steady
// process rises too.
// Growth that passes them is unknown if the program may still load. The shape is then too_short.
//
// The choice by AICc/BIC follows Burnham and Anderson 2002. The tests are necessary because trend tests alone give
// false alarms on autocorrelated series. Fewer than five values give too_short. An undecided series counts as no leak,
// with the reason in `why`.
#include "growth/growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "growth/curve.h"
#include "growth/fitted_series.h"
#include "growth/fitter.h"
#include "growth/forecast.h"
#include "growth/growth_limits.h"
#include "growth/growth_words.h"
#include "growth/shapes.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

/// True if the records come in equal jumps at equal distances. Such a rhythm is growth; the maximum of random samples
/// has none.
bool equal_jumps(const FittedSeries& fitted, const Records& records) {
  if (records.at.size() < 4) return false;
  const std::vector<double>& y = fitted.samples.points.y;
  std::vector<double> heights, gaps;
  for (std::size_t i = 0; i < records.at.size(); ++i) {
    heights.push_back(y[records.at[i]] - y[records.at[i] - 1]);
    if (i > 0) gaps.push_back(static_cast<double>(records.at[i] - records.at[i - 1]));
  }
  const auto equal = [](const std::vector<double>& values, double slack) {
    const double usual = compute_median(values);
    return std::all_of(values.begin(), values.end(),
                       [&](double value) { return std::abs(value - usual) <= limits::equal_stairs * usual + slack; });
  };
  const auto rest = static_cast<double>(y.size() - records.at.back());
  return equal(heights, fitted.points.quantum) && equal(gaps, 1) && rest < 2 * compute_median(gaps);
}

Records find_series_records(const FittedSeries& fitted) {
  return find_records(fitted.samples.points.y, fitted.points.quantum);
}

/// Test 4: the records of a maximum are more frequent than chance, or regular.
bool records_allow(const FittedSeries& fitted) {
  if (!fitted.maximum) return true;
  const Records records = find_series_records(fitted);
  return records.second_half >= limits::records_for_growth || records.odds >= limits::record_odds ||
         equal_jumps(fitted, records);
}

/// True if earlier runs grew at the same rate, which shows that the growth matters.
bool seen_in_other_runs(const Fit& fit, const FittedSeries& fitted) {
  return fitted.slope_shared && fit.law == Law::linear;
}

/// Test 2: the growth exceeds three standard deviations of a value (of a mean, for many values), and its p value is
/// small with the autocorrelation included.
bool significant(const Fit& fit, const FittedSeries& fitted) {
  if (seen_in_other_runs(fit, fitted)) return true;
  const auto n = static_cast<double>(fitted.points.size());
  const Rise rise = measure_rise(fit, fitted);
  const Inflation wider = inflation(fit, fitted.points.floor);
  const double independent = std::max(limits::sigmas_at, n * (1 - fit.rho) / (1 + fit.rho));
  const double needed = limits::sigmas * fit.sigma * std::sqrt(limits::sigmas_at / independent);
  return rise.value > needed &&
         student_upper(rise.value / std::max(wider.factor * rise.error, 1e-9), wider.freedom) < limits::slope_p;
}

/// The robust slope of a part of the window, without jumps and teeth.
double slope_between(const FittedSeries& fitted, const Fit& fit, double from, double to) {
  const Points& points = fitted.points;
  std::vector<double> x, y;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double share = (points.x[i] - fitted.first()) / fitted.window();
    if (share < from || share > to) continue;
    const bool line_only = is_periodic(fit.law) || fit.law == Law::step_line;
    x.push_back(points.x[i]);
    y.push_back(line_only ? fit.residuals[i] + fit.beta[line_column(fit.law)] * share : points.y[i]);
  }
  return x.size() < 3 ? 0 : theil_sen_slope(x, y);
}

/// The number of values in a part of the window. With missing steps, a third of the window may have almost none.
std::ptrdiff_t values_between(const FittedSeries& fitted, double from, double to) {
  return std::count_if(fitted.points.x.begin(), fitted.points.x.end(), [&](double x) {
    const double share = (x - fitted.first()) / fitted.window();
    return share >= from && share <= to;
  });
}

/// Test 3: the last third grows at a relevant share of the middle third's rate.
bool still_grows(const FittedSeries& fitted, const Fit& fit) {
  if (fit.law == Law::stairs || fitted.points.size() < 9) return true;
  if (values_between(fitted, 1 / 3.0, 2 / 3.0) < 3 || values_between(fitted, 2 / 3.0, 1) < 3) return true;
  const double middle = slope_between(fitted, fit, 1 / 3.0, 2 / 3.0), end = slope_between(fitted, fit, 2 / 3.0, 1);
  // The standard error of a slope over a third of the window, from its n/3 values.
  const double error = 3 * fit.sigma / fitted.window() * std::sqrt(36 / static_cast<double>(fitted.points.size()));
  return end > limits::stalled * middle - 2 * error;
}

/// True if the floors of the periods rise, or if there are fewer than five periods, which do not show an order.
bool floors_rise(const FittedSeries& fitted, const Fit& fit) {
  if (!is_periodic(fit.law)) return true;
  std::vector<double> floors;
  double period_begin = -1e300;
  for (std::size_t i = 0; i < fitted.points.size(); ++i) {
    const double u = (fitted.points.x[i] - fit.origin) / fit.width, phase = cycle_phase(fit.theta, u);
    const double begin = u - phase * period_of(fit.theta);
    if (begin > period_begin + 0.5 * period_of(fit.theta)) {
      period_begin = begin;
      floors.push_back(fitted.points.y[i]);
    }
    floors.back() = std::min(floors.back(), fitted.points.y[i]);
  }
  return floors.size() < 5 || rank_trend(floors).p_rising < limits::floors_p;
}

/// The number of values at the end that may be an unfinished spike: one (the batch that ran out of memory), or as many
/// as the longest earlier spike has.
std::size_t open_spike_length(const FittedSeries& fitted) {
  std::size_t longest = 1, length = 1;
  for (std::size_t i = 1; i < fitted.spikes.size(); ++i) {
    length = fitted.spikes[i] == fitted.spikes[i - 1] + 1 ? length + 1 : 1;
    longest = std::max(longest, length);
  }
  return longest;
}

/// True if the growth disappears without the last values, both for this law and for a line.
bool rests_on_end(const FittedSeries& fitted, const Fit& fit) {
  const std::size_t n = fitted.points.size(), open = open_spike_length(fitted);
  if (is_periodic(fit.law) || has_levels(fit.law) || n < limits::min_without_end + open) return false;
  std::vector<std::size_t> end(open);
  std::iota(end.begin(), end.end(), n - open);
  const Points rest = without(fitted.points, end);
  Fitter fitter(rest);
  // Last values on the line through the rest do not decide anything.
  const Fit line = fitter.fit(Law::linear);
  bool stands_out = false;
  for (const std::size_t i : end) {
    const double error = std::hypot(line.sigma, line.error_at(fitted.points.x[i]));
    stands_out = stands_out || std::abs(fitted.points.y[i] - line.at(fitted.points.x[i])) > limits::end_sigmas * error;
  }
  if (!stands_out && lag_one(line.residuals) < limits::wandering / 2) return false;
  const auto still_grows = [&](Law law) {
    const Fit other = fitter.fit(law);
    return grows(other, fitted) && measure_rise(other, fitted).value >= min_relevant_growth(fitted) &&
           significant(other, fitted);
  };
  return !still_grows(fit.law) && !still_grows(Law::linear);
}

/// Runs the tests on the best growing law and returns the first that it fails.
GrowthDoubt find_doubt(const FittedSeries& fitted, const Fit& growing) {
  if (!seen_in_other_runs(growing, fitted) && measure_rise(growing, fitted).value < min_relevant_growth(fitted))
    return GrowthDoubt::small;
  if (!significant(growing, fitted) || !floors_rise(fitted, growing)) return GrowthDoubt::noise;
  if (rests_on_end(fitted, growing)) return GrowthDoubt::open_end;
  if (!still_grows(fitted, growing)) return GrowthDoubt::levels_off;
  if (!records_allow(fitted)) return GrowthDoubt::records;
  return GrowthDoubt::none;
}

/// The score by which the growing law must win. Against the same law without growth it must be better. Against a more
/// complex law it may be slightly worse, because it is simpler. Otherwise the better score wins.
double required_gap(const Fit& growing, const Fit& bounded) {
  // A search placed the knot, so it fits some bend of any noise.
  const bool searched = growing.law == Law::late || growing.law == Law::bend;
  if (contains(growing.law, bounded.law)) return searched ? limits::good_evidence : limits::weak_evidence;
  return growing.parameters < bounded.parameters ? -limits::weak_evidence : 0;
}

Stage working_stage(const FittedSeries& fitted) {
  const Samples& samples = fitted.samples;
  const double sign = samples.counts_down ? -1 : 1;
  return {StageKind::working,
          samples.printed.front(),
          samples.printed.back(),
          sign * samples.points.y.front(),
          sign * samples.points.y.back(),
          0};
}

/// True if the values may show no more than the start of a program, which fills its memory once: they come from nearly
/// nothing, within the time that a load takes, and no slower growth follows a fast load. Progress excludes that.
bool may_be_start(const FittedSeries& fitted) {
  const Samples& work = fitted.samples;
  if (fitted.series.has_steps || fitted.series.repeats_steps || fitted.options.at_work || fitted.slope_shared)
    return false;
  Stage begin = fitted.stages.empty() ? working_stage(fitted) : fitted.stages.front();
  for (const Stage& stage : fitted.stages)
    if (stage.kind == StageKind::idle && stage.last_step <= work.printed.front()) begin = stage;
  const double length = work.printed.back() - begin.first_step;
  if (length > (fitted.series.has_times ? limits::longest_start : limits::longest_start_values)) return false;
  // What remains of an unknown whole counts from the most that remained.
  const double zero = work.counts_down ? -std::abs(begin.first_value) : 0;
  const double last = work.points.y.back() - zero, first = work.points.y.front() - zero;
  if (work.counts_down && last < limits::work_level * std::abs(zero)) return false;
  const double slope = (work.points.y.back() - work.points.y.front()) / (work.points.x.back() - work.points.x.front());
  // The first value may already contain the first part of a load.
  const double part = slope * (work.points.x[1] - work.points.x[0]);
  if (std::abs(begin.first_value) - std::abs(zero) - part > limits::nearly_nothing * last) return false;
  const double steepest = fitted.approach ? fitted.approach->steepest : 0;
  return first < limits::work_level * last || slope > limits::work_slope * steepest;
}

/// Chooses between the best growing and the best bounded law, and tests the growing one.
GrowthVerdict decide_growth(const FittedSeries& fitted) {
  GrowthVerdict verdict;
  for (const Fit& fit : fitted.fits) {
    const Fit*& best = grows(fit, fitted) ? verdict.growing : verdict.bounded;
    if (!best) best = &fit;
  }
  verdict.chosen = verdict.bounded;
  if (!verdict.growing) return verdict;
  // A searched knot or jump fits some part of any noise. So the line counts until it is clearly worse.
  const Law law = verdict.growing->law;
  if (const Fit* line = find_fit(fitted, Law::linear);
      (law == Law::bend || law == Law::late || law == Law::step_line) && grows(*line, fitted) &&
      line->score < verdict.growing->score + limits::strong_evidence)
    verdict.growing = line;
  verdict.gap = verdict.bounded->score - verdict.growing->score;
  if (verdict.gap < required_gap(*verdict.growing, *verdict.bounded)) {
    verdict.doubt = verdict.gap > -limits::weak_evidence ? GrowthDoubt::undecided : GrowthDoubt::bounded;
    return verdict;
  }
  verdict.doubt = find_doubt(fitted, *verdict.growing);
  // Noise can move the knot so that the growth fails the noise test. An equally good law without a knot then still
  // shows it.
  for (const Fit& fit : fitted.fits) {
    if (verdict.doubt != GrowthDoubt::noise || fit.score > verdict.growing->score + limits::weak_evidence) break;
    const double gap = verdict.bounded->score - fit.score;
    if (!grows(fit, fitted) || gap < required_gap(fit, *verdict.bounded)) continue;
    if (find_doubt(fitted, fit) == GrowthDoubt::none)
      verdict.growing = &fit, verdict.gap = gap, verdict.doubt = GrowthDoubt::none;
  }
  const bool sampled = fitted.series.kind == SeriesKind::sampled_gauge;
  if (verdict.doubt == GrowthDoubt::none && sampled && verdict.gap < limits::sampled_evidence)
    verdict.doubt = GrowthDoubt::undecided;
  if (verdict.doubt == GrowthDoubt::none && may_be_start(fitted)) verdict.doubt = GrowthDoubt::start;
  verdict.leak = verdict.doubt == GrowthDoubt::none;
  if (verdict.leak) verdict.chosen = verdict.growing;
  return verdict;
}

/// True if every value is above the one before, which no noise is, but the values are too few for a law.
bool rises_too_briefly(const FittedSeries& fitted, const GrowthVerdict& verdict) {
  const std::vector<double>& y = fitted.samples.points.y;
  return !verdict.leak && y.size() < limits::min_for_bends && y.back() - y.front() > min_relevant_growth(fitted) &&
         std::adjacent_find(y.begin(), y.end(), std::greater_equal<>()) == y.end();
}

bool bends_up(const Fit& fit) { return fit.law == Law::quadratic || fit.law == Law::exponential; }

/// Acceleration needs three conditions: no steady law fits as well, the line is clearly worse, and the slope at the end
/// is clearly larger.
bool accelerates(const FittedSeries& fitted, const Fit& fit) {
  if (!bends_up(fit)) return false;
  for (const Fit& other : fitted.fits)
    if (!bends_up(other) && grows(other, fitted) && other.score < fit.score + limits::weak_evidence) return false;
  if (find_fit(fitted, Law::linear)->score < fit.score + limits::good_evidence) return false;
  const double start = fit.slope_at(fitted.first()), end = fit.slope_at(fitted.last());
  return end > 0 && (start <= 0 || end / start >= limits::speeds_up);
}

/// True if a long series has teeth shorter than its blocks, which average them out. A stretch of single values still
/// shows them.
bool has_short_teeth(const FittedSeries& fitted) {
  Points stretch = fitted.samples.points;
  if (stretch.size() <= limits::max_points) return false;
  stretch = without(stretch, fitted.spikes);
  for (std::vector<double>* column : {&stretch.x, &stretch.y, &stretch.weight})
    column->resize(std::min(column->size(), limits::max_points));
  stretch.floor = fitted.points.floor;
  const Fitter fitter(stretch);
  const Periodicity teeth = find_periodicity(fitter, {}, false);
  if (!teeth.level || teeth.level->score > fitter.fit_at(Law::constant, {}).score - limits::good_evidence) return false;
  const auto [lowest, highest] = std::minmax_element(teeth.level->beta.begin() + 1, teeth.level->beta.end());
  const double height = teeth.level->law == Law::sawtooth ? std::abs(*lowest) : *highest - *lowest;
  return height > std::max(visible_change(fitted), teeth.level->sigma);
}

/// The shape of a series without a clear law: sawtooth, spike, flat or noisy.
Shape quiet_shape(const FittedSeries& fitted) {
  if (has_short_teeth(fitted)) return Shape::sawtooth;
  const Fit& fit = *find_fit(fitted, Law::constant);
  const std::vector<double>& y = fitted.samples.points.y;
  for (const std::size_t i : fitted.spikes)
    if (std::abs(y[i] - fit.at(fitted.last())) > min_relevant_growth(fitted)) return Shape::spike;
  const Points calm = without(fitted.samples.points, fitted.spikes);
  const auto [lowest, highest] = std::minmax_element(calm.y.begin(), calm.y.end());
  if (*highest - *lowest < 1.5 * fitted.points.quantum)
    return Shape::flat;  // movement below 1.5 print steps is rounding
  double square = 0;
  for (const double residual : fit.residuals) square += residual * residual;
  const double deviation = std::sqrt(square / static_cast<double>(fit.residuals.size())) / usual_level(fitted);
  if (deviation > limits::quiet_level) return Shape::noisy;
  return lag_one(fit.residuals) > limits::wandering && deviation > limits::wandering_level ? Shape::noisy : Shape::flat;
}

struct CurveSummary {
  double low, high;  ///< of the curve
  double done;       ///< share of the window after which 95 % of the change from first to last is reached
};

CurveSummary summarize_curve(const FittedSeries& fitted, const Fit& fit) {
  const double start = fit.at(fitted.first()), way = fit.at(fitted.last()) - start;
  CurveSummary summary{start, start, 1};
  for (int i = 200; i >= 0; --i) {
    const double share = i / 200.0, y = fit.at(fitted.first() + share * fitted.window());
    summary.low = std::min(summary.low, y), summary.high = std::max(summary.high, y);
    if (std::abs(y - start) >= limits::done * std::abs(way)) summary.done = share;
  }
  return summary;
}

/// The shape that the best bounded law describes.
Shape bounded_shape(const FittedSeries& fitted, const Fit& fit) {
  if (fit.score > find_fit(fitted, Law::constant)->score - limits::good_evidence) return quiet_shape(fitted);
  const CurveSummary summary = summarize_curve(fitted, fit);
  if (summary.high - summary.low < std::max(visible_change(fitted), fit.sigma)) return quiet_shape(fitted);
  // In a short series nothing can happen earlier than after two log intervals.
  const double early = std::max(limits::early, 2.01 / static_cast<double>(fitted.points.size() - 1));
  switch (fit.law) {
    case Law::sawtooth:
    case Law::ratchet:
    case Law::cycle:
    case Law::cycle_line:
      return Shape::sawtooth;
    case Law::staircase:
    case Law::step:
    case Law::two_steps:
    case Law::stairs:
    case Law::step_line:
      return Shape::step;
    case Law::ramp:
    case Law::bend:
    case Law::saturating:
      return summary.done <= early ? Shape::warmup : Shape::saturating;
    case Law::logarithmic:
      return Shape::saturating;
    default:
      return fit.at(fitted.last()) > fit.at(fitted.first()) ? Shape::saturating : Shape::noisy;
  }
}

/// A level at the end gets its shape from the way in which the run reached it.
Shape shape_with_approach(const FittedSeries& fitted, Shape shape) {
  if (!fitted.approach || shape == Shape::noisy || shape == Shape::sawtooth || shape == Shape::step) return shape;
  const Approach& approach = *fitted.approach;
  if (!approach.decides) return shape;
  const double early = std::max(limits::early, 2.01 / static_cast<double>(fitted.samples.points.size()));
  if (approach.way > 0 && approach.done <= early) return Shape::warmup;
  const double way = std::abs(approach.way);
  const bool at_once = approach.largest >= limits::one_jump * way ||
                       (approach.largest >= limits::two_jumps * way && approach.shortest >= limits::min_level);
  if (shape != Shape::saturating && at_once && approach.moved <= limits::within_steps * way) return Shape::step;
  return approach.way > 0 ? Shape::saturating : shape;
}

/// The laws for the forecast, with Akaike weights relative to the chosen law.
std::vector<WeightedModel> weighted_models(const FittedSeries& fitted, const Fit& chosen) {
  // Stairs end with the window and a parabola may turn down. The best other growing law replaces them.
  const auto bounded_ahead = [](const Fit& fit) {
    return fit.law == Law::stairs || (fit.law == Law::quadratic && fit.beta[2] < 0);
  };
  const Fit* main = &chosen;
  for (const Fit& fit : fitted.fits)
    if (bounded_ahead(*main) && !bounded_ahead(fit) && grows(fit, fitted)) main = &fit;
  if (bounded_ahead(*main)) main = find_fit(fitted, Law::linear);
  std::vector<WeightedModel> models{{*main, 1}};
  for (const Fit& fit : fitted.fits) {
    const double gap = fit.score - chosen.score;
    if (&fit == main || bounded_ahead(fit) || !grows(fit, fitted) || gap >= limits::weak_evidence) continue;
    models.push_back({fit, std::exp(-std::max(0.0, gap) / 2)});
  }
  return models;
}

/// The rise per window at the rate at which the series ended: after a knot, and of the line next to a jump.
Rise measure_rate(const Fit& fit, const FittedSeries& fitted) {
  if (fit.law == Law::bend || fit.law == Law::late) {
    const double knot = fit.origin + fit.theta[0] * fit.width, share = (fitted.last() - knot) / fitted.window();
    return {(fit.at(fitted.last()) - fit.at(knot)) / share, fit.error_of_rise(knot, fitted.last()) / share};
  }
  if (fit.law == Law::step_line)
    return {fit.beta[1], std::sqrt(std::max(0.0, fit.covariance[1 * fit.free_parameters() + 1]))};
  return measure_rise(fit, fitted);
}

void set_rates(Trend& trend, const FittedSeries& fitted, const Fit& fit) {
  const double window = fitted.window();
  // A level law has no slope. The interval of the best line then shows how much the series may rise.
  const bool level = fit.law == Law::constant || fit.law == Law::sawtooth || fit.law == Law::cycle;
  const Rise rise = measure_rate(level ? *find_fit(fitted, Law::linear) : fit, fitted);
  const double reach = student_quantile(0.975, fit.freedom) * rise.error;
  trend.slope = {rise.value / window, (rise.value - reach) / window, (rise.value + reach) / window};
  const Fit& line = *find_fit(fitted, Law::linear);
  const Rise slope = measure_rise(line, fitted);
  // The slope that a test at the 5 % level detects with a power of 80 %.
  trend.detectable_slope = (student_quantile(0.975, line.freedom) + normal_quantile(0.8)) * slope.error / window;
  if (const Fit* parabola = find_fit(fitted, Law::quadratic); parabola != nullptr) {
    const double scale = 2 / (window * window);
    const double spread =
        student_quantile(0.975, parabola->freedom) * std::sqrt(std::max(0.0, parabola->covariance[8]));
    trend.acceleration = {scale * parabola->beta[2], scale * (parabola->beta[2] - spread),
                          scale * (parabola->beta[2] + spread)};
  }
}

void set_positions(Trend& trend, const FittedSeries& fitted, const Fit& fit) {
  const auto printed = [&](double u) { return find_position(fitted.samples, fit.origin + u * fit.width).step; };
  if (fit.law == Law::late) trend.onset_step = printed(fit.theta[0]);
  if (has_levels(fit.law) || fit.law == Law::step_line || fit.law == Law::bend || fit.law == Law::late ||
      fit.law == Law::ramp)
    for (const double knot : fit.theta) trend.change_points.push_back(printed(knot));
  if (is_periodic(fit.law)) trend.period = fit.width * period_of(fit.theta);
}

/// The confidence rises with the gap in score and the number of values. Known weaknesses of the data reduce it.
double confidence_in(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend) {
  const double gap = verdict.growing ? std::abs(verdict.gap) : limits::good_evidence * 2;
  double confidence = limits::max_confidence * (1 - std::exp(-(gap + 1) / limits::good_evidence));
  confidence *= std::min(1.0, static_cast<double>(fitted.samples.points.size()) / limits::enough_values);
  if (fitted.series.kind == SeriesKind::sampled_gauge) confidence *= limits::sampled_gauge;
  if (fitted.maximum && !trend.equal_records) confidence *= limits::running_maximum;
  if (verdict.leak && measure_rise(*verdict.chosen, fitted).value < 5 * fitted.points.quantum)
    confidence *= limits::min_print_steps;
  if (trend.period && std::abs(*trend.period) < 4 * fitted.window() / static_cast<double>(fitted.points.size()))
    confidence *= limits::aliased;
  if (verdict.doubt == GrowthDoubt::undecided) confidence *= limits::undecided;
  return confidence;
}

/// Moves the forecast to the printed steps.
void shift(Forecast& forecast, double by) {
  forecast.step += by;
  forecast.step_low += by;
  if (forecast.step_high) *forecast.step_high += by;
}

/// Restores the sign of a metric of remaining memory. Its values were negated, so that growth means use.
void negate_remaining(Trend& trend) {
  const auto negate = [](Estimate& e) { e = {-e.value, -e.high, -e.low}; };
  negate(trend.slope);
  negate(trend.acceleration);
  for (CurvePoint& p : trend.curve) p = {p.x, -p.y, -p.high, -p.low};
}

/// The slope per step of a line through a run. The error accounts for few values and their autocorrelation.
Rise measure_slope(const Fit& line, const FittedSeries& run) {
  const Rise rise = measure_rise(line, run);
  const Inflation wider = inflation(line, run.points.floor);
  const double few = student_quantile(0.975, wider.freedom) / normal_quantile(0.975);
  return {rise.value / run.window(), rise.error * wider.factor * few / run.window()};
}

/// The slope of a leaking run, if a line describes it; else nullopt.
std::optional<Rise> find_steady_slope(const FittedSeries& run) {
  if (run.fits.empty() || find_fit(run, Law::linear) == nullptr) return std::nullopt;
  const GrowthVerdict verdict = decide_growth(run);
  const Fit& line = *find_fit(run, Law::linear);
  if (!verdict.leak || !grows(line, run) || line.score > verdict.chosen->score + limits::strong_evidence)
    return std::nullopt;
  return measure_slope(line, run);
}

/// Combines the slopes of a program that leaked at the same rate in earlier runs. The line of the last run then takes
/// the common slope, unless its own values contradict it.
void share_slope(FittedSeries& fitted, const std::vector<FittedSeries>& earlier) {
  const auto line =
      std::find_if(fitted.fits.begin(), fitted.fits.end(), [](const Fit& f) { return f.law == Law::linear; });
  const Rise shape = measure_slope(*line, fitted);
  Rise common = shape;
  for (auto run = earlier.rbegin(); run != earlier.rend(); ++run) {
    const std::optional<Rise> slope = find_steady_slope(*run);
    if (!slope || std::abs(slope->value - common.value) > limits::same_slope * std::hypot(slope->error, common.error))
      break;
    const double share = common.error * common.error / (common.error * common.error + slope->error * slope->error);
    common = {common.value + share * (slope->value - common.value), std::sqrt(share) * slope->error};
  }
  if (common.error >= shape.error) return;
  fitted.slope_shared = true;
  *line = line_with_slope(common.value, common.error, fitted.points);
  std::stable_sort(fitted.fits.begin(), fitted.fits.end(),
                   [](const Fit& a, const Fit& b) { return a.score < b.score; });
}

/// The stages of all runs in order, with a restart between two runs.
std::vector<Stage> join_stages(const std::vector<FittedSeries>& earlier, const FittedSeries& last) {
  std::vector<Stage> stages;
  for (const FittedSeries& run : earlier) {
    if (run.samples.points.size() == 0) continue;
    if (run.stages.empty())
      stages.push_back(working_stage(run));
    else
      stages.insert(stages.end(), run.stages.begin(), run.stages.end());
    const Stage& end = stages.back();
    stages.push_back({StageKind::restart, end.last_step, end.last_step, end.last_value, end.last_value, 0});
  }
  stages.insert(stages.end(), last.stages.begin(), last.stages.end());
  return stages;
}

}  // namespace

// The bound of min_relevant_growth() from below, against a bound of measure_rise() from above: no law rises by more
// than a few times the range of the values that it is fitted to. Ranges and levels of single runs lie within those of
// all.
bool may_leak(const Series& series, const GrowthOptions& options) {
  double relevant = limits::level_share * std::abs(series.min_value);
  if (options.capacity) relevant = std::min(relevant, limits::capacity_share * *options.capacity);
  return limits::rise_over_range * (series.max_value - series.min_value) >= relevant;
}

Trend analyse_growth(const Series& series, const GrowthOptions& options) {
  Trend trend;
  FittedSeries fitted = fit_series(series, options);
  if (fitted.fits.empty() || find_fit(fitted, Law::linear) == nullptr) {  // values near the limits of a double
    trend.why = describe_short_series(fitted);
    trend.equal_rises = find_equal_rise(fitted).has_value();
    trend.moves = trend.equal_rises || rises_to_mention(fitted);
    return trend;
  }
  std::vector<FittedSeries> earlier;
  for (const Samples& run : fitted.samples.earlier_runs) earlier.push_back(fit_series(series, options, run));
  if (!earlier.empty()) share_slope(fitted, earlier);
  trend.stages = join_stages(earlier, fitted);
  trend.working = working_stage(fitted);
  const GrowthVerdict verdict = decide_growth(fitted);
  if (verdict.doubt == GrowthDoubt::start || rises_too_briefly(fitted, verdict)) {
    trend.why = verdict.doubt == GrowthDoubt::start ? describe_start(fitted) : describe_short_series(fitted);
    trend.equal_rises = verdict.doubt != GrowthDoubt::start && find_equal_rise(fitted).has_value();
    trend.moves = verdict.doubt == GrowthDoubt::start || trend.equal_rises || rises_to_mention(fitted);
    return trend;
  }
  trend.leak = verdict.leak;
  trend.equal_records = verdict.leak && fitted.maximum && equal_jumps(fitted, find_series_records(fitted));
  trend.model = to_string(verdict.chosen->law);
  for (const Fit& fit : fitted.fits) trend.models.emplace_back(std::string(to_string(fit.law)), fit.score);
  set_rates(trend, fitted, *verdict.chosen);
  set_positions(trend, fitted, *verdict.chosen);
  if (verdict.leak) {
    trend.shape = accelerates(fitted, *verdict.chosen) ? Shape::accelerating : Shape::linear;
    // A metric of remaining memory is full at zero.
    const std::optional<double> wall = fitted.samples.counts_down ? std::optional<double>(0) : options.capacity;
    const std::vector<WeightedModel> models = weighted_models(fitted, *verdict.chosen);
    if (wall)
      trend.forecast =
          compute_forecast(models, fitted.points, *wall - (fitted.samples.counts_down ? 0 : options.unreachable_bytes));
    if (trend.forecast) trend.forecast->capacity = *wall;
    if (trend.forecast && !std::isfinite(trend.forecast->step)) trend.forecast.reset();
    trend.curve = sample_curve(models.front().fit, fitted, trend.forecast);
    if (trend.forecast) shift(*trend.forecast, -fitted.samples.ahead());
  } else {
    trend.shape = verdict.doubt == GrowthDoubt::levels_off ? Shape::saturating
                  : verdict.doubt == GrowthDoubt::open_end
                      ? shape_with_approach(fitted, Shape::spike)
                      : shape_with_approach(fitted, bounded_shape(fitted, *verdict.bounded));
    trend.curve = sample_curve(*verdict.chosen, fitted, std::nullopt);
  }
  trend.confidence = confidence_in(fitted, verdict, trend);
  trend.release = release_words(fitted, trend);
  trend.why = describe_trend(fitted, verdict, trend);
  if (fitted.samples.counts_down) negate_remaining(trend);
  return trend;
}

}  // namespace oomdoctor
