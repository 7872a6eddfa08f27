// One line, numbers first, in the unit that fits them. It says what was seen and against what it was weighed; advice is
// for the rules.
#include "analysis/growth_words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/growth_limits.h"
#include "base/bytes.h"

namespace oomdoctor {

namespace {

std::string size(double bytes) { return bytes_text(whole_number(std::round(bytes))); }

std::string step_text(double step) { return fmt::format("{}", whole_number(std::round(step))); }

/// What the positions of the series count.
std::string_view unit_of(const Scene& scene) {
  if (scene.samples.by_order) return "value";
  return scene.series.has_times ? "second" : scene.series.has_steps ? "step" : "value";
}

/// "step 120" as the log prints it; where the log counts anew or not at all, which value it is.
std::string place_text(const Scene& scene, double x) {
  const Place place = place_of(scene.samples, x);
  if (scene.samples.as_printed()) return fmt::format("{} {}", unit_of(scene), step_text(place.step));
  const std::string value = fmt::format("value {}", place.value);
  return scene.samples.by_order ? value : fmt::format("{}, {} {}", value, unit_of(scene), step_text(place.step));
}

std::string growth_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  const Fit& fit = *verdict.chosen;
  const double rise = trend.slope.value * scene.window();
  std::string text = fmt::format("{} by {} over {} values, {} per {}", scene.samples.counts_down ? "shrinks" : "grows",
                                 size(rise), scene.samples.points.size(), size(trend.slope.value), unit_of(scene));
  if (trend.shape == Shape::accelerating)
    text += fmt::format(" on average, {} per {} at the start and {} at the end", size(fit.slope_at(scene.first())),
                        unit_of(scene), size(fit.slope_at(scene.last())));
  if (fit.law == Law::late)
    text += fmt::format(", since about {}", place_text(scene, fit.origin + fit.theta[0] * fit.width));
  if (trend.period) text += fmt::format(", under a rhythm of {} {}s", step_text(*trend.period), unit_of(scene));
  const Fit* line = fit_of(scene, Law::linear);
  if (trend.shape == Shape::accelerating && line != nullptr)
    text += fmt::format("; {} describes it better than a straight line by {:.0f} points", trend.model,
                        line->score - fit.score);
  else if (verdict.bounded != nullptr)
    text += fmt::format("; better described than by {} by {:.0f} points", to_string(verdict.bounded->law), verdict.gap);
  if (scene.options.failure_step && scene.options.capacity && !scene.samples.counts_down && scene.samples.as_printed())
    text += fmt::format("; at the failure the trend stands at {} of {}", size(fit.at(*scene.options.failure_step)),
                        size(*scene.options.capacity));
  return text;
}

/// "rises by 2 GiB", in the direction of the printed values.
std::string movement(const Scene& scene, double way) {
  return fmt::format("{} by {}", (way > 0) != scene.samples.counts_down ? "rises" : "falls", size(std::abs(way)));
}

/// One jump with its height and its place; more of them with their number and the first place.
std::string step_words(const Scene& scene, const Fit& fit) {
  if (!has_levels(fit.law) && fit.law != Law::step_line) return "changes its level and stays there";
  const std::string place = place_text(scene, fit.origin + fit.theta.front() * fit.width);
  if (fit.theta.size() > 1) return fmt::format("changes its level {} times, first at {}", fit.theta.size(), place);
  const double height = fit.law == Law::step_line ? fit.beta[2] : fit.beta[1] - fit.beta[0];
  const bool up = (height > 0) != scene.samples.counts_down;
  return fmt::format("{} by {} at {} and stays there", up ? "jumps" : "falls", size(std::abs(height)), place);
}

/// How the rise of a law that grows without a bound nowhere ends: only what is nearly level at its end levels off.
std::string end_words(const Scene& scene, const GrowthVerdict& verdict) {
  if (verdict.doubt == GrowthDoubt::noise || verdict.doubt == GrowthDoubt::records ||
      verdict.doubt == GrowthDoubt::undecided)
    return "";
  if (verdict.doubt == GrowthDoubt::levels_off) return " and levels off";
  const Fit& fit = *verdict.chosen;
  const double mean = (fit.at(scene.last()) - fit.at(scene.first())) / scene.window();
  const bool level = fit.slope_at(scene.last()) <= growth_limits::levelled * mean;
  return level ? " and levels off" : ", ever more slowly";
}

std::string shape_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  const Fit& fit = *verdict.chosen;
  const double way = fit.at(scene.last()) - fit.at(scene.first());
  switch (trend.shape) {
    case Shape::flat:
      return fmt::format("flat at {}", size(std::abs(level_of(scene))));
    case Shape::spike:
      if (verdict.doubt == GrowthDoubt::open_end) return "only the last values stand out";
      return fmt::format("{} of {} values stand out, the rest stays level", scene.spikes.size(),
                         scene.samples.points.size());
    case Shape::noisy:
      if (way < -least_growth(scene)) return movement(scene, way);
      return fmt::format("wavers by {} about {}", size(fit_of(scene, Law::constant)->sigma), size(level_of(scene)));
    case Shape::sawtooth:
      return trend.period ? fmt::format("rises and falls every {} {}s, the floor stays", step_text(*trend.period),
                                        unit_of(scene))
                          : "rises and falls, the floor stays";
    case Shape::step:
      return step_words(scene, fit);
    case Shape::warmup:
      // From the first value itself: the points of a long series are means, and the start is gone in the first of them.
      return movement(scene, fit.at(scene.last()) - scene.samples.points.y.front()) + " at the start and stays there";
    default:  // what levels off has risen by the law that would have gone on
      return movement(scene, verdict.doubt == GrowthDoubt::levels_off ? rise_of(*verdict.growing, scene).value : way) +
             end_words(scene, verdict);
  }
}

std::string doubt_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  switch (verdict.doubt) {
    case GrowthDoubt::undecided:
      return trend.shape == Shape::saturating ? "; whether it levels off is undecided"
                                              : "; growth describes it about as well: undecided";
    case GrowthDoubt::small:
      return fmt::format("; growth of {} is too little to matter", size(rise_of(*verdict.growing, scene).value));
    case GrowthDoubt::noise:
      return fmt::format("; the growth seen is within the noise, a leak under {} per {} cannot be excluded",
                         size(trend.detectable_slope), unit_of(scene));
    case GrowthDoubt::open_end:
      return "; without them nothing grows";
    case GrowthDoubt::levels_off:
      return "; the last third hardly grows any more";
    case GrowthDoubt::records:
      return scene.series.kind == SeriesKind::running_maximum
                 ? "; as a maximum that cannot fall it sets no more new records than chance"
                 : "; it never falls and sets no more new records than chance";
    default:
      return "";
  }
}

}  // namespace

std::string words_for(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  if (verdict.leak) return growth_words(scene, verdict, trend);
  return shape_words(scene, verdict, trend) + doubt_words(scene, verdict, trend);
}

std::string words_for_short(const Scene& scene) {
  const Points& points = scene.samples.points;
  if (points.size() < 2) return "too few values for a trend";
  return fmt::format("{} values from {} to {}: too few for a trend", points.size(), size(std::abs(points.y.front())),
                     size(std::abs(points.y.back())));
}

}  // namespace oomdoctor
