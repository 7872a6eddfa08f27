// Growth is a choice between laws, not the slope of a line: a line through a warm-up, a step or a saturating cache is
// as steep and as significant as one through a leak. Every law in law.h is fitted; the best that grows without a bound
// has to beat the best that does not, by the score, and then to pass four questions: is the growth larger than what
// rounding, the card's size and the noise make of nothing; is it significant with the autocorrelation of its noise;
// does the last third still grow as the middle third did; and, where the value is a maximum that cannot fall, do new
// records come more often than they would by chance (a running maximum of a steady process rises too).
//
// Source of the choice by AICc/BIC: Burnham and Anderson 2002. The questions are there because trend tests alone raise
// false alarms on autocorrelated series. Silent (too_short) below five values; undecided counts as no leak, with the
// reason in `why`.
#include "analysis/growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/curve.h"
#include "analysis/fitted_series.h"
#include "analysis/forecast.h"
#include "analysis/growth_limits.h"
#include "analysis/growth_words.h"
#include "analysis/shapes.h"
#include "analysis/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

/// Equal jumps at equal distances are a rhythm; the longest sample so far does not come in a rhythm.
bool equal_jumps(const FittedSeries& scene, const Records& records) {
  if (records.at.size() < 4) return false;
  const std::vector<double>& y = scene.samples.points.y;
  std::vector<double> heights, gaps;
  for (std::size_t i = 0; i < records.at.size(); ++i) {
    heights.push_back(y[records.at[i]] - y[records.at[i] - 1]);
    if (i > 0) gaps.push_back(static_cast<double>(records.at[i] - records.at[i - 1]));
  }
  const auto equal = [](const std::vector<double>& values, double slack) {
    const double usual = median_of(values);
    return std::all_of(values.begin(), values.end(),
                       [&](double value) { return std::abs(value - usual) <= limits::equal_stairs * usual + slack; });
  };
  const auto rest = static_cast<double>(y.size() - records.at.back());
  return equal(heights, scene.points.quantum) && equal(gaps, 1) && rest < 2 * median_of(gaps);
}

bool records_allow(const FittedSeries& scene) {
  if (!scene.maximum) return true;
  const Records records = records_of(scene.samples.points.y, scene.points.quantum);
  return records.second_half >= limits::records_for_growth || records.odds >= limits::record_odds ||
         equal_jumps(scene, records);
}

/// Is the growth that of earlier runs, which have shown that it matters?
bool seen_in_other_runs(const Fit& fit, const FittedSeries& scene) {
  return scene.slope_shared && fit.law == Law::linear;
}

/// Beyond the noise: three standard deviations of a value, of a mean where there are many; and p, with the
/// autocorrelation.
bool significant(const Fit& fit, const FittedSeries& scene) {
  if (seen_in_other_runs(fit, scene)) return true;
  const auto n = static_cast<double>(scene.points.size());
  const Rise rise = rise_of(fit, scene);
  const Inflation wider = inflation(fit, scene.points.floor);
  const double independent = std::max(limits::sigmas_at, n * (1 - fit.rho) / (1 + fit.rho));
  const double needed = limits::sigmas * fit.sigma * std::sqrt(limits::sigmas_at / independent);
  return rise.value > needed &&
         student_upper(rise.value / std::max(wider.factor * rise.error, 1e-9), wider.freedom) < limits::slope_p;
}

/// Robust slope of a part of the window, after jumps and teeth are taken out.
double slope_between(const FittedSeries& scene, const Fit& fit, double from, double to) {
  const Points& points = scene.points;
  std::vector<double> x, y;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double share = (points.x[i] - scene.first()) / scene.window();
    if (share < from || share > to) continue;
    const bool line_only = has_teeth(fit.law) || fit.law == Law::step_line;
    x.push_back(points.x[i]);
    y.push_back(line_only ? fit.residuals[i] + fit.beta[line_column(fit.law)] * share : points.y[i]);
  }
  return x.size() < 3 ? 0 : theil_sen_slope(x, y);
}

/// Where steps are missing, a third of the window may hold no values to speak of.
std::ptrdiff_t values_between(const FittedSeries& scene, double from, double to) {
  return std::count_if(scene.points.x.begin(), scene.points.x.end(), [&](double x) {
    const double share = (x - scene.first()) / scene.window();
    return share >= from && share <= to;
  });
}

bool still_growing(const FittedSeries& scene, const Fit& fit) {
  if (fit.law == Law::stairs || scene.points.size() < 9) return true;
  if (values_between(scene, 1 / 3.0, 2 / 3.0) < 3 || values_between(scene, 2 / 3.0, 1) < 3) return true;
  const double middle = slope_between(scene, fit, 1 / 3.0, 2 / 3.0), end = slope_between(scene, fit, 2 / 3.0, 1);
  // Standard error of a slope over a third of the window, of its n/3 values.
  const double error = 3 * fit.sigma / scene.window() * std::sqrt(36 / static_cast<double>(scene.points.size()));
  return end > limits::stalled * middle - 2 * error;
}

/// The lowest value of each period, where there are enough periods to order them.
bool floors_rise(const FittedSeries& scene, const Fit& fit) {
  if (!has_teeth(fit.law)) return true;
  std::vector<double> floors;
  double turn = -1e300;
  for (std::size_t i = 0; i < scene.points.size(); ++i) {
    const double u = (scene.points.x[i] - fit.origin) / fit.width, phase = phase_of(fit.theta, u);
    const double begin = u - phase * period_of(fit.theta);
    if (begin > turn + 0.5 * period_of(fit.theta)) {
      turn = begin;
      floors.push_back(scene.points.y[i]);
    }
    floors.back() = std::min(floors.back(), scene.points.y[i]);
  }
  return floors.size() < 5 || rank_trend(floors).p_rising < limits::floors_p;
}

/// How many values at the end might be a spike that has not come back yet: one (the batch that the run died of), or as
/// many as came back before.
std::size_t open_end(const FittedSeries& scene) {
  std::size_t longest = 1, length = 1;
  for (std::size_t i = 1; i < scene.spikes.size(); ++i) {
    length = scene.spikes[i] == scene.spikes[i - 1] + 1 ? length + 1 : 1;
    longest = std::max(longest, length);
  }
  return longest;
}

/// Is there no growth without the values at the end, neither by this law nor by a line?
bool rests_on_end(const FittedSeries& scene, const Fit& fit) {
  const std::size_t n = scene.points.size(), open = open_end(scene);
  if (has_teeth(fit.law) || has_levels(fit.law) || n < limits::least_without_end + open) return false;
  std::vector<std::size_t> end(open);
  std::iota(end.begin(), end.end(), n - open);
  const Points rest = without(scene.points, end);
  // Values that lie where the line through the rest leads stand for nothing but themselves.
  const Fit line = fit_law(Law::linear, rest);
  bool stands_out = false;
  for (const std::size_t i : end) {
    const double error = std::hypot(line.sigma, line.error_at(scene.points.x[i]));
    stands_out = stands_out || std::abs(scene.points.y[i] - line.at(scene.points.x[i])) > limits::end_sigmas * error;
  }
  if (!stands_out && lag_one(line.residuals) < limits::wandering / 2) return false;
  const auto still_grows = [&](Law law) {
    const Fit other = fit_law(law, rest);
    return grows(other, scene) && rise_of(other, scene).value >= least_growth(scene) && significant(other, scene);
  };
  return !still_grows(fit.law) && !still_grows(Law::linear);
}

GrowthDoubt doubt_about(const FittedSeries& scene, const Fit& growing) {
  if (!seen_in_other_runs(growing, scene) && rise_of(growing, scene).value < least_growth(scene))
    return GrowthDoubt::small;
  if (!significant(growing, scene) || !floors_rise(scene, growing)) return GrowthDoubt::noise;
  if (rests_on_end(scene, growing)) return GrowthDoubt::open_end;
  if (!still_growing(scene, growing)) return GrowthDoubt::levels_off;
  if (!records_allow(scene)) return GrowthDoubt::records;
  return GrowthDoubt::none;
}

/// Against the same law without its growth, growth has to prove itself; against a more involved law the simpler one
/// stands until it is beaten; else the better description wins.
double burden_of_proof(const Fit& growing, const Fit& bounded) {
  // A knot was searched for: it fits some bend of any noise.
  const bool searched = growing.law == Law::late || growing.law == Law::bend;
  if (contains(growing.law, bounded.law)) return searched ? limits::good_evidence : limits::weak_evidence;
  return growing.parameters < bounded.parameters ? -limits::weak_evidence : 0;
}

GrowthVerdict judge(const FittedSeries& scene) {
  GrowthVerdict verdict;
  for (const Fit& fit : scene.fits) {
    const Fit*& place = grows(fit, scene) ? verdict.growing : verdict.bounded;
    if (!place) place = &fit;
  }
  verdict.chosen = verdict.bounded;
  if (!verdict.growing) return verdict;
  // A knot or jump that was searched for describes some of any noise: the line stands until it is clearly beaten.
  const Law law = verdict.growing->law;
  if (const Fit* line = fit_of(scene, Law::linear); (law == Law::bend || law == Law::late || law == Law::step_line) &&
                                                    grows(*line, scene) &&
                                                    line->score < verdict.growing->score + limits::strong_evidence)
    verdict.growing = line;
  verdict.gap = verdict.bounded->score - verdict.growing->score;
  if (verdict.gap < burden_of_proof(*verdict.growing, *verdict.bounded)) {
    verdict.doubt = verdict.gap > -limits::weak_evidence ? GrowthDoubt::undecided : GrowthDoubt::bounded;
    return verdict;
  }
  verdict.doubt = doubt_about(scene, *verdict.growing);
  // A knot that the noise put in the wrong place loses the growth; the law that is as good without it keeps it.
  for (const Fit& fit : scene.fits) {
    if (verdict.doubt != GrowthDoubt::noise || fit.score > verdict.growing->score + limits::weak_evidence) break;
    const double gap = verdict.bounded->score - fit.score;
    if (!grows(fit, scene) || gap < burden_of_proof(fit, *verdict.bounded)) continue;
    if (doubt_about(scene, fit) == GrowthDoubt::none)
      verdict.growing = &fit, verdict.gap = gap, verdict.doubt = GrowthDoubt::none;
  }
  const bool sampled = scene.series.kind == SeriesKind::sampled_gauge;
  if (verdict.doubt == GrowthDoubt::none && sampled && verdict.gap < limits::sampled_evidence)
    verdict.doubt = GrowthDoubt::undecided;
  verdict.leak = verdict.doubt == GrowthDoubt::none;
  if (verdict.leak) verdict.chosen = verdict.growing;
  return verdict;
}

bool bends_up(const Fit& fit) { return fit.law == Law::quadratic || fit.law == Law::exponential; }

/// An accelerating curve beats every steady one, the straight line clearly, and is clearly faster at its end.
bool accelerates(const FittedSeries& scene, const Fit& fit) {
  if (!bends_up(fit)) return false;
  for (const Fit& other : scene.fits)
    if (!bends_up(other) && grows(other, scene) && other.score < fit.score + limits::weak_evidence) return false;
  if (fit_of(scene, Law::linear)->score < fit.score + limits::good_evidence) return false;
  const double start = fit.slope_at(scene.first()), end = fit.slope_at(scene.last());
  return end > 0 && (start <= 0 || end / start >= limits::speeds_up);
}

/// Teeth shorter than the blocks that a long series is read in: a stretch of it, value by value, still has them.
bool has_short_teeth(const FittedSeries& scene) {
  Points stretch = scene.samples.points;
  if (stretch.size() <= limits::most_points) return false;
  stretch = without(stretch, scene.spikes);
  for (std::vector<double>* column : {&stretch.x, &stretch.y, &stretch.weight})
    column->resize(std::min(column->size(), limits::most_points));
  stretch.floor = scene.points.floor;
  const Periodicity teeth = find_teeth(stretch, {}, false);
  if (!teeth.level || teeth.level->score > fit_at(Law::constant, {}, stretch).score - limits::good_evidence)
    return false;
  const auto [least, most] = std::minmax_element(teeth.level->beta.begin() + 1, teeth.level->beta.end());
  const double height = teeth.level->law == Law::sawtooth ? std::abs(*least) : *most - *least;
  return height > std::max(visible_change(scene), teeth.level->sigma);
}

Shape quiet_shape(const FittedSeries& scene) {
  if (has_short_teeth(scene)) return Shape::sawtooth;
  const Fit& fit = *fit_of(scene, Law::constant);
  const std::vector<double>& y = scene.samples.points.y;
  for (const std::size_t i : scene.spikes)
    if (std::abs(y[i] - fit.at(scene.last())) > least_growth(scene)) return Shape::spike;
  const Points calm = without(scene.samples.points, scene.spikes);
  const auto [least, most] = std::minmax_element(calm.y.begin(), calm.y.end());
  if (*most - *least < 1.5 * scene.points.quantum) return Shape::flat;  // one print step is no movement
  double square = 0;
  for (const double residual : fit.residuals) square += residual * residual;
  const double deviation = std::sqrt(square / static_cast<double>(fit.residuals.size())) / level_of(scene);
  if (deviation > limits::quiet_level) return Shape::noisy;
  return lag_one(fit.residuals) > limits::wandering && deviation > limits::wandering_level ? Shape::noisy : Shape::flat;
}

struct CurveSummary {
  double low, high;  ///< of the curve
  double done;       ///< share of the window by which 95 % of the way from first to last are gone
};

CurveSummary course_of(const FittedSeries& scene, const Fit& fit) {
  const double start = fit.at(scene.first()), way = fit.at(scene.last()) - start;
  CurveSummary course{start, start, 1};
  for (int i = 200; i >= 0; --i) {
    const double share = i / 200.0, y = fit.at(scene.first() + share * scene.window());
    course.low = std::min(course.low, y), course.high = std::max(course.high, y);
    if (std::abs(y - start) >= limits::done * std::abs(way)) course.done = share;
  }
  return course;
}

Shape bounded_shape(const FittedSeries& scene, const Fit& fit) {
  if (fit.score > fit_of(scene, Law::constant)->score - limits::good_evidence) return quiet_shape(scene);
  const CurveSummary course = course_of(scene, fit);
  if (course.high - course.low < std::max(visible_change(scene), fit.sigma)) return quiet_shape(scene);
  // Two log intervals are as early as a short series can show.
  const double early = std::max(limits::early, 2.01 / static_cast<double>(scene.points.size() - 1));
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
      return course.done <= early ? Shape::warmup : Shape::saturating;
    case Law::logarithmic:
      return Shape::saturating;
    default:
      return fit.at(scene.last()) > fit.at(scene.first()) ? Shape::saturating : Shape::noisy;
  }
}

/// A level that holds is described by how the run came to it.
Shape shape_with_approach(const FittedSeries& scene, Shape own) {
  if (!scene.approach || own == Shape::noisy || own == Shape::sawtooth || own == Shape::step) return own;
  const Approach& approach = *scene.approach;
  if (!approach.decides) return own;
  const double early = std::max(limits::early, 2.01 / static_cast<double>(scene.samples.points.size()));
  if (approach.way > 0 && approach.done <= early) return Shape::warmup;
  const double way = std::abs(approach.way);
  const bool at_once = approach.largest >= limits::one_jump * way ||
                       (approach.largest >= limits::two_jumps * way && approach.shortest >= limits::least_level);
  if (own != Shape::saturating && at_once && approach.moved <= limits::within_steps * way) return Shape::step;
  return approach.way > 0 ? Shape::saturating : own;
}

std::vector<WeightedModel> beliefs_of(const FittedSeries& scene, const Fit& chosen) {
  // Stairs end with the window and a parabola may turn round: the best other growing law is drawn out in their place.
  const auto closed = [](const Fit& fit) {
    return fit.law == Law::stairs || (fit.law == Law::quadratic && fit.beta[2] < 0);
  };
  const Fit* main = &chosen;
  for (const Fit& fit : scene.fits)
    if (closed(*main) && !closed(fit) && grows(fit, scene)) main = &fit;
  if (closed(*main)) main = fit_of(scene, Law::linear);
  std::vector<WeightedModel> beliefs{{*main, 1}};
  for (const Fit& fit : scene.fits) {
    const double behind = fit.score - chosen.score;
    if (&fit == main || closed(fit) || !grows(fit, scene) || behind >= limits::weak_evidence) continue;
    beliefs.push_back({fit, std::exp(-std::max(0.0, behind) / 2)});
  }
  return beliefs;
}

/// The rise per window at the pace of the stretch that the series ended in: behind a knot, and of the line beside a
/// jump.
Rise speed_of(const Fit& fit, const FittedSeries& scene) {
  if (fit.law == Law::bend || fit.law == Law::late) {
    const double knot = fit.origin + fit.theta[0] * fit.width, share = (scene.last() - knot) / scene.window();
    return {(fit.at(scene.last()) - fit.at(knot)) / share, fit.error_of_rise(knot, scene.last()) / share};
  }
  if (fit.law == Law::step_line)
    return {fit.beta[1], std::sqrt(std::max(0.0, fit.covariance[1 * fit.free_parameters() + 1]))};
  return rise_of(fit, scene);
}

void describe_speed(Trend& trend, const FittedSeries& scene, const Fit& fit) {
  const double window = scene.window();
  // A level law has no slope of its own: how much the best line may rise nevertheless is the answer then.
  const bool level = fit.law == Law::constant || fit.law == Law::sawtooth || fit.law == Law::cycle;
  const Rise rise = speed_of(level ? *fit_of(scene, Law::linear) : fit, scene);
  const double reach = student_quantile(0.975, fit.freedom) * rise.error;
  trend.slope = {rise.value / window, (rise.value - reach) / window, (rise.value + reach) / window};
  const Fit& line = *fit_of(scene, Law::linear);
  const Rise slope = rise_of(line, scene);
  // 80 % power at the 5 % level: the slope that would hardly have been missed.
  trend.detectable_slope = (student_quantile(0.975, line.freedom) + normal_quantile(0.8)) * slope.error / window;
  if (const Fit* parabola = fit_of(scene, Law::quadratic); parabola != nullptr) {
    const double scale = 2 / (window * window);
    const double spread =
        student_quantile(0.975, parabola->freedom) * std::sqrt(std::max(0.0, parabola->covariance[8]));
    trend.acceleration = {scale * parabola->beta[2], scale * (parabola->beta[2] - spread),
                          scale * (parabola->beta[2] + spread)};
  }
}

void describe_places(Trend& trend, const FittedSeries& scene, const Fit& fit) {
  const auto printed = [&](double u) { return place_of(scene.samples, fit.origin + u * fit.width).step; };
  if (fit.law == Law::late) trend.onset_step = printed(fit.theta[0]);
  if (has_levels(fit.law) || fit.law == Law::step_line || fit.law == Law::bend || fit.law == Law::late ||
      fit.law == Law::ramp)
    for (const double place : fit.theta) trend.change_points.push_back(printed(place));
  if (has_teeth(fit.law)) trend.period = fit.width * period_of(fit.theta);
}

double confidence_in(const FittedSeries& scene, const GrowthVerdict& verdict, const Trend& trend) {
  const double gap = verdict.growing ? std::abs(verdict.gap) : limits::good_evidence * 2;
  double confidence = limits::most_confidence * (1 - std::exp(-(gap + 1) / limits::good_evidence));
  confidence *= std::min(1.0, static_cast<double>(scene.samples.points.size()) / 8);
  if (scene.series.kind == SeriesKind::sampled_gauge) confidence *= limits::sampled_gauge;
  if (scene.maximum) confidence *= limits::running_maximum;
  if (verdict.leak && rise_of(*verdict.chosen, scene).value < 5 * scene.points.quantum)
    confidence *= limits::few_print_steps;
  if (trend.period && std::abs(*trend.period) < 4 * scene.window() / static_cast<double>(scene.points.size()))
    confidence *= limits::aliased;
  if (verdict.doubt == GrowthDoubt::undecided) confidence *= limits::undecided;
  return confidence;
}

/// Steps go on counting where the printed ones stopped.
void shift(Forecast& forecast, double by) {
  forecast.step += by;
  forecast.step_low += by;
  if (forecast.step_high) *forecast.step_high += by;
}

/// Values that say what is left were negated on the way in: growth is that of use, figures are of what was printed.
void negate_remaining(Trend& trend) {
  const auto turn = [](Estimate& e) { e = {-e.value, -e.high, -e.low}; };
  turn(trend.slope);
  turn(trend.acceleration);
  for (CurvePoint& p : trend.curve) p = {p.x, -p.y, -p.high, -p.low};
}

/// Slope per step of the line through a run, its error as wide as few values and their autocorrelation make it.
Rise slope_of_line(const Fit& line, const FittedSeries& run) {
  const Rise rise = rise_of(line, run);
  const Inflation wider = inflation(line, run.points.floor);
  const double few = student_quantile(0.975, wider.freedom) / normal_quantile(0.975);
  return {rise.value / run.window(), rise.error * wider.factor * few / run.window()};
}

/// Of a run that leaks, where a line describes it.
std::optional<Rise> steady_growth_of(const FittedSeries& run) {
  if (run.fits.empty() || fit_of(run, Law::linear) == nullptr) return std::nullopt;
  const GrowthVerdict verdict = judge(run);
  const Fit& line = *fit_of(run, Law::linear);
  if (!verdict.leak || !grows(line, run) || line.score > verdict.chosen->score + limits::strong_evidence)
    return std::nullopt;
  return slope_of_line(line, run);
}

/// A program that leaked at one pace in the runs before leaks at that pace in this one, unless its values say
/// otherwise: the line through them takes the slope that all runs have in common.
void share_slope(FittedSeries& scene, const std::vector<FittedSeries>& earlier) {
  const auto line =
      std::find_if(scene.fits.begin(), scene.fits.end(), [](const Fit& f) { return f.law == Law::linear; });
  const Rise own = slope_of_line(*line, scene);
  Rise common = own;
  for (auto run = earlier.rbegin(); run != earlier.rend(); ++run) {
    const std::optional<Rise> slope = steady_growth_of(*run);
    if (!slope || std::abs(slope->value - common.value) > limits::same_slope * std::hypot(slope->error, common.error))
      break;
    const double share = common.error * common.error / (common.error * common.error + slope->error * slope->error);
    common = {common.value + share * (slope->value - common.value), std::sqrt(share) * slope->error};
  }
  if (common.error >= own.error) return;
  scene.slope_shared = true;
  *line = line_with_slope(common.value, common.error, scene.points);
  std::stable_sort(scene.fits.begin(), scene.fits.end(), [](const Fit& a, const Fit& b) { return a.score < b.score; });
}

Stage working_stage_of(const FittedSeries& scene) {
  const Samples& samples = scene.samples;
  const double sign = samples.counts_down ? -1 : 1;
  return {StageKind::working,
          samples.printed.front(),
          samples.printed.back(),
          sign * samples.points.y.front(),
          sign * samples.points.y.back(),
          0};
}

/// Of all runs in order, with a restart between each two.
std::vector<Stage> stages_of(const std::vector<FittedSeries>& earlier, const FittedSeries& last) {
  std::vector<Stage> stages;
  for (const FittedSeries& run : earlier) {
    if (run.samples.points.size() == 0) continue;
    if (run.stages.empty())
      stages.push_back(working_stage_of(run));
    else
      stages.insert(stages.end(), run.stages.begin(), run.stages.end());
    const Stage& end = stages.back();
    stages.push_back({StageKind::restart, end.last_step, end.last_step, end.last_value, end.last_value, 0});
  }
  stages.insert(stages.end(), last.stages.begin(), last.stages.end());
  return stages;
}

}  // namespace

std::string_view to_string(Shape shape) {
  switch (shape) {
    case Shape::flat:
      return "flat";
    case Shape::warmup:
      return "warmup";
    case Shape::step:
      return "step";
    case Shape::saturating:
      return "saturating";
    case Shape::sawtooth:
      return "sawtooth";
    case Shape::spike:
      return "spike";
    case Shape::noisy:
      return "noisy";
    case Shape::linear:
      return "linear";
    case Shape::accelerating:
      return "accelerating";
    case Shape::too_short:
      return "too_short";
  }
  return "too_short";
}

Trend growth_of(const Series& series, const GrowthOptions& options) {
  Trend trend;
  FittedSeries scene = fit_series(series, options);
  if (scene.fits.empty() || fit_of(scene, Law::linear) == nullptr) {  // values at the edge of what a double holds
    trend.why = words_for_short(scene);
    return trend;
  }
  std::vector<FittedSeries> earlier;
  for (const Samples& run : scene.samples.earlier_runs) earlier.push_back(fit_series(series, options, run));
  if (!earlier.empty()) share_slope(scene, earlier);
  trend.stages = stages_of(earlier, scene);
  trend.working = working_stage_of(scene);
  const GrowthVerdict verdict = judge(scene);
  trend.leak = verdict.leak;
  trend.model = to_string(verdict.chosen->law);
  for (const Fit& fit : scene.fits) trend.models.emplace_back(std::string(to_string(fit.law)), fit.score);
  describe_speed(trend, scene, *verdict.chosen);
  describe_places(trend, scene, *verdict.chosen);
  if (verdict.leak) {
    trend.shape = accelerates(scene, *verdict.chosen) ? Shape::accelerating : Shape::linear;
    // What counts down hits the wall at zero.
    const std::optional<double> wall = scene.samples.counts_down ? std::optional<double>(0) : options.capacity;
    const std::vector<WeightedModel> beliefs = beliefs_of(scene, *verdict.chosen);
    if (wall)
      trend.forecast = forecast_of(beliefs, scene.points, *wall - (scene.samples.counts_down ? 0 : options.kept_back));
    if (trend.forecast) trend.forecast->capacity = *wall;
    if (trend.forecast && !std::isfinite(trend.forecast->step)) trend.forecast.reset();
    trend.curve = curve_of(beliefs.front().fit, scene, trend.forecast);
    if (trend.forecast) shift(*trend.forecast, -scene.samples.ahead());
  } else {
    trend.shape = verdict.doubt == GrowthDoubt::levels_off ? Shape::saturating
                  : verdict.doubt == GrowthDoubt::open_end
                      ? shape_with_approach(scene, Shape::spike)
                      : shape_with_approach(scene, bounded_shape(scene, *verdict.bounded));
    trend.curve = curve_of(*verdict.chosen, scene, std::nullopt);
  }
  trend.confidence = confidence_in(scene, verdict, trend);
  trend.why = words_for(scene, verdict, trend);
  if (scene.samples.counts_down) negate_remaining(trend);
  return trend;
}

}  // namespace oomdoctor
