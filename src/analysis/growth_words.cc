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

std::string growth_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  const Fit& fit = *verdict.chosen;
  const double rise = rise_of(fit, scene).value;
  std::string text =
      fmt::format("{} by {} over {} values, {} per step", scene.samples.counts_down ? "shrinks" : "grows", size(rise),
                  scene.samples.points.size(), size(trend.slope.value));
  if (trend.shape == Shape::accelerating)
    text += fmt::format(" on average, {} per step at the start and {} at the end", size(fit.slope_at(scene.first())),
                        size(fit.slope_at(scene.last())));
  if (trend.onset_step) text += fmt::format(", since about step {}", step_text(*trend.onset_step));
  if (trend.period) text += fmt::format(", under a rhythm of {} steps", step_text(*trend.period));
  const Fit* line = fit_of(scene, Law::linear);
  if (trend.shape == Shape::accelerating && line != nullptr)
    text += fmt::format("; {} describes it better than a straight line by {:.0f} points", trend.model,
                        line->score - fit.score);
  else if (verdict.bounded != nullptr)
    text += fmt::format("; better described than by {} by {:.0f} points", to_string(verdict.bounded->law), verdict.gap);
  if (scene.options.failure_step && scene.options.capacity && !scene.samples.counts_down)
    text += fmt::format("; at the failure the trend stands at {} of {}", size(fit.at(*scene.options.failure_step)),
                        size(*scene.options.capacity));
  return text;
}

std::string shape_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  const Fit& fit = *verdict.chosen;
  const double way = fit.at(scene.last()) - fit.at(scene.first());
  switch (trend.shape) {
    case Shape::flat:
      return fmt::format("flat at {}", size(std::abs(level_of(scene))));
    case Shape::spike:
      return fmt::format("{} of {} values stand out, the rest stays level", scene.spikes.size(),
                         scene.samples.points.size());
    case Shape::noisy:
      if (way < -least_growth(scene))
        return fmt::format("{} by {}", scene.samples.counts_down ? "rises" : "falls", size(-way));
      return fmt::format("wavers by {} about {}", size(fit_of(scene, Law::constant)->sigma), size(level_of(scene)));
    case Shape::sawtooth:
      return trend.period ? fmt::format("rises and falls every {} steps, the floor stays", step_text(*trend.period))
                          : "rises and falls, the floor stays";
    case Shape::step:
      return trend.change_points.empty() ? "changes its level and stays there"
                                         : fmt::format("jumps by {} at step {} and stays there", size(way),
                                                       step_text(trend.change_points.front()));
    case Shape::warmup:
      return fmt::format("rises by {} at the start and stays there", size(way));
    default:
      return fmt::format("rises by {} and levels off", size(way));
  }
}

std::string doubt_words(const Scene& scene, const GrowthVerdict& verdict, const Trend& trend) {
  switch (verdict.doubt) {
    case GrowthDoubt::undecided:
      return "; growth describes it about as well: undecided";
    case GrowthDoubt::small:
      return fmt::format("; growth of {} is too little to matter", size(rise_of(*verdict.growing, scene).value));
    case GrowthDoubt::noise:
      return fmt::format("; the growth seen is within the noise, a leak under {} per step cannot be excluded",
                         size(trend.detectable_slope));
    case GrowthDoubt::levels_off:
      return "; the last third hardly grows any more";
    case GrowthDoubt::records:
      return "; as a maximum that cannot fall it sets no more new records than chance";
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
