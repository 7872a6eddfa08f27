// Explains why a run needs more memory. It claims only what the logs decide: a setting explains growth only if no
// setting of unknown effect differs too, and if its effect can be that large.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "compare/comparison.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// The growth of a series over its whole length.
double own_growth(const ReportSeries& of) { return std::max(0.0, of.last_value - of.first_value); }

/// The bad run grows by itself, and its growth is at least half of the difference.
std::optional<Explanation> growth_explanation(Comparison& all, const SeriesComparison& main) {
  const ReportSeries &good = main.good, &bad = main.bad;
  if (!bad.trend.leak || 2 * own_growth(bad) < measure_growth(main)) return std::nullopt;
  const std::string pace = fmt::format("{} a {}", estimate_text(bad.trend.slope), bad.x_unit);
  if (!good.trend.leak && good.trend.shape != "too_short") {
    all.because.push_back(fmt::format("it grows by {} in the bad run and does not in the good one ({})", pace,
                                      shape_words(good.trend.shape)));
    return Explanation::growth;
  }
  if (!good.trend.leak) return std::nullopt;
  if (main.slope.change == Change::more) {
    all.because.push_back(
        fmt::format("it grows by {} in the bad run, and by {} in the good one", pace, estimate_text(good.trend.slope)));
    return Explanation::growth;
  }
  const auto length = [](const ReportSeries& of) { return of.last_step.value_or(0) - of.first_step.value_or(0); };
  if (main.slope.change != Change::same || length(bad) <= length(good)) return std::nullopt;
  all.because.push_back(
      fmt::format("it grows alike in both, by {}, and the bad log covers {} {}s where the good one covers {}", pace,
                  step_text(length(bad)), bad.x_unit, step_text(length(good))));
  return Explanation::longer_run;
}

/// The cache grew, but the tensors of the same process did not.
bool only_cache_grew(const Comparison& all, const SeriesComparison& main) {
  if (main.good.metric != "reserved" && main.good.metric != "max_reserved") return false;
  const std::string_view tensors = main.good.metric == "reserved" ? "allocated" : "max_allocated";
  return std::any_of(all.series.begin(), all.series.end(), [&](const SeriesComparison& s) {
    return s.good.metric == tensors && s.good.rank == main.good.rank && s.good.device == main.good.device &&
           s.peak.change == Change::same;
  });
}

/// A difference that increases the memory need.
struct Raise {
  std::string text;
  std::optional<double> factor;
};

std::vector<Raise> find_raises(const Comparison& all) {
  std::vector<Raise> raises;
  for (const auto& setting : all.settings)
    if (setting.need == Change::more) raises.push_back({change_text(setting), setting.factor});
  for (const auto& input : all.input_lengths)
    if (input.peak.change == Change::more)
      raises.push_back(
          {fmt::format("longest input {} → {}", step_text(*input.peak.good), step_text(*input.peak.bad)), {}});
  return raises;
}

std::string join_names(const std::vector<Raise>& raises) {
  std::vector<std::string> names;
  for (const Raise& raise : raises) names.push_back(raise.text);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Records why no setting explains the growth.
Explanation undetermined(Comparison& all, const std::vector<Raise>& raises, const std::vector<std::string>& unknown) {
  const bool silent = all.good.settings.empty() || all.bad.settings.empty();
  if (silent) all.because.emplace_back("not both logs print settings");
  if (!raises.empty()) all.because.push_back(fmt::format("this needs more memory: {}", join_names(raises)));
  if (!unknown.empty())
    all.because.push_back(fmt::format("what this does to memory is not known: {}", fmt::join(unknown, ", ")));
  if (!silent && raises.empty() && unknown.empty())
    all.because.emplace_back("nothing that both logs print differs and needs more");
  return Explanation::undetermined;
}

// The factors of all differences multiply to the largest growth that they can explain. More growth than that, or a
// difference of unknown effect, leaves the explanation open.
Explanation setting_explanation(Comparison& all, const SeriesComparison& main) {
  constexpr double tolerance = 0.05;  // for workspaces, and blocks that are rounded up
  const auto raises = find_raises(all);
  std::vector<std::string> unknown;
  for (const auto& setting : all.settings)
    if (setting.need == Change::unknown) unknown.push_back(change_text(setting));
  if (raises.empty() || !unknown.empty()) return undetermined(all, raises, unknown);
  std::optional<double> factor = 1;
  for (const Raise& raise : raises)
    factor = factor && raise.factor ? std::optional(*factor * *raise.factor) : std::nullopt;
  const Figure& figure = main.peak.change == Change::more ? main.peak : main.steady;
  if (factor && figure.good) {
    const double growth = measure_growth(main) / *figure.good + 1;
    all.because.push_back(fmt::format("{} can need {:.3g} times as much at most, and it is {:.3g} times as much",
                                      raises.size() == 1 ? "that" : "these together", *factor, growth));
    if (growth > *factor * (1 + tolerance)) return undetermined(all, raises, unknown);
  }
  if (raises.size() > 1) return Explanation::settings;
  return all.input_lengths.empty() || raises.front().factor ? Explanation::setting : Explanation::inputs;
}

// From the most to the least specific explanation: growth of the run itself, cache, settings.
Explanation find_explanation(Comparison& all) {
  if (all.series.empty()) {
    all.because.emplace_back("no memory series is in both logs");
    return Explanation::undetermined;
  }
  if (!all.grew) {
    if (only_bad_failed(all) && all.good_capacity && all.bad_capacity && *all.bad_capacity < *all.good_capacity) {
      all.because.push_back(fmt::format("the bad run had {} to live in, the good one {}", bytes_text(*all.bad_capacity),
                                        bytes_text(*all.good_capacity)));
      return Explanation::smaller_gpu;
    }
    return only_bad_failed(all) ? Explanation::undetermined : Explanation::nothing_grew;
  }
  const SeriesComparison& main = all.series.front();
  if (const auto growth = growth_explanation(all, main)) return *growth;
  if (only_cache_grew(all, main)) {
    all.because.emplace_back("tensors reach the same peak in both runs: only the allocator's cache grew");
    return Explanation::cache;
  }
  return setting_explanation(all, main);
}

std::string explanation_words(const Comparison& all) {
  switch (all.explanation) {
    case Explanation::nothing_grew:
      return "";
    case Explanation::growth:
      return "it grows step by step in the bad run";
    case Explanation::longer_run:
      return "both grow alike, and the bad run ran for longer";
    case Explanation::cache:
      return "the allocator's cache grew, the tensors did not";
    case Explanation::setting:
    case Explanation::inputs:
      return "the one printed difference that needs more is " + join_names(find_raises(all));
    case Explanation::settings:
      return "the printed differences that need more are " + join_names(find_raises(all));
    case Explanation::smaller_gpu:
      return "the bad run had a smaller device";
    case Explanation::undetermined:
      return "why is undetermined";
  }
  return "";
}

std::string what_grew(const Comparison& all) {
  if (all.series.empty()) return "there is nothing to compare";
  if (!all.grew) return only_bad_failed(all) ? "nothing grew up to the failure" : "nothing grew";
  const SeriesComparison& main = all.series.front();
  const std::string& title = main.title;
  const bool peak = main.peak.change == Change::more;
  if (!peak && measure_growth(main) != std::fabs(main.steady.difference()))
    return title + " grows, and peaks no higher yet";
  const Figure& figure = peak ? main.peak : main.steady;
  std::string text = fmt::format("{} {} {} instead of {}", title, peak ? "reaches" : "settles at",
                                 value_text(main.bad, *figure.bad), value_text(main.good, *figure.good));
  if (*figure.good > 0 && main.good.unit != "%") text += " (" + relative_text(figure) + ")";
  return text;
}

}  // namespace

void explain(Comparison& comparison) {
  comparison.explanation = find_explanation(comparison);
  const std::string grew = what_grew(comparison), why = explanation_words(comparison);
  comparison.headline = why.empty() || comparison.series.empty() ? grew : grew + "; " + why;
}

}  // namespace oomdoctor
