// Spikes are removed before any fit, because a single outlier distorts least squares. Long series are averaged in
// blocks, because the estimators are quadratic in the number of points. The noise has a floor. One part is the print
// step, because a quantised constant shows no scatter. The other is a share of the movement, because no program follows
// a formula to the last byte: among laws within that error, the simplest must win.
#include "growth/fitted_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "growth/fitter.h"
#include "growth/growth_limits.h"
#include "growth/segmentation.h"
#include "growth/shapes.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

bool only_rises(const Fit& stairs) { return std::is_sorted(stairs.beta.begin(), stairs.beta.end()); }

/// True if the levels between these changes may all rise. Their means decide that cheaply; a fit through dozens of
/// levels costs as much as all other laws together. A fall within rounding is left to the fit.
bool may_only_rise(const Points& points, const std::vector<std::size_t>& changes) {
  constexpr double rounding = 1e-9;  // of the previous level
  double last = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0, begin = 0; k <= changes.size(); ++k) {
    const std::size_t end = k < changes.size() ? changes[k] : points.size();
    double sum = 0, weight = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points.weight[i] * points.y[i], weight += points.weight[i];
    const double level = sum / weight;
    if (level < last - rounding * std::abs(last)) return false;
    last = level, begin = end;
  }
  return true;
}

/// True for two slopes of which the first is steeper.
bool slows_down(const Fit& fit) {
  return fit.law == Law::bend && fit.beta[2] / (1 - fit.theta[0]) < fit.beta[1] / fit.theta[0];
}

/// The number of periods that begin inside the window.
std::size_t count_resets(const std::vector<double>& theta) {
  if (theta.size() != 2) return theta.size();
  return static_cast<std::size_t>(std::floor((1 - theta[1]) / theta[0]) - std::floor(-theta[1] / theta[0]));
}

/// True for a sawtooth that points down, which is a staircase, with too few steps: two steps are a change of the input.
bool too_few_stairs(const Fit& fit) {
  return fit.law == Law::ratchet && fit.beta[2] < 0 && count_resets(fit.theta) < limits::min_stairs;
}

/// Fits every law, and sorts by score. Very short series get only the laws without a bend; stairs need changes that a
/// person can count, or only rises.
std::vector<Fit> fit_all_laws(const Points& points) {
  Fitter fitter(points);
  std::vector<Fit> fits;
  for (const Law law : {Law::constant, Law::linear, Law::quadratic, Law::exponential, Law::logarithmic, Law::saturating,
                        Law::late, Law::ramp, Law::bend, Law::step, Law::two_steps, Law::step_line}) {
    if (points.size() < limits::min_for_bends && law != Law::constant && law != Law::linear && law != Law::ramp)
      continue;
    fits.push_back(fitter.fit(law));
  }
  const std::vector<std::size_t> changes = level_changes(points, compute_noise(points));
  if (changes.size() >= limits::min_stairs && changes.size() <= points.size() / 3 &&
      (changes.size() <= limits::max_levels || may_only_rise(points, changes)))
    if (auto stairs = fit_levels(fitter, changes); changes.size() <= limits::max_levels || only_rises(*stairs))
      fits.push_back(std::move(*stairs));
  Periodicity teeth = find_periodicity(fitter, changes);
  if (auto stairs = find_staircase(fitter, changes)) fits.push_back(std::move(*stairs));
  if (teeth.level) fits.push_back(std::move(*teeth.level));
  if (teeth.sloping && !too_few_stairs(*teeth.sloping)) fits.push_back(std::move(*teeth.sloping));
  std::erase_if(fits, [](const Fit& fit) { return fit.law != Law::constant && !std::isfinite(fit.score); });
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.score < b.score; });
  return fits;
}

/// False for labels of current values. For all other labels the shape of the series decides.
bool may_be_maximum(const Series& series) {
  switch (series.metric) {
    case Metric::allocated:
    case Metric::active:
    case Metric::free:
    case Metric::host_rss:
    case Metric::host_used:
    case Metric::host_available:
    case Metric::host_free:
      return false;
    default:
      return true;
  }
}

/// True for a running maximum: no value falls, and the label or many equal neighbours confirm it.
bool cannot_fall(const Series& series, const Points& all) {
  std::size_t equal = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all.y[i] < all.y[i - 1] - all.quantum / 2) return false;
    if (all.y[i] == all.y[i - 1]) ++equal;
  }
  if (series.kind == SeriesKind::running_maximum) return true;
  return may_be_maximum(series) && all.size() >= limits::min_for_plateaus &&
         static_cast<double>(equal) >= limits::plateau_share * static_cast<double>(all.size());
}

/// Thins the values for the fits. If the print step is so coarse that whole stretches repeat one number, each stretch
/// is one observation.
Points thin(const Points& points, double range) {
  std::size_t equal = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points.y[i] == points.y[i - 1]) ++equal;
  const bool coarse =
      range > 2 * points.quantum && range < limits::coarse_range * points.quantum && 2 * equal > points.size();
  return coarse ? condensed(points, limits::coarse_points) : in_whole_periods(points, limits::max_points);
}

/// The share of the largest rise in the whole climb. Changes close to each other are parts of one rise, which a sample
/// has met half way.
double share_of_largest_rise(const Fit& stairs) {
  double largest = 0, rise = 0;
  for (std::size_t i = 0; i < stairs.theta.size(); ++i) {
    if (i > 0 && stairs.theta[i] - stairs.theta[i - 1] > limits::one_rise) rise = 0;
    rise += stairs.beta[i + 1] - stairs.beta[i];
    largest = std::max(largest, rise);
  }
  return largest / (stairs.beta.back() - stairs.beta.front());
}

/// True if the run was as high as the last of these stairs before the work, and released it: it climbs again by the way
/// it knows.
bool was_there_before(const Fit& stairs, const FittedSeries& fitted) {
  if (!fitted.samples.earlier_runs.empty() || fitted.samples.epochs_joined || fitted.samples.printed.empty())
    return false;
  const double sign = fitted.samples.counts_down ? -1 : 1;
  const double level = stairs.beta.back() - visible_change(fitted);
  const std::vector<Bucket>& buckets = fitted.series.buckets();
  return std::any_of(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
    return bucket.x < fitted.samples.printed.front() && sign * bucket.y >= level;
  });
}

/// True if the stairs still climb: enough steps, late on average (weighted by height), and the last one recent. Stairs
/// of which one is most of the climb are a jump.
bool keeps_climbing(const Fit& stairs, const FittedSeries& fitted) {
  if (!only_rises(stairs) || was_there_before(stairs, fitted) || share_of_largest_rise(stairs) > limits::one_jump)
    return false;
  double heights = 0, places = 0;
  for (std::size_t i = 0; i < stairs.theta.size(); ++i) {
    const double height = stairs.beta[i + 1] - stairs.beta[i];
    heights += height;
    places += height * stairs.theta[i];
  }
  return stairs.theta.size() >= limits::min_stairs && places > limits::late_climb * heights &&
         stairs.theta.back() > limits::last_stair;
}

/// The working values in order, in about max_to_compare blocks. No block spans two parts.
struct WorkingBlocks {
  Points points;
  std::vector<std::size_t> parts;   ///< indices into the parts of the map
  std::vector<std::size_t> begins;  ///< the first block of each part, plus one entry for the end
};

WorkingBlocks make_blocks(const StageMap& map, const Points& clean) {
  WorkingBlocks blocks;
  const std::size_t length = (clean.size() + limits::max_to_compare - 1) / limits::max_to_compare;
  for (std::size_t i = 0; i < map.parts().size(); ++i) {
    const auto& [segment, kind] = map.parts()[i];
    if (kind != StageKind::working) continue;
    blocks.parts.push_back(i);
    blocks.begins.push_back(blocks.points.size());
    std::vector<std::size_t> values(segment.size());
    std::iota(values.begin(), values.end(), segment.begin);
    Points part = only(clean, values);
    for (std::size_t k = 0; k < values.size(); ++k) part.x[k] += map.paused_after(values[k]);
    append(blocks.points, condensed(part, (segment.size() + length - 1) / length));
  }
  blocks.begins.push_back(blocks.points.size());
  blocks.points.quantum = clean.quantum;
  // The floor uses the movement within the stages, not between them: each stage has its own law.
  double movement = 0;
  for (std::size_t k = 0; k < blocks.parts.size(); ++k) {
    const Segment& segment = map.parts()[blocks.parts[k]].segment;
    const double share = static_cast<double>(segment.size()) / static_cast<double>(clean.size());
    movement += share * std::abs(segment.slope) * (clean.x[segment.end - 1] - clean.x[segment.begin]);
  }
  blocks.points.floor = noise_floor(clean, movement);
  return blocks;
}

/// The cost of the first `count` parts as lines, on the scale of Fit::score. The scatter is that of the later work, or
/// that of the line if it is larger. Three parameters per line.
double cost_of_lines(const WorkingBlocks& blocks, std::size_t count, double variance) {
  double cost = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Segment line = fit_segment(blocks.points, blocks.begins[k], blocks.begins[k + 1]);
    const auto n = static_cast<double>(line.size());
    const double own = std::max(variance, line.rss / n);
    cost += n * std::log(own) + 3 * std::log(static_cast<double>(blocks.points.size()));
  }
  return cost;
}

/// A lower bound for the cost of `count` lines and one law: no description leaves less than half of the noise.
double min_cost(const StageMap& map, const WorkingBlocks& blocks, std::size_t count, std::size_t values) {
  const auto n = static_cast<double>(blocks.points.size());
  const double noise = map.noise().next * map.noise().next * n / static_cast<double>(values);
  const double variance = std::max(noise / 2, blocks.points.floor * blocks.points.floor);
  return n * std::log(variance) + (3 * static_cast<double>(count) + 2) * std::log(n);
}

/// The best law for one stage. It excludes a line with a jump and two slopes of which the first is steeper: both are a
/// start-up followed by the work.
const Fit& best_law(const std::vector<Fit>& fits) {
  return *std::find_if(fits.begin(), fits.end(),
                       [](const Fit& fit) { return !slows_down(fit) && fit.law != Law::step_line; });
}

/// The part with which the last working stage begins. It is the first working part, unless a later start describes the
/// run clearly better: lines before the start plus the best law after it, against the best law over all of it.
std::size_t find_start_of_work(const StageMap& map, const Points& clean, bool only_rises) {
  const WorkingBlocks blocks = make_blocks(map, clean);
  std::vector<std::size_t> starts = map.starts(limits::min_values, only_rises);
  std::size_t best = blocks.parts.front();
  if (starts.empty()) return best;
  const std::vector<Fit> all_laws = fit_all_laws(blocks.points);
  const Fit& whole = best_law(all_laws);
  double least = whole.score - (whole.law == Law::stairs ? limits::start_beside_stairs : limits::start_evidence);
  std::sort(starts.begin(), starts.end());
  for (const std::size_t start : starts) {
    const auto part =
        static_cast<std::size_t>(std::find(blocks.parts.begin(), blocks.parts.end(), start) - blocks.parts.begin());
    if (min_cost(map, blocks, part, clean.size()) >= least) break;  // all later starts cost more lines
    std::vector<std::size_t> after(blocks.points.size() - blocks.begins[part]);
    if (after.size() < limits::min_values) continue;
    std::iota(after.begin(), after.end(), blocks.begins[part]);
    const Points work = only(blocks.points, after);
    const std::vector<Fit> laws = fit_all_laws(work);
    const Fit& law = best_law(laws);
    const double variance = std::max(law.rss / law.freedom, work.floor * work.floor);
    const double cost = law.score + cost_of_lines(blocks, part, variance);
    if (cost < least) least = cost, best = start;
  }
  return best;
}

/// Measures how the run reached the level at its end.
Approach measure_approach(const StageMap& map, const Points& clean, const std::vector<std::size_t>& work) {
  const auto level_at = [&](std::size_t value) {
    const auto part = std::find_if(map.parts().begin(), map.parts().end(),
                                   [&](const StageMap::StagedSegment& p) { return value < p.segment.end; });
    return part->segment.at(clean.x[value]);
  };
  Approach approach;
  const double final = level_at(work.back()), begin = clean.x.front(), end = clean.x[work.back()];
  approach.way = final - level_at(0);
  const double open = (1 - limits::done) * std::abs(approach.way);
  std::size_t i = work.back();
  while (i > 0 && std::abs(clean.y[i - 1] - final) <= std::max(open, 2 * map.noise().sigma)) --i;
  approach.done = (clean.x[i] - begin) / (end - begin);
  approach.done_value = i;
  const auto reached = std::find_if(map.parts().begin(), map.parts().end(),
                                    [&](const StageMap::StagedSegment& p) { return i < p.segment.end; });
  if (reached != map.parts().begin())
    approach.last_jump = reached->segment.at(clean.x[reached->segment.begin]) -
                         std::prev(reached)->segment.at(clean.x[reached->segment.begin - 1]);
  for (std::size_t k = 0; k < work.back(); ++k)
    approach.largest = std::max(approach.largest, std::abs(clean.y[k + 1] - clean.y[k]));
  for (std::size_t k = 0; k < work.front(); ++k)
    approach.steepest =
        std::max(approach.steepest, (clean.y[k + 1] - clean.y[k]) / std::max(clean.x[k + 1] - clean.x[k], 1e-9));
  approach.shortest = clean.size();
  for (const auto& [segment, kind] : map.parts()) {
    if (segment.end > work.front()) break;
    approach.moved += std::abs(clean.y[segment.end - 1] - clean.y[segment.begin]);
    approach.shortest = std::min(approach.shortest, segment.size());
  }
  return approach;
}

/// Joins neighbours of one kind into one stage, with printed steps. `kept` maps the map's values to those of `samples`.
std::vector<Stage> list_stages(const StageMap& map, const Samples& samples, const std::vector<std::size_t>& kept) {
  std::vector<Stage> stages;
  const double sign = samples.counts_down ? -1 : 1;
  for (std::size_t i = 0; i < map.parts().size();) {
    std::size_t last = i;
    while (last + 1 < map.parts().size() && map.parts()[last + 1].kind == map.parts()[i].kind) ++last;
    const std::size_t from = kept[map.parts()[i].segment.begin], to = kept[map.parts()[last].segment.end - 1];
    Stage stage{map.parts()[i].kind,           samples.printed[from],       samples.printed[to],
                sign * samples.points.y[from], sign * samples.points.y[to], 0};
    if (last == i)
      stage.slope = sign * map.parts()[i].segment.slope;
    else if (samples.points.x[to] > samples.points.x[from])
      stage.slope = (stage.last_value - stage.first_value) / (samples.points.x[to] - samples.points.x[from]);
    stages.push_back(stage);
    i = last + 1;
  }
  return stages;
}

/// Cuts the run into stages, and keeps in `fitted` only the values of the working stage in which the run ended.
void keep_working_stage(FittedSeries& fitted, const std::vector<std::size_t>& spikes) {
  const Samples& run = fitted.samples;
  std::vector<std::size_t> kept;  // values of the run that are not spikes
  for (std::size_t i = 0, next = 0; i < run.points.size(); ++i) {
    if (next < spikes.size() && spikes[next] == i)
      ++next;
    else
      kept.push_back(i);
  }
  const Points clean = only(run.points, kept);
  StageMap map(clean, run.counts_down, fitted.series.has_times);
  const std::size_t first = find_start_of_work(map, clean, cannot_fall(fitted.series, run.points));
  map.begin_work_at(first);
  fitted.stages = list_stages(map, run, kept);
  const std::vector<std::size_t> work = map.values_of_work(first);
  if (work.size() < limits::min_values) {  // too few values for a verdict: treat the whole run as one stage
    fitted.stages.clear();
    fitted.spikes = spikes;
    return;
  }
  if (work.front() > 0) {
    fitted.approach = measure_approach(map, clean, work);
    fitted.approach->done_step = run.printed[kept[fitted.approach->done_value]];
  }

  // Keep the values of the work and the spikes among them.
  Samples samples = run;
  samples.points = {{}, {}, {}, run.points.quantum, run.points.floor};
  samples.printed.clear();
  fitted.spikes.clear();
  std::size_t next = 0, last_value = kept.size();
  const auto append_value = [&](std::size_t i, double x) {
    samples.points.x.push_back(x);
    samples.points.y.push_back(run.points.y[i]);
    samples.points.weight.push_back(run.points.weight[i]);
    samples.printed.push_back(run.printed[i]);
  };
  for (const std::size_t value : work) {
    const std::size_t i = kept[value];
    const double shift = map.paused_after(value);
    const bool contiguous = value > 0 && value - 1 == last_value;
    for (; next < spikes.size() && spikes[next] < i; ++next) {
      if (!contiguous) continue;
      fitted.spikes.push_back(samples.points.size());
      append_value(spikes[next], run.points.x[spikes[next]] + shift);
    }
    samples.pauses_cut = samples.pauses_cut || shift > 0;
    append_value(i, run.points.x[i] + shift);
    last_value = value;
  }
  fitted.samples = std::move(samples);
}

}  // namespace

FittedSeries fit_series(const Series& series, const GrowthOptions& options) {
  return fit_series(series, options, extract_samples(series, options.failure_step));
}

FittedSeries fit_series(const Series& series, const GrowthOptions& options, Samples run) {
  FittedSeries fitted{series, options, std::move(run), {}, {}, {}, false, false, {}, {}};
  if (fitted.samples.points.size() < limits::min_values) return fitted;
  keep_working_stage(fitted, find_spikes(fitted.samples.points));
  const Points& all = fitted.samples.points;
  const Points clean = without(all, fitted.spikes);
  const double range = usual_range(clean);
  fitted.points = thin(clean, range);
  fitted.points.floor = noise_floor(clean, range);
  fitted.maximum = cannot_fall(series, all);
  fitted.fits = fit_all_laws(fitted.points);
  if (fitted.approach) fitted.approach->decides = std::abs(fitted.approach->way) >= visible_change(fitted);
  return fitted;
}

const Fit* find_fit(const FittedSeries& fitted, Law law) {
  for (const Fit& fit : fitted.fits)
    if (fit.law == law) return &fit;
  return nullptr;
}

double usual_level(const FittedSeries& fitted) { return std::max(1.0, std::abs(compute_median(fitted.points.y))); }

Rise measure_rise(const Fit& fit, const FittedSeries& fitted) {
  const auto column = [&](std::size_t i) {
    return Rise{fit.beta[i], std::sqrt(std::max(0.0, fit.covariance[i * fit.free_parameters() + i]))};
  };
  switch (fit.law) {
    case Law::ratchet:
    case Law::cycle_line:
      return column(line_column(fit.law));
    case Law::bend:  // if it slows down, only the second slope counts
      if (slows_down(fit)) return column(2);
      break;
    case Law::step_line:  // after a fall, the floor has risen only if it now starts above the first value
      if (fit.beta[2] < 0) return {fit.beta[1] * fit.theta[0] + fit.beta[2], fit.sigma};
      return column(1);
    case Law::stairs:
      return {fit.beta.back() - fit.beta.front(), fit.sigma};
    default:
      break;
  }
  return {fit.at(fitted.last()) - fit.at(fitted.first()), fit.error_of_rise(fitted.first(), fitted.last())};
}

double visible_change(const FittedSeries& fitted) {
  return std::max(limits::print_steps * fitted.points.quantum, limits::level_share * usual_level(fitted));
}

double min_relevant_growth(const FittedSeries& fitted) {
  if (!fitted.options.capacity || fitted.samples.counts_down)
    return std::max(visible_change(fitted), limits::capacity_share * fitted.options.largest_process);
  return std::max(limits::print_steps * fitted.points.quantum, limits::capacity_share * *fitted.options.capacity);
}

bool grows(const Fit& fit, const FittedSeries& fitted) {
  constexpr double rounding = 1e-6;  // of a print step: below, the sign of a rise depends on the machine
  switch (fit.law) {
    case Law::linear:
    case Law::exponential:
    case Law::late:
    case Law::staircase:
      return fit.beta[1] > 0 && measure_rise(fit, fitted).value > rounding * fitted.points.quantum;
    case Law::ratchet:
    case Law::cycle_line:
      return fit.beta[line_column(fit.law)] > 0;
    case Law::step_line:
      return fit.beta[1] > 0 && measure_rise(fit, fitted).value > 0;
    case Law::stairs:
      return keeps_climbing(fit, fitted);
    case Law::quadratic: {
      const double mean = measure_rise(fit, fitted).value / fitted.window();
      return mean > 0 && fit.slope_at(fitted.last()) > limits::still_rising * mean;
    }
    case Law::bend: {
      const double mean = (fit.at(fitted.last()) - fit.at(fitted.first())) / fitted.window();
      return mean > 0 && fit.beta[2] / (1 - fit.theta[0]) / fitted.window() > limits::stalled * mean;
    }
    default:
      return false;
  }
}

bool contains(Law law, Law part) {
  return part == Law::constant || (law == Law::ratchet && part == Law::sawtooth) ||
         (law == Law::cycle_line && part == Law::cycle) || (law == Law::step_line && part == Law::step) ||
         (law == Law::bend && part == Law::ramp);
}

}  // namespace oomdoctor
