// One line per trend: numbers first, in the unit that fits them. It states the observation and the alternative law.
// Advice belongs to the rules.
#include "growth/growth_words.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "growth/growth_limits.h"
#include "growth/plain_rise.h"
#include "growth/statistics.h"

namespace oomdoctor {

namespace {

namespace limits = growth_limits;

std::string size(double bytes) { return computed_bytes_text(bytes); }

std::string step_text(double step) { return fmt::format("{}", whole_number(std::round(step))); }

/// The unit of x in this series.
std::string_view x_unit(const FittedSeries& fitted) {
  return fitted.series.counts_epochs ? "epoch"
         : fitted.series.has_times   ? "second"
         : fitted.series.has_steps   ? "step"
                                     : "value";
}

/// "step 120" as the log prints it. If the log restarts its count or has none, the number of the value.
std::string place_text(const FittedSeries& fitted, double x) {
  const Place place = find_position(fitted.samples, x);
  const std::vector<double>& printed = fitted.samples.printed;
  if (fitted.samples.as_printed() || std::is_sorted(printed.begin(), printed.end(), std::less_equal<>()))
    return fmt::format("{} {}", x_unit(fitted), step_text(place.step));
  return fmt::format("value {}, {} {}", place.value, x_unit(fitted), step_text(place.step));
}

/// The first value from x on: nobody saw what was between two values.
double seen_at(const FittedSeries& fitted, double x) {
  const std::vector<double>& xs = fitted.samples.points.x;
  const auto at = std::lower_bound(xs.begin(), xs.end(), x);
  return at == xs.end() ? x : *at;
}

std::string growth_words(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend) {
  const Fit& fit = *verdict.chosen;
  const bool later = fit.law == Law::late || fit.law == Law::bend;  // the rate is that after the knot
  const double from = later ? fit.origin + fit.theta[0] * fit.width : fitted.first();
  std::string text = fmt::format("{} by {} per {} since {}", fitted.samples.counts_down ? "shrinks" : "grows",
                                 size(trend.slope.value), x_unit(fitted), place_text(fitted, from));
  if (trend.shape == Shape::accelerating)
    text += fmt::format(": {} per {} at the start, {} at the end", size(fit.slope_at(fitted.first())), x_unit(fitted),
                        size(fit.slope_at(fitted.last())));
  if (trend.period) text += fmt::format(", with a rhythm of {} {}s", step_text(*trend.period), x_unit(fitted));
  if (verdict.bounded != nullptr)
    text += fmt::format("; {} describes it better than {} by {:.0f} points", trend.model,
                        to_string(verdict.bounded->law), verdict.gap);
  return text;
}

/// "13.1 GiB": a difference or a level, without its sign and without digits that are finer than those that the log
/// prints.
std::string amount_text(const FittedSeries& fitted, double bytes) {
  return computed_bytes_text(std::abs(bytes), fitted.series.quantum);
}

/// A value as the log prints it.
std::string value_text(const FittedSeries& fitted, double bytes) {
  return bytes_text(std::abs(bytes), fitted.series.quantum);
}

/// The level of most values.
std::string usual_level_text(const FittedSeries& fitted) { return value_text(fitted, compute_median(fitted.points.y)); }

/// "rises by 2 GiB", in the direction of the printed values. A law may begin below the lowest value.
std::string movement(const FittedSeries& fitted, double way) {
  const double size = std::min(std::abs(way), fitted.series.max_value - fitted.series.min_value);
  return fmt::format("{} by {}", (way > 0) != fitted.samples.counts_down ? "rises" : "falls",
                     amount_text(fitted, size));
}

/// The difference of the levels on the two sides of x, from a few values next to it. The nearest value on each side may
/// be a mean across the jump.
double jump_at(const FittedSeries& fitted, double x) {
  constexpr std::ptrdiff_t beside = 6;  // values
  const std::vector<double>&xs = fitted.points.x, &ys = fitted.points.y;
  const auto at = std::lower_bound(xs.begin(), xs.end(), x) - xs.begin();
  const auto level = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    from = std::clamp<std::ptrdiff_t>(from, 0, std::ssize(ys)), to = std::clamp<std::ptrdiff_t>(to, 0, std::ssize(ys));
    return from < to ? std::optional(compute_median(std::vector<double>(ys.begin() + from, ys.begin() + to)))
                     : std::nullopt;
  };
  const auto before = level(at - beside, at - 1), after = level(at + 1, at + beside);
  return before && after ? *after - *before : 0;
}

/// The height of a jump by the law, or by the values next to it where the law averages over several levels.
double height_of_jump(const FittedSeries& fitted, double x, double by_law) {
  constexpr double alike = 0.25;  // of the height
  const double seen = jump_at(fitted, x);
  return seen == 0 || std::abs(seen - by_law) <= alike * std::abs(by_law) ? by_law : seen;
}

/// True if these values stay at the level, but for a few.
bool stay_at(std::span<const double> values, double level) {
  constexpr double close = 0.1;  // of the level
  constexpr double most = 0.85;  // of the values
  const auto near = std::count_if(values.begin(), values.end(),
                                  [&](double y) { return std::abs(y - level) <= close * std::abs(level); });
  return static_cast<double>(near) >= most * static_cast<double>(values.size());
}

/// The number of values before x.
std::size_t count_before(const FittedSeries& fitted, double x) {
  const std::vector<double>& xs = fitted.samples.points.x;
  return static_cast<std::size_t>(std::lower_bound(xs.begin(), xs.end(), x) - xs.begin());
}

/// True if the values from x on stay at the level: the law may only average over values that do not.
bool stays_at(const FittedSeries& fitted, double x, double level) {
  return stay_at(std::span(fitted.samples.points.y).subspan(count_before(fitted, x)), level);
}

/// True if the values before x are at one level.
bool is_flat_before(const FittedSeries& fitted, double x) {
  const auto& y = fitted.samples.points.y;
  const std::vector<double> values(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count_before(fitted, x)));
  return !values.empty() && stay_at(values, compute_median(values));
}

/// True if the values after a printed position are enough to be a level: a part of the run's values and of its time,
/// in which the values rise no further.
bool shows_level(const FittedSeries& fitted, double printed, double way) {
  constexpr double least = 0.02;      // of the values
  constexpr double least_time = 0.1;  // of the run
  constexpr double still = 0.1;       // of the way to the level: a later rise
  const Samples& work = fitted.samples;
  const auto from = std::upper_bound(work.printed.begin(), work.printed.end(), printed) - work.printed.begin();
  const std::vector<double> level(work.points.y.begin() + from, work.points.y.end());
  const double time = work.points.x.back() - *(work.points.x.begin() + std::min(from, std::ssize(work.points.x) - 1));
  const Points run = points_of_run(fitted);
  if (level.empty() || static_cast<double>(level.size()) < least * static_cast<double>(run.x.size())) return false;
  if (time < least_time * (run.x.back() - run.x.front())) return false;
  const auto half = static_cast<std::ptrdiff_t>(level.size() / 2);
  if (half == 0) return true;
  const double rise = compute_median(std::vector<double>(level.end() - half, level.end())) -
                      compute_median(std::vector<double>(level.begin(), level.begin() + half));
  return rise <= std::max(visible_change(fitted), still * std::abs(way));
}

constexpr double mostly = 0.5;  // of the values

/// The share of the run's values that are far from the level of its working stage.
double share_elsewhere(const FittedSeries& fitted) {
  constexpr double close = 0.1;  // of the level
  if (fitted.stages.empty() || !fitted.samples.earlier_runs.empty()) return 0;
  const double level = std::abs(compute_median(fitted.points.y));
  i64 all = 0, away = 0;
  for (const Bucket& bucket : fitted.series.buckets()) {
    all += bucket.n;
    if (std::abs(bucket.y - level) > close * level) away += bucket.n;
  }
  return all == 0 ? 0 : static_cast<double>(away) / static_cast<double>(all);
}

/// Words about a plain rise; "" if the values show none.
std::string plain_rise_words(const FittedSeries& fitted) {
  const auto rise = find_plain_rise(fitted);
  if (!rise) return {};
  return movement(fitted, rise->way) + ", unevenly" + (rise->to_end ? ", up to the end" : "");
}

/// The values that words about the run describe: those of the working stage, or all of the run if most are not of it.
std::vector<double> described_values(const FittedSeries& fitted) {
  const std::vector<double> run = points_of_run(fitted).y;
  const std::vector<double>& work = fitted.samples.points.y;
  return static_cast<double>(work.size()) < mostly * static_cast<double>(run.size()) ? run : work;
}

/// The root of the mean square of the distances from a level.
double compute_spread(const std::vector<double>& values, double level) {
  double sum = 0;
  for (const double value : values) sum += (value - level) * (value - level);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Where a working stage begins that clearly has another level than the first value; "" if they are alike.
std::string since_words(const FittedSeries& fitted, double level, double spread) {
  constexpr double clear = 3;  // spreads
  const double first = fitted.samples.counts_down ? -fitted.series.first_value : fitted.series.first_value;
  if (!fitted.approach || std::abs(first - level) <= std::max(clear * spread, visible_change(fitted))) return {};
  return " since " + place_text(fitted, fitted.first());
}

/// Values that vary by half of their usual level have none, such as those of several runs. Nor have values of which
/// most are far from the level of the working stage. A few values show no absence of a trend, and a plain rise is one.
std::string varying_words(const FittedSeries& fitted) {
  constexpr std::size_t few = 10;
  if (std::string rise = plain_rise_words(fitted); !rise.empty()) return rise;
  const char* trend = fitted.points.y.size() < few ? "" : ", no trend";
  const std::vector<double> values = described_values(fitted);
  const bool of_work = values.size() == fitted.samples.points.y.size();
  const double level = compute_median(of_work ? fitted.points.y : values);
  const double spread = of_work ? find_fit(fitted, Law::constant)->sigma : compute_spread(values, level);
  if (of_work && spread < fitted.series.quantum && share_elsewhere(fitted) <= mostly)
    return "flat at " + usual_level_text(fitted);  // the values differ by their last digit
  const std::string since = of_work ? since_words(fitted, level, spread) : "";
  if (spread < std::abs(level) / 2 && share_elsewhere(fitted) <= mostly)
    return fmt::format("varies around {} by {}{}{}", value_text(fitted, level), size(spread), since, trend);
  return fmt::format("varies between {} and {}{}", value_text(fitted, fitted.series.min_value),
                     value_text(fitted, fitted.series.max_value), trend);
}

/// Of a series whose law shows a change at its very end. Earlier values that went as far show that it varies.
std::string end_words(const FittedSeries& fitted) {
  constexpr double short_end = 0.05;  // of the values
  constexpr double as_far = 0.5;      // of the way from the usual level to the farthest of the last values
  const std::vector<double>& y = fitted.samples.points.y;
  const std::size_t last =
      std::max<std::size_t>(1, static_cast<std::size_t>(short_end * static_cast<double>(y.size())));
  const std::span<const double> before(y.data(), y.size() - last), end(y.data() + before.size(), last);
  const double level = compute_median({before.begin(), before.end()});
  double way = 0;
  for (const double value : end)
    if (std::abs(value - level) > std::abs(way)) way = value - level;
  const bool alone = std::none_of(before.begin(), before.end(),
                                  [&](double value) { return (value - level) * way >= as_far * way * way; });
  return alone ? "flat, only the last values differ" : varying_words(fitted);
}

/// The difference between the end of the values and the last level of a law of levels, if it is clear compared with the
/// jump to that level: the values have not stayed there. Else 0.
double distance_from_last_level(const FittedSeries& fitted, const Fit& fit, double last_knot) {
  constexpr std::ptrdiff_t fewest = 3;
  constexpr double end = 0.05;   // of the values
  constexpr double clear = 0.5;  // of the jump
  const std::vector<double>& y = fitted.samples.points.y;
  const auto count = std::max(fewest, static_cast<std::ptrdiff_t>(end * static_cast<double>(y.size())));
  if (std::ssize(y) <= count) return 0;
  const double level = fit.at(fitted.last());
  const double jump = level - fit.at(last_knot - fitted.window() / 1000);
  const double away = compute_median(std::vector<double>(y.end() - count, y.end())) - level;
  return away * jump > 0 && std::abs(away) > clear * std::abs(jump) ? away : 0;
}

/// The level of the working stage, where most values of the run are.
std::string flat_words(const FittedSeries& fitted) {
  constexpr double few = 0.25;  // of the values: evaluations and pauses
  const double away = share_elsewhere(fitted);
  if (away > mostly) return varying_words(fitted);
  const std::string text = "flat at " + usual_level_text(fitted);
  return away > few ? fmt::format("{}, but for {:.0f}% of the values", text, 100 * away) : text;
}

/// A level that few values leave. The others may vary around it by more than the last printed digit.
std::string spike_words(const FittedSeries& fitted) {
  constexpr double few = 0.25;  // of the values
  if (share_elsewhere(fitted) > few) return varying_words(fitted);
  const std::vector<double>& y = fitted.samples.points.y;
  const double level = compute_median(y);
  const auto others =
      std::count_if(y.begin(), y.end(), [&](double value) { return std::abs(value - level) > fitted.series.quantum; });
  const std::string text = usual_level_text(fitted);
  const std::size_t apart = fitted.spikes.size(), all = fitted.samples.points.size();
  return others <= std::ssize(fitted.spikes) ? fmt::format("flat at {}, {} of {} values differ", text, apart, all)
                                             : fmt::format("flat around {}, but for {} of {} values", text, apart, all);
}

/// The jumps of the law that describes the working stage.
std::string step_words(const FittedSeries& fitted, const Fit& fit) {
  const std::string last = amount_text(fitted, fit.at(fitted.last()));
  if (fit.theta.empty() || (!has_levels(fit.law) && fit.law != Law::step_line)) return "changes its level to " + last;
  const double knot = fit.origin + fit.theta.front() * fit.width;
  const std::string place = place_text(fitted, seen_at(fitted, knot));
  const double last_knot = fit.origin + fit.theta.back() * fit.width;
  if (!stays_at(fitted, last_knot, fit.at(fitted.last()))) {
    constexpr double short_end = 0.05;  // of the window
    return fitted.last() - last_knot <= short_end * fitted.window() && is_flat_before(fitted, last_knot)
               ? end_words(fitted)
               : varying_words(fitted);
  }
  if (distance_from_last_level(fitted, fit, last_knot) != 0)
    return movement(fitted, fitted.samples.points.y.back() - fitted.samples.points.y.front()) + ", in several jumps";
  // The last level may be only the end of the program, which says nothing about its work.
  constexpr double least_level = 0.1;  // of the window
  const bool short_level = fitted.last() - last_knot < least_level * fitted.window();
  const double last_jump = fit.at(fitted.last()) - fit.at(last_knot - fitted.window() / 1000);
  if (fit.theta.size() > 1 && short_level)
    return fmt::format("changes its level from {} on, and {} to {} at the end", place,
                       (last_jump > 0) != fitted.samples.counts_down ? "rises" : "falls", last);
  if (fit.theta.size() > 1)
    return fmt::format("changes its level {} times from {} on, then flat at {}", fit.theta.size(), place, last);
  const double height =
      height_of_jump(fitted, knot, fit.law == Law::step_line ? fit.beta[2] : fit.beta[1] - fit.beta[0]);
  constexpr double slight = 0.01;  // of all values: what a monitor or a context takes while nothing runs
  if (std::abs(height) < slight * (fitted.series.max_value - fitted.series.min_value)) return varying_words(fitted);
  const bool up = (height > 0) != fitted.samples.counts_down;
  return fmt::format("{} by {} at {}, {} {}", up ? "jumps" : "falls", amount_text(fitted, height), place,
                     short_level ? "to" : "then flat at", last);
}

/// The position at which the chosen law has completed 95 % of its change, if its end is nearly level.
std::optional<double> find_settled(const FittedSeries& fitted, const GrowthVerdict& verdict) {
  if (verdict.doubt == GrowthDoubt::noise || verdict.doubt == GrowthDoubt::records ||
      verdict.doubt == GrowthDoubt::undecided)
    return std::nullopt;
  const Fit& fit = *verdict.chosen;
  const double start = fit.at(fitted.first()), way = fit.at(fitted.last()) - start;
  const double mean = way / fitted.window();
  if (verdict.doubt != GrowthDoubt::levels_off && fit.slope_at(fitted.last()) > growth_limits::levelled * mean)
    return std::nullopt;
  for (int i = 0; i < 200; ++i) {
    const double x = fitted.first() + i / 200.0 * fitted.window();
    if (std::abs(fit.at(x) - start) >= growth_limits::done * std::abs(way)) return x;
  }
  return fitted.last();
}

/// The first value from which on all are at the level, if the law reaches it later: it averages over a faster rise.
double find_level_begin(const FittedSeries& fitted, double by_law, double way) {
  const Points& points = fitted.samples.points;
  const std::ptrdiff_t last = std::max<std::ptrdiff_t>(1, std::ssize(points.y) / 5);
  const double level = compute_median(std::vector<double>(points.y.end() - last, points.y.end()));
  const double near = std::max((1 - growth_limits::done) * std::abs(way), fitted.series.quantum);
  std::size_t first = points.y.size();
  while (first > 0 && std::abs(points.y[first - 1] - level) <= near) --first;
  return first < points.x.size() ? std::min(by_law, points.x[first]) : by_law;
}

/// The way to a level from the first value itself, and where it ends if it ends among the first values. A long series
/// keeps only the mean of its first values, which may be half of the way. nullopt if the series keeps the first value.
struct ExactStart {
  double way = 0;
  std::optional<double> end;
};
std::optional<ExactStart> find_exact_start(const FittedSeries& fitted, double level) {
  const std::vector<Bucket>& buckets = fitted.series.buckets();
  if (buckets.empty() || buckets.front().n < 2 || !fitted.samples.earlier_runs.empty() ||
      fitted.samples.printed.empty())
    return std::nullopt;
  const double begin = fitted.stages.empty() ? fitted.samples.printed.front() : fitted.stages.front().first_step;
  if (begin > buckets.front().x) return std::nullopt;
  const Bucket& first = buckets.front();
  const double sign = fitted.samples.counts_down ? -1 : 1;
  ExactStart out{.way = level - sign * fitted.series.first_value, .end = {}};
  const bool high = (out.way > 0) == (sign > 0);
  if (std::abs(sign * (high ? first.high : first.low) - level) <= (1 - growth_limits::done) * std::abs(out.way))
    out.end = high ? first.x_high : first.x_low;
  return out;
}

/// The size of a warm-up and its end: by the law, or by the values where the law averages over a faster rise.
struct WarmUp {
  double way = 0, end = 0;
};
WarmUp find_rise(const FittedSeries& fitted, WarmUp by_law, double level) {
  constexpr double alike = 0.25;  // of the rise
  const Points& points = fitted.samples.points;
  const auto exact = find_exact_start(fitted, level);
  if (exact && exact->end) return {exact->way, *exact->end};
  const double way = exact ? exact->way : level - points.y.front(), start = level - way;
  const bool seen = std::abs(by_law.way) <= fitted.series.max_value - fitted.series.min_value;
  if (seen && std::abs(by_law.way - way) <= alike * std::abs(way)) return by_law;
  for (std::size_t i = 0; i < points.y.size(); ++i)
    if (std::abs(points.y[i] - start) >= growth_limits::done * std::abs(way)) return {way, points.x[i]};
  return by_law;
}

/// The first value after a printed position.
double value_after(const FittedSeries& fitted, double printed) {
  const Samples& work = fitted.samples;
  const auto after = std::upper_bound(work.printed.begin(), work.printed.end(), printed) - work.printed.begin();
  return work.points.y[std::min(static_cast<std::size_t>(after), work.points.y.size() - 1)];
}

/// How the run reached the level of its working stage.
std::string approach_words(const FittedSeries& fitted, const GrowthVerdict& verdict, Shape shape) {
  Approach approach = *fitted.approach;
  if (const auto start = find_exact_start(fitted, verdict.chosen->at(fitted.last()));
      start && start->way * approach.way > 0) {
    approach.way = start->way;
    if (start->end && approach.done_value <= 1) approach.done_step = *start->end;
  }
  const std::string level = amount_text(fitted, verdict.chosen->at(fitted.last()));
  if (!shows_level(fitted, approach.done_step, approach.way)) return varying_words(fitted);
  if (shape == Shape::saturating && fitted.samples.as_printed())
    approach.done_step = find_level_begin(fitted, approach.done_step, approach.way);
  const std::string place = fmt::format("{} {}", x_unit(fitted), step_text(approach.done_step));
  const bool up = (approach.way > 0) != fitted.samples.counts_down;
  if (shape == Shape::saturating) {
    // At that place a part of the way may be left (see Approach): where it is large, the level comes later.
    constexpr double alike = 0.02;  // of the level
    const double end = verdict.chosen->at(fitted.last());
    return std::abs(end - value_after(fitted, approach.done_step)) > alike * std::abs(end)
               ? fmt::format("{} more slowly after {} and levels off at {}", up ? "rises" : "falls", place, level)
               : fmt::format("levels off at {} after {}", level, place);
  }
  // The way to the level may lead over others: the last jump is then only a part of it.
  constexpr double alike = 0.25;  // of the way
  if (shape == Shape::step && std::abs(approach.last_jump - approach.way) > alike * std::abs(approach.way) &&
      approach.last_jump != 0)
    return fmt::format("changes its level until {}, then flat at {}", place, level);
  const double way = approach.way;
  const std::string_view moves = !up ? "falls" : shape == Shape::step ? "jumps" : "rises";
  return fmt::format("{} by {} {} {}, then flat at {}", moves, amount_text(fitted, way),
                     shape == Shape::step ? "at" : "until", place, level);
}

/// The range of the values if it is below a fiftieth of the level. Such a series is flat for a reader, whatever law
/// fits best. Before the working stage, it must not have come from another level.
std::optional<double> narrow_range(const FittedSeries& fitted) {
  constexpr double narrow = 0.02;
  const auto& values = fitted.samples.points.y;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double range = *high - *low;
  if (fitted.approach && std::abs(fitted.approach->way) > narrow * std::abs(usual_level(fitted))) return std::nullopt;
  return range > 0 && range < narrow * std::abs(usual_level(fitted)) ? std::optional(range) : std::nullopt;
}

/// Of a series that rises again and again by its law, but whose values never fall; "" if they do.
std::string words_without_falls(const FittedSeries& fitted) {
  constexpr double short_end = 0.05;  // of the values
  const std::vector<double>& y = fitted.samples.points.y;
  const double change = visible_change(fitted);
  double highest = y.front();
  for (const double value : y) {
    if (value < highest - change) return {};
    highest = std::max(highest, value);
  }
  const auto after =
      static_cast<double>(std::count_if(y.begin(), y.end(), [&](double value) { return value > y.front() + change; }));
  return after <= std::max(1.0, short_end * static_cast<double>(y.size())) ? end_words(fitted) : varying_words(fitted);
}

/// True for a period of a few values whose neighbours differ by little: it is that of the noise around a level.
bool is_rhythm_of_noise(const FittedSeries& fitted, double period) {
  constexpr double few = 4;        // values
  constexpr double little = 0.05;  // of the range
  const std::vector<double>& y = fitted.samples.points.y;
  if (y.size() < 2 || period * static_cast<double>(y.size()) > few * fitted.window()) return false;
  std::vector<double> steps;
  for (std::size_t i = 1; i < y.size(); ++i) steps.push_back(std::abs(y[i] - y[i - 1]));
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  return compute_median(steps) < little * (*high - *low);
}

std::string shape_words(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend) {
  constexpr double least_periods = 3;
  const Fit& fit = *verdict.chosen;
  const double way = fit.at(fitted.last()) - fit.at(fitted.first());
  const bool came = trend.shape == Shape::warmup || trend.shape == Shape::step || trend.shape == Shape::saturating;
  if (const auto range = narrow_range(fitted); range && trend.shape == Shape::saturating)
    return fmt::format("flat at {}, within {}", usual_level_text(fitted), amount_text(fitted, *range));
  if (fitted.approach && came && fitted.approach->decides)
    return stays_at(fitted, fitted.first(), fit.at(fitted.last())) ? approach_words(fitted, verdict, trend.shape)
                                                                   : varying_words(fitted);
  switch (trend.shape) {
    case Shape::flat:
      return flat_words(fitted);
    case Shape::spike:
      if (verdict.doubt == GrowthDoubt::open_end)
        return stay_at(fitted.samples.points.y, compute_median(fitted.samples.points.y)) ? end_words(fitted)
                                                                                         : varying_words(fitted);
      return spike_words(fitted);
    case Shape::noisy:
      // The law may describe a part of the series only: it falls if the series does.
      if (const bool less = fitted.series.last_value < fitted.series.first_value;
          way < -min_relevant_growth(fitted) && less != fitted.samples.counts_down)
        return movement(fitted, way);
      return varying_words(fitted);
    case Shape::sawtooth:
      if (trend.period && is_rhythm_of_noise(fitted, *trend.period))
        return stay_at(fitted.samples.points.y, compute_median(fitted.samples.points.y)) ? flat_words(fitted)
                                                                                         : varying_words(fitted);
      if (const auto words = words_without_falls(fitted); !words.empty()) return words;
      // Two rises that look alike are not a rhythm yet.
      return trend.period && fitted.window() >= least_periods * *trend.period
                 ? fmt::format("rises and falls every {} {}s, the floor stays", step_text(*trend.period),
                               x_unit(fitted))
                 : "rises and falls, the floor stays";
    case Shape::step:
      return step_words(fitted, fit);
    default:
      break;
  }
  if (const auto settled = find_settled(fitted, verdict)) {
    const double level = fit.at(fitted.last());
    if (!stays_at(fitted, *settled, level)) return varying_words(fitted);
    if (trend.shape != Shape::warmup && !shows_level(fitted, find_position(fitted.samples, *settled).step, way))
      return movement(fitted, way) + ", ever more slowly";
    if (trend.shape != Shape::warmup)
      return fmt::format("levels off at {} after {}", amount_text(fitted, level),
                         place_text(fitted, find_level_begin(fitted, *settled, way)));
    const auto [rise, end] = find_rise(fitted, {way, *settled}, level);
    return fmt::format("{} until {}, then flat at {}", movement(fitted, rise), place_text(fitted, end),
                       amount_text(fitted, level));
  }
  return movement(fitted, way) + ", ever more slowly";
}

std::string slight_words() { return fmt::format("less than {:.0f}% of the capacity", 100 * limits::capacity_share); }

/// Of a series that rises for as long as it is seen, but by little; "" of any other one, and of few values.
std::string small_rise_words(const FittedSeries& fitted, const GrowthVerdict& verdict) {
  constexpr double steady = 0.5;   // of the range of the values
  constexpr std::size_t few = 30;  // values, whose rise may be that of their noise
  if (verdict.doubt != GrowthDoubt::small || verdict.growing == nullptr || fitted.samples.counts_down) return {};
  if (fitted.samples.points.size() < few) return {};
  const double growth = measure_rise(*verdict.growing, fitted).value;
  const auto [low, high] = std::minmax_element(fitted.samples.points.y.begin(), fitted.samples.points.y.end());
  if (growth < steady * (*high - *low) || growth >= limits::capacity_share * fitted.options.capacity.value_or(0))
    return {};
  return fmt::format("{} since {}; that is {}", movement(fitted, growth), place_text(fitted, fitted.first()),
                     slight_words());
}

/// What the tests of the growing law leave open. Of a plain rise, it is only its size or its future.
std::string doubt_words(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend,
                        const std::optional<PlainRise>& said) {
  constexpr std::size_t many = 200;  // values
  const auto is_slight = [&](double bytes) {
    return !fitted.samples.counts_down && bytes < limits::capacity_share * fitted.options.capacity.value_or(0);
  };
  const std::string slight = slight_words();
  if (said && is_slight(said->way)) return "; that is " + slight;
  if (said) return verdict.doubt == GrowthDoubt::none ? "" : "; the log does not show whether it continues";
  switch (verdict.doubt) {
    case GrowthDoubt::undecided:
      return fitted.samples.points.size() < many ? "; too few values to rule out slow growth"
                                                 : "; slow growth is not ruled out";
    case GrowthDoubt::small: {
      const double growth = measure_rise(*verdict.growing, fitted).value;
      return fmt::format("; growth of {} is {}", size(growth), is_slight(growth) ? slight : "too small to matter");
    }
    case GrowthDoubt::noise:
      return fmt::format("; a leak below {} per {} would be hidden in the noise", size(trend.detectable_slope),
                         x_unit(fitted));
    case GrowthDoubt::records:
      return "; as a maximum it sets no more new records than chance does";
    default:
      return "";
  }
}

}  // namespace

std::string release_words(const FittedSeries& fitted, const Trend& trend) {
  const auto release = std::find_if(trend.stages.rbegin(), trend.stages.rend(),
                                    [](const Stage& stage) { return stage.kind != StageKind::idle; });
  if (release == trend.stages.rend() || release->kind != StageKind::release) return {};
  std::string text = fmt::format("released at {} {}", x_unit(fitted), step_text(release->first_step));
  if (!fitted.samples.counts_down) text += ": back to " + value_text(fitted, fitted.series.last_value);
  return text;
}

std::string describe_trend(const FittedSeries& fitted, const GrowthVerdict& verdict, const Trend& trend) {
  const std::string& release = trend.release;
  if (verdict.leak) return growth_words(fitted, verdict, trend) + (release.empty() ? "" : "; " + release);
  if (!release.empty()) return release;  // the level of the work, which the shape describes, is not that of the end
  if (const std::string rise = small_rise_words(fitted, verdict); !rise.empty()) return rise;
  const std::string shape = shape_words(fitted, verdict, trend);
  const bool says_rise = !shape.empty() && shape == plain_rise_words(fitted);
  return shape + doubt_words(fitted, verdict, trend, says_rise ? find_plain_rise(fitted) : std::nullopt);
}

std::optional<double> find_equal_rise(const FittedSeries& fitted) {
  constexpr double clear = 20;    // quanta: smaller rises are equal by their rounding alone
  constexpr double large = 0.02;  // of the last value
  const std::vector<double>& y = fitted.samples.points.y;
  if (y.size() < 3 || fitted.samples.counts_down) return std::nullopt;
  const double last = y[y.size() - 1] - y[y.size() - 2], before = y[y.size() - 2] - y[y.size() - 3];
  const double quantum = fitted.samples.points.quantum;
  const bool equal =
      (last == before || std::abs(last - before) < quantum / 2) && last > clear * quantum && last > large * y.back();
  return equal ? std::optional(last) : std::nullopt;
}

std::string describe_start(const FittedSeries& fitted) {
  const double last = fitted.series.last_value;
  if (!fitted.samples.counts_down && last - fitted.series.first_value < fitted.series.max_value - last)
    return "rose and was freed again, so growth is unknown";
  if (const auto rise = find_equal_rise(fitted))
    return fmt::format("the last rises are all {}, to the last digit; that may still be the start of the program",
                       amount_text(fitted, *rise));
  return fmt::format("{} from {} on; that may be only the start of the program, so growth is unknown",
                     fitted.samples.counts_down ? "falls" : "rises",
                     place_text(fitted, fitted.samples.points.x.front()));
}

bool rises_to_mention(const FittedSeries& fitted) {
  const Points& points = fitted.samples.points;
  if (points.size() < limits::min_to_mention) return false;
  const bool rises = std::is_sorted(points.y.begin(), points.y.end()) && points.y.back() > points.y.front();
  double less = std::abs(points.y.front()), more = std::abs(points.y.back());
  if (fitted.samples.counts_down) std::swap(less, more);
  return rises && less > 0 && (more >= limits::worth_mention * less || points.size() >= limits::min_values);
}

std::string describe_short_series(const FittedSeries& fitted) {
  const Points& points = fitted.samples.points;
  if (points.size() < 2) return "too few values for a trend";
  const double first = std::abs(points.y.front()), last = std::abs(points.y.back());
  if (const auto rise = find_equal_rise(fitted))
    return fmt::format("the last rises are all {}, to the last digit, as if each step kept the same once more",
                       amount_text(fitted, *rise));
  if (rises_to_mention(fitted))
    return fmt::format("{} by {:.0f}% over {} values: too few to distinguish {}",
                       fitted.samples.counts_down ? "falls" : "rises", 100 * std::abs(last / first - 1), points.size(),
                       fitted.series.has_steps ? "a leak from a warm-up" : "growth from loading");
  return fmt::format("{} values: too few for a trend", points.size());
}

}  // namespace oomdoctor
