#include "report/advice_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"
#include "base/bytes.h"
#include "model/scan_result.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

std::string cause_name(const ReportCause& cause) { return cause.title.empty() ? cause.cause : cause.title; }

/// For example "2 OOMs caught (lines 4 and 6). Nothing to fix."; "Only an earlier run failed (line 8). Nothing to fix."
/// if it was started again. A run whose memory grows is not all right.
std::string nothing_to_fix_words(const Report& report) {
  std::vector<Location> caught, fatal;
  for (const ReportIncident& incident : report.incidents)
    if (!incident.follows) (incident.handled ? caught : fatal).push_back(incident.location);
  const std::string_view rest = growing_series_words(report).empty() ? "Nothing to fix" : "Memory grows";
  if (caught.empty() && report.more_incidents == 0)
    return fmt::format("Only an earlier run failed ({}). {}.", short_locations(report, fatal, 3), rest);
  return fmt::format("{} caught ({}). {}.", plural(count_caught(report), "OOM", "OOMs"),
                     short_locations(report, caught, 3), rest);
}

std::vector<std::string> cost_parts(const ReportFix& fix) {
  // What the program pays is not what the owner of a machine or of another process pays.
  if (fix.outside && fix.cost == 0 && fix.risk == 0) return {};
  if (fix.cost == 0 && fix.risk == 0) return {std::string(free_words)};
  std::vector<std::string> parts;
  parts.emplace_back(cost_text(fix.cost));
  if (fix.risk > 0) parts.emplace_back(risk_text(fix.risk));
  return parts;
}

/// The text with its first letter in lower case, as in the middle of a sentence; a first word that is more than a plain
/// word ("KV", "DataLoader", "Ray's") stays.
std::string uncapitalised(std::string text) {
  const std::size_t end = std::min(text.find_first_of(" :,("), text.size());
  if ((end > 1 || text.starts_with("A ")) &&
      std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), is_lower))
    text[0] = lower(text[0]);
  return text;
}

/// Whether a title has most words of the cause.
bool says_already(std::string_view title, std::string_view cause) {
  constexpr std::size_t shortest = 3;  // bytes of a word that counts
  const std::string in = lower(title), of = lower(cause);
  std::size_t words = 0, known = 0;
  for (std::size_t at = 0, end = 0; at < of.size(); at = end + 1) {
    end = std::min(of.find(' ', at), of.size());
    if (end - at < shortest) continue;
    ++words;
    known += in.find(of.substr(at, end - at)) != in.npos;
  }
  return 2 * known > words;
}

template <std::size_t n>
std::string_view clamped(const std::array<std::string_view, n>& texts, int level) {
  return texts[static_cast<std::size_t>(std::clamp(level, 0, static_cast<int>(n) - 1))];
}

}  // namespace

std::vector<SignList> list_signs(const CauseExplanation& of) {
  std::vector<SignList> lists{{"Signs for it", "for", &of.signs_for},
                              {"Signs against it", "against", &of.signs_against}};
  std::erase_if(lists, [](const SignList& list) { return list.signs->empty(); });
  return lists;
}

std::vector<const HeldBack*> shown_advice(const Report& report) {
  std::vector<const HeldBack*> shown;
  for (const HeldBack& advice : report.held_back)
    if (!advice.generic) shown.push_back(&advice);
  return shown;
}

std::string_view cost_text(int cost) {
  return clamped<5>({"no slowdown", "slightly slower", "5 to 25% slower", "25 to 50% slower", "more than 50% slower"},
                    cost);
}

std::string_view risk_text(int risk) {
  return clamped<4>(
      {"same result", "numerics differ slightly", "hyper-parameters may need retuning", "the result changes"}, risk);
}

bool is_pool_refusal(const ReportIncident& of) {
  return of.handled && of.framework == "tensorflow" && of.agent == "driver";
}

std::int64_t count_caught(const Report& report) {
  std::int64_t count = 0;
  bool fatal = false;
  for (const ReportIncident& of : report.incidents) fatal |= !of.handled;
  for (const ReportIncident& of : report.incidents) {
    if (of.handled && !of.follows && !(fatal && is_pool_refusal(of)))
      count += count_failures(static_cast<std::int64_t>(of.occurrences.size()) + of.more_occurrences,
                              of.framework == "julia");
  }
  return fatal ? count : count + report.more_incidents;
}

bool is_all_clear(const Report& report) {
  const auto preempted = [](const ReportIncident& of) { return of.handled && of.kind == "pool"; };
  return report.verdict.outcome == Outcome::no_oom &&
         std::all_of(report.incidents.begin(), report.incidents.end(), preempted);
}

bool has_cause(const Verdict& verdict) { return !verdict.cause.empty() && verdict.cause != "undetermined"; }

std::string explained_id(const Report& report) {
  if (report.verdict.cause.empty() || is_nothing_to_fix(report)) return "";
  return has_cause(report.verdict) ? report.verdict.cause : std::string(unclear_id);
}

std::string cause_name(const Verdict& verdict) {
  return verdict.cause_title.empty() ? verdict.cause : verdict.cause_title;
}

bool is_about_earlier_run(const Report& report) {
  return report.verdict.outcome == Outcome::ended_otherwise && report.runs.size() > 1 && !report.incidents.empty();
}

bool is_nothing_to_fix(const Report& report) {
  return report.verdict.outcome == Outcome::handled_oom && report.fixes.empty();
}

std::string short_cause_name(const ReportCause& cause) {
  const std::string name = cause_name(cause);
  return name.substr(0, std::min({name.find(':'), name.find(" ("), name.size()}));
}

std::string caught_words(const Report& report) {
  const std::int64_t caught = report.verdict.outcome == Outcome::handled_oom ? count_caught(report) : 0;
  return caught > 1 ? fmt::format("{} OOMs caught. ", caught) : "";
}

std::string growth_clause(const Report& report) {
  if (report.causes.empty() || report.verdict.cause != report.causes.front().cause) return "";
  const auto& because = report.causes.front().because;
  const ReportSeries* const main = find_main_series(report);
  if (main == nullptr || !main->trend.leak || because.empty()) return "";
  const auto& facts = because.front().facts;
  if (std::none_of(facts.begin(), facts.end(), [](const auto& name) { return name.starts_with("trend."); })) return "";
  const std::string alone = only_growing_words(report, *main);
  return fmt::format("{} per {}{}", rate_text(main->trend.slope).rate, main->x_unit, alone.empty() ? "" : ", " + alone);
}

std::string cause_clause(const Report& report, std::string_view title) {
  const Verdict& verdict = report.verdict;
  if (verdict.cause.empty() || is_nothing_to_fix(report)) return {};
  if (verdict.cause == "undetermined" || report.causes.empty()) return ": cause unclear";
  const std::string name = short_cause_name(report.causes.front());
  const std::string sure = fmt::format(" ({})", percent_text(verdict.confidence));
  if (const std::string growth = growth_clause(report); !growth.empty()) return ": " + growth + sure;
  // A title may have a reason of its own: "…: the host was out of RAM".
  const bool unsaid = title.find("does not say why") != title.npos || title.find("does not know why") != title.npos;
  const std::string_view link = unsaid ? "; probably " : ": ";
  // "… while host RAM was nearly full (60%)" would say how full.
  constexpr double doubtful = 0.9;
  const bool has_reason = title.find(": ") != title.npos;
  const bool says = has_reason || (verdict.confidence >= doubtful && says_already(title, name));
  return says ? sure : std::string(link) + uncapitalised(name) + sure;
}

std::vector<const ReportCause*> candidate_causes(const Report& report) {
  constexpr std::size_t most = 2;        // a third one is often a stranger to the log
  constexpr double min_candidate = 0.1;  // a guess that nine of ten such logs contradict
  std::vector<const ReportCause*> candidates;
  for (const ReportCause& cause : report.causes)
    if (candidates.empty() || (candidates.size() < most && cause.probability >= min_candidate))
      candidates.push_back(&cause);
  return candidates;
}

/// What the rest of the causes share, from the first of them on. Most of it can belong to none that is known.
std::string other_causes_words(const Report& report, std::size_t first, double share) {
  if (first >= report.causes.size()) return "other causes";
  double listed = 0;
  for (std::size_t i = first; i < report.causes.size(); ++i) listed += report.causes[i].probability;
  return fmt::format("{}, each {} or less", 2 * listed < share ? "no known cause, or others" : "other causes",
                     percent_text(report.causes[first].probability));
}

// The others are named if they are one or two: "other causes" would hide what the reader could check.
std::vector<CandidateRow> candidate_rows(const Report& report) {
  constexpr double share_to_show = 0.05;  // of the others
  constexpr double nearly_all = 0.9;      // of the others
  constexpr std::size_t most_named = 2;
  const auto printed = [](double share) { return std::round(100 * share) / 100; };  // the rows add up to 100%
  std::vector<CandidateRow> rows;
  double others = 1;
  for (const ReportCause* cause : candidate_causes(report)) {
    rows.push_back({cause->probability, short_cause_name(*cause)});
    others -= printed(cause->probability);
  }
  if (others <= share_to_show) return rows;
  std::string names;
  double named = 0;
  for (std::size_t i = rows.size(); i < std::min(rows.size() + most_named, report.causes.size()); ++i) {
    if (named >= nearly_all * others) break;
    const std::string name = short_cause_name(report.causes[i]);
    names += names.empty() ? name : " or " + uncapitalised(name);
    named += report.causes[i].probability;
  }
  if (named >= nearly_all * others) {
    rows.push_back({others, names});
  } else {
    rows.push_back({others, other_causes_words(report, rows.size(), others), true});
  }
  return rows;
}

std::string conclusion_words(const Report& report) {
  const Verdict& verdict = report.verdict;
  if (is_nothing_to_fix(report)) return nothing_to_fix_words(report);
  if (verdict.cause.empty()) return verdict.headline;
  const std::string count = caught_words(report);
  if (verdict.cause == "undetermined") {
    if (report.causes.empty()) return count + "Cause unclear: the log shows too little";
    std::string text = fmt::format("{}Cause unclear: {} {}", count, short_cause_name(report.causes[0]),
                                   percent_text(report.causes[0].probability));
    if (report.causes.size() > 1)
      text += fmt::format(", {} {}", short_cause_name(report.causes[1]), percent_text(report.causes[1].probability));
    return text;
  }
  return fmt::format("{}{} ({})", count, cause_name(verdict), percent_text(verdict.confidence));
}

// If the headline names the cause already, a reason is more informative.
std::string why_words(const Report& report) {
  const Verdict& verdict = report.verdict;
  if (verdict.cause.empty()) return {};
  if (verdict.cause != "undetermined") {
    const std::string name = cause_name(verdict);
    const bool names_cause = verdict.headline.find(name) != std::string::npos;
    if (names_cause && !report.causes.empty() && !report.causes[0].because.empty())
      return fmt::format("{}, {}: {}", short_cause_name(report.causes[0]), percent_text(verdict.confidence),
                         report.causes[0].because[0].text);
    return fmt::format("{} ({})", name, percent_text(verdict.confidence));
  }
  if (report.causes.empty()) return "unknown: the log says too little";
  std::string text = fmt::format("unclear; most likely: {} ({})", cause_name(report.causes[0]),
                                 percent_text(report.causes[0].probability));
  if (report.causes.size() > 1)
    text += fmt::format(" or {} ({})", cause_name(report.causes[1]), percent_text(report.causes[1].probability));
  return text;
}

bool has_memory_values(const Report& report) {
  return !report.series.empty() || report.more_series > 0 || !report.snapshots.empty();
}

bool is_unexplained(const Report& report) {
  return report.verdict.outcome == Outcome::unrecognised && report.coverage.lines > 0 &&
         std::none_of(report.notes.begin(), report.notes.end(), [](const ReportNote& note) { return note.brief; });
}

std::string capacity_hint(const ReportSeries& growing) {
  const bool has_end = growing.trend.forecast || growing.metric.starts_with("host_") || !growing.trend.leak;
  return has_end ? "" : "add --capacity 80GiB to see when it is full";
}

std::string growing_series_words(const Report& report) {
  const ReportSeries* found = find_growing_series(report);
  if (found == nullptr) return "";
  if (!found->trend.leak) return series_title(report, *found) + " " + found->trend.why;
  std::string text = fmt::format("{}: {}", series_title(report, *found), growth_words(*found));
  if (const std::string relation = relation_words(report, *found); !relation.empty()) text += "; " + relation;
  if (const std::string when = forecast_words(report, *found); !when.empty())
    text += "; " + when;
  else if (const std::string hint = capacity_hint(*found); !hint.empty())
    text += "; " + hint;
  return text;
}

std::string other_growing_words(const Report& report) {
  constexpr std::size_t most = 2;
  const ReportSeries* const main = find_growing_series(report);
  std::vector<std::string> others;
  for (const ReportSeries* of : sort_series(report))
    if (main != nullptr && of != main && grows_surely(*of))
      others.push_back(
          fmt::format("{} ({} per {})", series_title(report, *of), rate_text(of->trend.slope).rate, of->x_unit));
  if (others.empty()) return "";
  const std::size_t shown = std::min(others.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (others.size() > shown)
    text += fmt::format("; {} more", count_text(static_cast<std::int64_t>(others.size() - shown)));
  return text;
}

std::string performed_checks_words(const Report& report) {
  // A table of values has no messages.
  const bool tables = std::all_of(report.inputs.begin(), report.inputs.end(),
                                  [](const ReportInput& input) { return input.kind != "log"; });
  const auto series = static_cast<std::int64_t>(report.series.size()) + report.more_series;
  std::string looked = tables && series > 0 ? "the values of " + plural(series, "memory series", "memory series")
                                            : "OOM messages, kills, a full /dev/shm";
  const auto followed =
      static_cast<std::int64_t>(std::count_if(report.series.begin(), report.series.end(),
                                              [](const ReportSeries& one) { return one.trend.shape != "too_short"; }));
  if (!has_memory_values(report)) return looked + ". The log has no memory values over time that oomdoctor reads";
  const bool zero = std::all_of(report.series.begin(), report.series.end(),
                                [](const ReportSeries& one) { return one.max_value == 0 && one.first_value == 0; });
  if (tables && series > 0 && zero && report.more_series == 0) return looked + ", 0 bytes throughout";
  if (followed == 0) return looked;
  const std::int64_t all = followed + report.more_series;
  const std::string part = report.more_series > 0 ? count_text(followed) + " of " : "";
  if (tables && all == series)
    return "the values and the growth of " + plural(series, "memory series", "memory series");
  return looked + fmt::format(", growth in {}{}", part, plural(all, "memory series", "memory series"));
}

std::string cost_words(const ReportFix& fix) { return fmt::format("{}", fmt::join(cost_parts(fix), ", ")); }

std::string_view sufficiency_words(const ReportFix& fix) {
  if (fix.serves_request) return "covers this request";
  return fix.enough ? enough_words : fix.falls_short ? "may not be enough on its own" : "";
}

std::vector<std::string> fix_details(const ReportFix& fix, Effects effects) {
  std::vector<std::string> parts{saving_words(fix), std::string(sufficiency_words(fix))};
  if (effects == Effects::each)
    parts.insert(parts.end(), {std::string(cost_text(fix.cost)), std::string(risk_text(fix.risk))});
  else
    for (const std::string& part : cost_parts(fix)) parts.push_back(part);
  if (fix.if_not_already) parts.push_back("skip if already set");
  std::erase(parts, "");
  return parts;
}

std::string_view success_label(const ReportFix& fix) { return fix.diagnostic ? "Done when" : "Fixed when"; }

// Names the fixes by their numbers in the printed list. A plan without fixes gives the missing memory only.
std::string plan_words(const Report& report) {
  if (!report.plan || report.plan->need_bytes <= 0) return {};
  const ReportPlan& plan = *report.plan;
  std::vector<std::string> numbers;
  for (const auto& id : plan.fixes)
    for (std::size_t i = 0; i < report.fixes.size(); ++i)
      if (report.fixes[i].id == id) numbers.push_back(std::to_string(i + 1));
  std::string text =
      fmt::format("Short by {}{}, or {} with a 5% margin", plan.at_least ? "at least " : "",
                  computed_bytes_text(plan.need_bytes - plan.margin_bytes), computed_bytes_text(plan.need_bytes));
  if (numbers.empty()) return text + ".";
  const bool serves = std::all_of(report.fixes.begin(), report.fixes.end(), [&](const ReportFix& fix) {
    const bool planned = std::find(plan.fixes.begin(), plan.fixes.end(), fix.id) != plan.fixes.end();
    return !planned || fix.serves_request;
  });
  if (serves)
    return fmt::format("{}; fix {} covers the failed request, and the step may need more.", text,
                       fmt::join(numbers, " and "));
  text += fmt::format("; {} {}", numbers.size() == 1 ? "fix" : "fixes", fmt::join(numbers, " and "));
  const ReportIncident* failure = verdict_incident(report);
  const auto capacity = failure != nullptr ? failure->capacity_bytes : std::nullopt;
  const bool fits_on_average =
      plan.predicted_peak_bytes && capacity && *plan.predicted_peak_bytes + plan.margin_bytes <= *capacity;
  if (numbers.size() > 1) text += " together";
  if (plan.would_have_fitted)
    text += " would have been enough";
  else if (fits_on_average)
    text += numbers.size() == 1 ? " is probably enough" : " are probably enough";
  else
    text += numbers.size() == 1 ? " helps, but may not be enough" : " help, but may not be enough";
  if (plan.predicted_peak_bytes && capacity)
    text += fmt::format(" (peak then: about {} of {})", computed_bytes_text(*plan.predicted_peak_bytes),
                        computed_bytes_text(*capacity));
  return text + ".";
}

}  // namespace oomdoctor
