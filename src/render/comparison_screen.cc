// The comparison: on a terminal, with the verdict last, and with the verdict first as Markdown and for coding agents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/bytes.h"
#include "render/agent.h"
#include "render/layout.h"
#include "render/screens.h"
#include "report/escape.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t series_shown = 8;  ///< if there are many ranks, unless -v asks for all

std::string inputs_text(const Report& report) {
  if (report.inputs.size() != 1)
    return plural(static_cast<i64>(report.inputs.size()), "log", "logs") +
           (report.inputs.empty() ? "" : ", " + report.inputs.front().path + " and others");
  return fmt::format("{}, {}", report.inputs.front().path, plural(report.inputs.front().lines, "line", "lines"));
}

std::string run_text(const Report& report) {
  const Verdict& verdict = report.verdict;
  std::string text = fmt::format("{}; {}", inputs_text(report), verdict_words(report));
  return verdict.outcome == Outcome::no_oom ? text : text + ": " + verdict.headline;
}

/// For example "10.31 → 14.90 GiB  +4.59 GiB (+45%)", "10.31 GiB in both".
std::string figure_text(const SeriesComparison& series, const Figure& figure) {
  const auto text = [&](double value) { return value_text(series.good, value); };
  if (!figure.good || !figure.bad) {
    const auto side = [&](const std::optional<double>& value) { return value ? text(*value) : "none"; };
    return fmt::format("{} → {}", side(figure.good), side(figure.bad));
  }
  if (text(*figure.good) == text(*figure.bad)) return text(*figure.good) + " in both";
  std::string out = fmt::format("{} → {}", text(*figure.good), text(*figure.bad));
  if (figure.change == Change::same) return out + "  no more than the values scatter";
  out += fmt::format("  {}{}", figure.difference() > 0 ? "+" : "", text(figure.difference()));
  if (*figure.good > 0) out += " (" + relative_text(figure) + ")";
  return out;
}

std::string slope_text(const SeriesComparison& series) {
  const ReportTrend &before = series.good.trend, &after = series.bad.trend;
  if (before.shape == after.shape && !is_growth(before) && !is_growth(after))
    return shape_words(before.shape) + " in both";  // the lines above have the numbers
  const std::string good = trend_words(series.good), bad = trend_words(series.bad);
  return good == bad ? good + " in both" : good + " → " + bad;
}

/// The printed lines of one series, in their order.
struct FigureLine {
  std::string_view name;
  std::string text;
  bool grew = false;
};

std::vector<FigureLine> make_lines(const SeriesComparison& series) {
  std::vector<FigureLine> lines;
  const auto is_known = [](const Figure& f) { return f.good || f.bad; };
  if (is_known(series.peak))
    lines.push_back({"peak", figure_text(series, series.peak), series.peak.change == Change::more});
  if (is_known(series.steady))
    lines.push_back({"level", figure_text(series, series.steady), series.steady.change == Change::more});
  if (is_known(series.slope)) lines.push_back({"course", slope_text(series), series.slope.change == Change::more});
  return lines;
}

std::string locations_text(const SeriesComparison& series) {
  return fmt::format("{}, {}", place(series.good.last), place(series.bad.last));
}

std::string effect_text(const SettingComparison& setting) {
  switch (setting.need) {
    case Change::more:
      return setting.factor ? fmt::format("needs more, at most {:.3g} times as much", *setting.factor) : "needs more";
    case Change::less:
      return "needs less";
    case Change::same:
      return "makes no difference to memory";
    case Change::unknown:
      return setting.good && setting.bad ? "what that does to memory is not known" : "what the other has is not known";
  }
  return "";
}

std::string locations_text(const SettingComparison& setting) {
  std::vector<std::string> at;
  for (const auto* side : {&setting.good, &setting.bad})
    if (*side) at.push_back(place((*side)->location));
  return fmt::format("{}", fmt::join(at, ", "));
}

/// The first names of a long list, with the number of the others.
std::string first_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), series_shown);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  return shown == names.size() ? text : text + fmt::format("; and {} more", names.size() - shown);
}

/// Differences other than settings.
std::vector<std::string> other_differences(const Comparison& all) {
  std::vector<std::string> lines;
  for (const auto& input : all.input_lengths)
    if (input.peak.change == Change::more || input.peak.change == Change::less)
      lines.push_back(fmt::format("longest input {} → {}", step_text(*input.peak.good), step_text(*input.peak.bad)));
  if (all.good_capacity && all.bad_capacity && *all.good_capacity != *all.bad_capacity)
    lines.push_back(
        fmt::format("device memory {} → {}", bytes_text(*all.good_capacity), bytes_text(*all.bad_capacity)));
  if (!all.only_good.empty()) lines.push_back("only GOOD prints " + first_names(all.only_good));
  if (!all.only_bad.empty()) lines.push_back("only BAD prints " + first_names(all.only_bad));
  if (const auto more = all.good.more_series + all.bad.more_series; more > 0)
    lines.push_back(fmt::format("left out: {} of very many ranks", plural(more, "series", "series")));
  return lines;
}

std::string outcome_text(const Comparison& all) {
  if (all.series.empty()) return "NOT COMPARED";
  return all.grew ? "GREW" : "DID NOT GROW";
}

std::string limit_text(const Comparison& all, const CheckedLimit& limit) {
  if (!limit.told) return "the runs share no such series";
  if (limit.beyond.empty()) return "kept";
  std::vector<std::string> names;
  for (const std::size_t i : limit.beyond) names.push_back(all.series[i].title);
  return "exceeded by " + first_names(names);
}

void add_series(Page& page, const Comparison& all, bool whole) {
  if (all.series.empty()) return;
  page.heading("Memory");
  const std::size_t shown = whole ? all.series.size() : std::min(all.series.size(), series_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const SeriesComparison& series = all.series[i];
    page.text("  ", fmt::format("{}  [{}]", plain_line(series.title), plain_line(locations_text(series))));
    for (const FigureLine& line : make_lines(series))
      page.text(fmt::format("    {:<7} ", line.name),
                line.grew ? page.paint.bold(plain_line(line.text)) : plain_line(line.text));
  }
  if (shown < all.series.size())
    page.text("  ", fmt::format("{} more with -v", count_text(static_cast<i64>(all.series.size() - shown))));
}

void add_differences(Page& page, const Comparison& all) {
  const auto others = other_differences(all);
  page.heading(all.settings.empty() && others.empty() ? "Nothing else that is printed differs" : "What else differs");
  for (const SettingComparison& setting : all.settings)
    page.text("  ",
              fmt::format("{}  {}  [{}]", plain_line(change_text(setting)), effect_text(setting),
                          plain_line(locations_text(setting))),
              4);
  for (const std::string& line : others) page.text("  ", plain_line(line), 4);
  if (all.same_settings > 0)
    page.text("  ", plural(static_cast<i64>(all.same_settings), "setting is the same", "settings are the same"));
}

}  // namespace

std::string comparison_screen(const Comparison& all, const RenderOptions& view) {
  Page page(view.width, Paint{view.color, view.ascii});
  page.text("GOOD  ", plain_line(run_text(all.good)));
  page.text("BAD   ", plain_line(run_text(all.bad)));
  add_series(page, all, view.verbose);
  add_differences(page, all);
  std::string rule;
  for (int i = 0; i < page.width(); ++i) rule += "─";
  page.line(page.paint.dim(rule));
  const std::string outcome = outcome_text(all);
  page.text("", fmt::format("{}  {}", all.grew ? page.paint.warning(outcome) : page.paint.bold(outcome),
                            plain_line(all.headline)));
  for (const std::string& reason : all.because) page.text("  ", plain_line(reason), 4);
  for (const CheckedLimit& limit : all.limits)
    page.text(fmt::format("  {}  ", plain_line(limit.text)), plain_line(limit_text(all, limit)));
  return page.str();
}

std::string comparison_markdown(const Comparison& all) {
  std::string out = fmt::format("## {}\n\n**{}**\n\n", outcome_text(all), markdown_inline(all.headline));
  for (const std::string& reason : all.because) out += fmt::format("- {}\n", markdown_inline(reason));
  for (const CheckedLimit& limit : all.limits)
    out += fmt::format("- {}: {}\n", markdown_code(limit.text), markdown_inline(limit_text(all, limit)));
  out += fmt::format("\n| run | |\n| :-- | :-- |\n| good | {} |\n| bad | {} |\n", markdown_inline(run_text(all.good)),
                     markdown_inline(run_text(all.bad)));
  if (!all.series.empty()) out += "\n### Memory\n\n| series | | |\n| :-- | :-- | :-- |\n";
  for (const SeriesComparison& series : all.series)
    for (const FigureLine& line : make_lines(series))
      out += fmt::format("| {} | {} | {} |\n", markdown_inline(series.title), line.name, markdown_inline(line.text));
  const auto others = other_differences(all);
  if (!all.settings.empty() || !others.empty()) out += "\n### What else differs\n\n";
  for (const SettingComparison& setting : all.settings)
    out += fmt::format("- {}: {} ({})\n", markdown_inline(change_text(setting)), effect_text(setting),
                       markdown_code(locations_text(setting)));
  for (const std::string& line : others) out += fmt::format("- {}\n", markdown_inline(line));
  return out;
}

std::string comparison_agent(const Comparison& all) {
  AgentText out("comparison");
  out.add(fmt::format("Verdict: {}. {}", outcome_text(all), agent_sentence(all.headline)));
  for (const std::string& reason : all.because) out.add("Because: " + agent_sentence(reason));
  for (const CheckedLimit& limit : all.limits)
    out.add(fmt::format("Limit {}: {}", agent_sentence(limit.text), agent_sentence(limit_text(all, limit))));
  out.add("Good run: " + agent_sentence(run_text(all.good)));
  out.add("Bad run: " + agent_sentence(run_text(all.bad)));
  for (std::size_t i = 0; i < std::min(all.series.size(), series_shown); ++i)
    for (const FigureLine& line : make_lines(all.series[i]))
      out.add(fmt::format("Memory: {}, {}: {} [{}]", agent_sentence(all.series[i].title), line.name,
                          agent_sentence(line.text), agent_sentence(locations_text(all.series[i]))));
  for (const SettingComparison& setting : all.settings)
    out.add(fmt::format("Setting: {}: {} [{}]", agent_sentence(change_text(setting)), effect_text(setting),
                        agent_sentence(locations_text(setting))));
  for (const std::string& line : other_differences(all)) out.add("Also: " + agent_sentence(line));
  return out.str();
}

}  // namespace oomdoctor
