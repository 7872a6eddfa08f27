// The short report: the failure and its location, the memory breakdown, the trend, the cause, and what won't help. It
// prints each fact once; the verbose report has its numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/chart.h"
#include "render/excerpt.h"
#include "render/series_titles.h"
#include "render/terminal_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

constexpr std::size_t max_shown_runs = 4;  ///< the last ones
constexpr std::size_t max_further = 2;     ///< failures other than that of the verdict
constexpr std::size_t max_reasons = 2;     ///< of the first cause
constexpr std::size_t max_circumstances = 2;
constexpr std::size_t max_notes = 2;  ///< errors and warnings
constexpr std::size_t max_lost = 4;

/// For example "leak.log:186; rank 3, process 118402".
std::string where_words(const Report& report, const ReportIncident& of) {
  const std::string who = incident_circumstances(of);
  return short_location(report, of.location) + (who.empty() ? "" : "; " + who);
}

/// The id that `oomdoctor explain` takes, as a compiler prints the number of an error: "[leak]"; "[oom]" while the
/// cause is unclear.
std::string cause_label(const Report& report) {
  const std::string id = explained_id(report);
  return id.empty() ? "" : "[" + plain_line(id) + "]";
}

/// The file name with its folder; of a library the path in it, because many have a "nn/modules.py".
std::string short_file(const std::string& file) {
  static constexpr std::string_view installed = "-packages";
  if (const auto at = file.find(installed); at != std::string::npos && at + installed.size() + 1 < file.size())
    return file.substr(at + installed.size() + 1);
  const auto name = file.find_last_of("/\\");
  const auto folder = name == std::string::npos || name == 0 ? name : file.find_last_of("/\\", name - 1);
  return folder == std::string::npos ? file : file.substr(folder + 1);
}

/// The user's frame nearest to the failure, where a change is possible: "project/model.py:74 in forward".
std::string frame_text(const Page& page, const ReportFrame& frame) {
  std::string text = place_words(frame, clip_front(plain_line(short_file(frame.file)), page.width() / 2));
  if (!frame.function.empty()) text += " in " + plain_line(frame.function);
  return text;
}

/// Its line of code, with the number in the gutter: "   74 | return self.down(x)".
void add_code(Page& page, const ReportFrame& frame) {
  if (frame.code.empty()) return;
  const std::string number = frame.line > 0 ? std::to_string(frame.line) : "";
  page.text(page.paint.dim(fmt::format("{:>5} | ", number)), page.paint.bold(plain_line(code_words(frame))));
}

/// ", 6.80 GiB allowed", if the account is of the whole GPU, of which the allocator may use less; else "".
std::string limit_beside_account(const ReportIncident& of) {
  const bool less = of.kind == "device" && of.account && of.limit_bytes && *of.limit_bytes < of.account->capacity_bytes;
  return less ? fmt::format(", {} allowed", bytes_text(*of.limit_bytes)) : "";
}

/// The request, and its location in the user's code. Without both, the cited line.
void add_request(Page& page, const ReportIncident& of) {
  std::vector<std::string> parts;
  const bool of_node = of.kind == "host" && of.account && of.capacity_bytes && of.free_bytes && of.process_bytes;
  if (of_node) {  // the account has the parts, not their sum
    const std::int64_t used = *of.capacity_bytes - *of.free_bytes;
    const double share = static_cast<double>(used) / static_cast<double>(*of.capacity_bytes);
    parts.push_back(fmt::format("{} in use on the node ({})", bytes_text(used), percent_text(share)));
  } else if (!of.account && !of.numbers.empty())
    parts.push_back(plain_line(of.numbers));
  else if (of.requested_bytes)
    parts.push_back(page.paint.error(bytes_text(*of.requested_bytes)) + " requested" + limit_beside_account(of));
  // Code of a library is the place where nothing of the user's own is in the traceback.
  const auto place = shown_place(of);
  if (place) parts.push_back(frame_text(page, *place));
  if (!parts.empty()) page.text("  ", fmt::format("{}", fmt::join(parts, " at ")));
  if (place) add_code(page, *place);
  const bool has_numbers = of.account || !of.numbers.empty() || of.requested_bytes;
  if ((has_numbers && !parts.empty()) || of.location.excerpt.empty()) return;
  MarkedLine line = mark_line(of, page.width() - 2);  // the line itself is the evidence
  line.before.erase(0, std::min(line.before.find_first_not_of(' '), line.before.size()));
  if (line.before.empty() && line.mark.empty())
    line.after.erase(0, std::min(line.after.find_first_not_of(' '), line.after.size()));
  page.line("  " + page.paint.dim(line.before) + line.mark + page.paint.dim(line.after));
}

/// Whether the shown part of the list of runs cites the failure.
bool is_in_runs(const Report& report, const ReportIncident& of) {
  const std::size_t first = report.runs.size() - std::min(report.runs.size(), max_shown_runs);
  return std::any_of(
      report.runs.begin() + static_cast<std::ptrdiff_t>(first), report.runs.end(), [&](const ReportRun& run) {
        return run.failure && run.failure->path == of.location.path && run.failure->line == of.location.line;
      });
}

/// Failures other than the one that the verdict is about, and other than those in the list of runs.
void add_further(Page& page, const Report& report, const std::vector<const ReportIncident*>& roots,
                 const ReportIncident& main) {
  std::vector<Location> caught, refused;
  std::vector<const ReportIncident*> fatal;
  for (const ReportIncident* of : roots) {
    if (of == &main) continue;
    if (of->handled)
      (is_pool_refusal(*of) ? refused : caught).push_back(of->location);
    else if (!is_in_runs(report, *of))
      fatal.push_back(of);
  }
  if (!caught.empty())
    page.text("  ", fmt::format("The program caught {} (first {}).",
                                plural(count_caught(report) - (main.handled ? 1 : 0), "other OOM", "other OOMs"),
                                plain_line(short_locations(report, {caught.front()}, 1))));
  if (!refused.empty())
    page.text("  ", fmt::format("The driver also refused other sizes of TensorFlow's pool (first {}).",
                                plain_line(short_locations(report, {refused.front()}, 1))));
  const std::size_t shown = std::min(fatal.size(), max_further);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool of_process = fatal[i]->kind == "host" && fatal[i]->process_bytes && !fatal[i]->numbers.empty();
    const std::string title = incident_title(*fatal[i]);
    const std::string where = where_words(report, *fatal[i]) + (of_process ? ": " + fatal[i]->numbers : "");
    page.text("  also: ", plain_line(title == incident_title(main) ? where : title + "  (" + where + ")"));
  }
  const auto more = static_cast<std::int64_t>(fatal.size() - shown) + (main.handled ? 0 : report.more_incidents);
  if (more > 0) page.text("  ", plural(more, "more failure", "more failures") + " in the Markdown and JSON reports");
}

/// For example "GPU 0 ran out of memory at step 1240, in the backward pass: memory leak (95%)".
std::string failure_words(const Report& report, const ReportIncident& of) {
  const std::string title = incident_title(of);
  return plain_line(title + cause_clause(report, title));
}

}  // namespace

const ReportIncident* add_headline(Page& page, const Report& report) {
  const auto roots = root_incidents(report);
  if (roots.empty()) return nullptr;
  const ReportIncident& main = shown_incident(report, roots);
  const bool ended_otherwise = report.verdict.outcome == Outcome::ended_otherwise;
  if (ended_otherwise)
    page.text("", page.paint.error("error: ") + page.paint.bold(plain_line(report.verdict.headline)), 2);
  const bool overcome = is_nothing_to_fix(report) && !main.handled;
  const bool unsure = report.verdict.outcome == Outcome::possible_oom;
  const std::string word = is_about_earlier_run(report)                            ? "earlier"
                           : ended_otherwise || overcome || main.handled || unsure ? "warning"
                                                                                   : "error";
  const std::string label = word + cause_label(report) + ": ";
  page.text("",
            (word == "error" ? page.paint.error(label) : page.paint.warning(label)) +
                page.paint.bold(failure_words(report, main) + (overcome ? " in an earlier run" : "")),
            2);
  return &main;
}

namespace {

void add_failures(Page& page, const Report& report) {
  const ReportIncident* const said = add_headline(page, report);
  if (said == nullptr) return;
  const auto roots = root_incidents(report);
  const ReportIncident& main = *said;
  page.text(page.paint.dim(" --> "), plain_line(where_words(report, main)));
  add_request(page, main);
  for (const std::string& words : following_words(report, main, 2)) page.text("  ", plain_line(words));
  add_further(page, report, roots, main);
  const ReportIncident* of = &main;
  if (!main.account)
    for (const ReportIncident* other : roots)
      if (other->account) of = other;
  if (of->account) page.text("", plain_line(account_words(*of)), 2);
}

/// Whether one value describes the whole series.
bool is_level(const ReportSeries& of) {
  return of.trend.shape == "flat" && of.trend.release.empty() && !changes_between_counts(of);
}

/// For example "19.55 → 77.20 GiB, steps 10–1240 (lines 32–156)". A flat series shows a level instead of two values,
/// and its peak if that is far above. The share of the memory follows, unless another line shows it.
std::string values_text(const Report& report, const ReportSeries& of) {
  if (is_single(of))
    return fmt::format("{} ({})", value_text(of, of.max_value), plain_line(short_locations(report, {of.first}, 1)));
  constexpr double far_above = 1.5;  // times the first and the last value: more than the noise of a flat series
  const bool level = is_level(of);
  std::string text = level ? plain_line(trend_words(of)) : range_words(of);
  const auto share = peak_share(of);
  const bool shares =
      share && *share < nearly_full && of.unit != "%" && report.incidents.empty() && !is_growth(of.trend);
  const bool peaks_before = level ? of.max_value > far_above * std::max(of.first_value, of.last_value)
                                  : shares && of.max_value == of.first_value && of.max_value > of.last_value;
  if (peaks_before) text += ", max " + value_text(of, of.max_value);
  if (shares) text += fmt::format(" ({} of {})", percent_text(*share), bytes_text(*of.trend.capacity_bytes));
  if (const std::string steps = step_range_words(of); !steps.empty()) text += ", " + steps;
  if (of.first.line > 0) text += " (" + plain_line(range_of_lines(report, of.first, of.last)) + ")";
  return text;
}

/// The values that a program printed once, as in a list of memory statistics.
std::string single_values(const Page& page, const Report& report) {
  constexpr std::size_t max_values = 5;
  std::vector<std::string> values;
  std::set<std::string> shown;  // a peak that is the current value says nothing
  std::set<std::int64_t> wholes;
  for (const ReportSeries* of : sort_series(report)) {
    const std::string value = value_text(*of, of->max_value);
    if (!is_single(*of) || values.size() == max_values || !shown.insert(value).second) continue;
    // Of a process, the whole says less than of a device.
    const bool of_whole =
        of->metric != "memory" && of->unit != "%" && peak_share(*of) && wholes.insert(*of->trend.capacity_bytes).second;
    values.push_back(fmt::format("{}: {}{} ({})", clip_series_title(report, *of, page.width() / 2), value,
                                 of_whole ? " of " + bytes_text(*of->trend.capacity_bytes) : "",
                                 plain_line(short_locations(report, {of->first}, 1))));
  }
  return capitalised(fmt::format("{}", fmt::join(values, "; ")));
}

/// The same memory of another device that grows as well: it speaks against a process that came to one of them.
std::string other_growth(const Report& report, const ReportSeries& main) {
  std::vector<const ReportSeries*> others;
  for (const ReportSeries& of : report.series)
    if (of.metric == main.metric && of.rank == main.rank && of.device != main.device && of.device && main.device &&
        of.trend.leak)
      others.push_back(&of);
  if (others.empty()) return "";
  if (others.size() > 1) return fmt::format("it also grows on {} other devices", others.size());
  return fmt::format("also growing: {}, {} per {}", series_title(report, *others.front()),
                     rate_text(others.front()->trend.slope).rate, others.front()->x_unit);
}

/// Its rate or trend, how it compares, and its forecast.
void add_trend(Page& page, const Report& report, const ReportSeries& series) {
  const std::string above = root_incidents(report).empty() ? "" : growth_clause(report);  // of the first line
  std::vector<std::string> parts = {plain_line(above.empty() ? trend_words(series) : known_rate_words(series))};
  for (const std::string_view before : {" at ", ": back to "}) {
    const std::string level = std::string(before) + value_text(series, series.last_value);  // shown by the line above
    if (const auto at = parts[0].find(level); at != std::string::npos) parts[0].erase(at, level.size());
  }
  if (is_growth(series.trend)) parts[0] = page.paint.bold(parts[0]);
  for (const std::string& words :
       {series.trend.increment, is_growth(series.trend) ? relation_words(report, series) : std::string(),
        forecast_words(report, series)})
    if (!words.empty() && above.find(words) == above.npos) parts.push_back(plain_line(words));
  page.text("  ", fmt::format("{}", fmt::join(parts, "; ")));
  const std::string others = is_growth(series.trend) ? other_growth(report, series) : "";
  if (!others.empty()) page.text("  ", plain_line(others));
}

/// The lines for one series: its values, its rate or trend, and the peaks of the other GPUs.
void add_short_series(Page& page, const Report& report) {
  const ReportSeries* const found = find_main_series(report);
  if (found == nullptr) return;
  const ReportSeries& series = *found;
  const bool is_too_short = series.trend.shape == "too_short" && !series.trend.moves;
  if (is_too_short && !is_single(series) && series.x_unit == "value" && series.unit != "%")
    return;  // values without steps, of unknown origin
  if (is_single(series) && report.incidents.empty()) return page.text("", single_values(page, report), 2);
  const std::string title = capitalised(clip_series_title(report, series, page.width() / 2));
  const std::string line =
      is_single(series) ? ": " : " " + sparkline(series.points, std::clamp(page.width() / 6, 8, 16)) + " ";
  page.text("", title + line + values_text(report, series), 2);
  if (report.ranks.size() >= min_ranks_for_summary) {
    const auto failed =
        std::count_if(report.ranks.begin(), report.ranks.end(), [](const auto& of) { return of.failed; });
    const std::string others = other_ranks_words(report);  // the first line names a single rank that failed
    if (failed > 1 || !others.empty()) page.text("  ", plain_line(failed > 1 ? ranks_summary(report) : others));
  }
  if (!is_single(series) && !is_level(series) && !is_too_short) add_trend(page, report, series);
  // GPUs that the series in the report do not show may be other than these.
  if (const std::string others = other_gpus_words(report, series);
      !others.empty() && report.incidents.empty() && report.more_series == 0)
    page.text("  ", plain_line(others));
}

/// The numbers of a text, in their printed form.
std::set<std::string> find_numbers(std::string_view text) {
  std::set<std::string> numbers;
  for (auto from = text.find_first_of("0123456789"); from != text.npos; from = text.find_first_of("0123456789", from)) {
    auto end = std::min(text.find_first_not_of("0123456789.", from), text.size());
    while (text[end - 1] == '.') --end;
    numbers.emplace(text.substr(from, end - from));
    from = end;
  }
  return numbers;
}

std::string_view first_fact(const Reason& reason) {
  return reason.facts.empty() ? std::string_view() : reason.facts.front();
}

/// Whether the first line has most words of the reason. Numbers and explanations are new.
bool says_most(std::string_view first_line, std::string_view reason) {
  constexpr std::size_t shortest = 4;  // bytes of a word that counts
  constexpr double most = 0.6;
  const std::string line = lower(first_line);
  double words = 0, known = 0;
  for (std::size_t at = 0, end = 0; at < reason.size(); at = end + 1) {
    end = std::min(reason.find_first_of(" ,()", at), reason.size());
    if (end - at < shortest) continue;
    ++words;
    known += line.find(lower(reason.substr(at, end - at))) != line.npos;
  }
  return known > most * words;
}

/// Whether another line of the page shows the reason: the kill and the phase are in the failure's title, the growth in
/// the series.
bool is_shown(const Report& report, const Reason& reason) {
  const std::string_view fact = first_fact(reason);
  if (fact == "host.kernel_kill" || fact == "host.allocation_failed" || fact == "host.limit_kill" ||
      fact == "host.grows" || fact.starts_with("trend."))
    return true;
  const auto roots = root_incidents(report);
  if (roots.empty() || reason.text.find(':') != reason.text.npos || !find_numbers(reason.text).empty()) return false;
  const ReportIncident& main = shown_incident(report, roots);
  return (fact.starts_with("phase.") && !phase_words(main.phase).empty()) ||
         says_most(failure_words(report, main), reason.text);
}

/// Whether all numbers of a reason are on the page already. It then says the same in other words.
bool repeats(std::string_view reason, const std::set<std::string>& printed) {
  const auto numbers = find_numbers(reason);
  return !numbers.empty() && std::includes(printed.begin(), printed.end(), numbers.begin(), numbers.end());
}

std::string reason_text(const Page& page, const Report& report, const Reason& because) {
  std::string text = plain_line(because.text);
  if (!because.locations.empty())
    text += page.paint.dim(" [" + plain_line(short_locations(report, because.locations, 2)) + "]");
  return text;
}

/// A measurement rather than a conclusion. It needs no line if the page already shows its numbers.
bool is_measurement(const Reason& reason) {
  return first_fact(reason).starts_with("trend.") || first_fact(reason) == "host.used";
}

/// The strongest reasons that are not on the page yet. Without any, a reason that only repeats numbers of the page.
std::vector<const Reason*> new_reasons(const Report& report, const ReportCause& cause,
                                       const std::set<std::string>& printed) {
  const auto is_shown = [&](const Reason& reason) { return terminal::is_shown(report, reason); };
  std::vector<const Reason*> reasons;
  const Reason* repeated = nullptr;
  for (std::size_t i = 0; i < std::min(cause.because.size(), max_reasons); ++i) {
    const Reason& reason = cause.because[i];
    if (!is_shown(reason) && !repeats(reason.text, printed))
      reasons.push_back(&reason);
    else if (!is_shown(reason) && repeated == nullptr)
      repeated = &reason;
  }
  // A circumstance decides nothing, but only this log has it: how far a load came, who requested, what was left.
  const std::size_t allowed = reasons.size() + max_circumstances;
  for (std::size_t i = max_reasons; i < cause.because.size() && reasons.size() < allowed; ++i) {
    const Reason& reason = cause.because[i];
    const bool circumstance = reason.weight == 0 && !find_numbers(reason.text).empty();
    if (circumstance && !is_shown(reason) && !repeats(reason.text, printed)) reasons.push_back(&reason);
  }
  if (reasons.empty() && repeated != nullptr && !is_measurement(cause.because.front()) && !is_measurement(*repeated))
    reasons.push_back(repeated);
  return reasons;
}

/// The reasons for the first cause. If the cause is unclear, one reason for each of the most probable ones.
void add_why(Page& page, const Report& report) {
  if (report.causes.empty() || report.verdict.cause.empty()) return;
  const auto printed = find_numbers(page.str());
  if (report.verdict.cause != "undetermined") {
    const auto reasons = new_reasons(report, report.causes.front(), printed);
    for (std::size_t i = 0; i < reasons.size(); ++i)
      page.text(i == 0 ? "Why: " : "     ", reason_text(page, report, *reasons[i]));
    return;
  }
  std::set<std::string> shown;
  for (const ReportCause* candidate : candidate_causes(report)) {
    const ReportCause& cause = *candidate;
    // A reason that both causes share does not distinguish them.
    const auto own = std::find_if(cause.because.begin(), cause.because.end(),
                                  [&](const Reason& because) { return shown.insert(because.text).second; });
    if (own != cause.because.end())
      page.text("",
                fmt::format("Possible: {} – {}", plain_line(short_cause_name(cause)), reason_text(page, report, *own)),
                2);
    if (candidate != &report.causes.front()) continue;
    const auto circumstance = std::find_if(cause.because.begin(), cause.because.end(), [&](const Reason& because) {
      return because.weight == 0 && !find_numbers(because.text).empty() && !repeats(because.text, printed) &&
             shown.insert(because.text).second;
    });
    if (circumstance != cause.because.end()) page.text("  ", capitalised(reason_text(page, report, *circumstance)));
  }
}

/// Leaves out advice whose reason has the same numbers as that of an earlier one.
void add_wrong_advice(Page& page, const Report& report) {
  std::set<std::string> printed;
  for (const HeldBack* advice : shown_advice(report)) {
    if (!repeats(advice->because, printed)) add_held_back(page, *advice);
    printed.merge(find_numbers(advice->because));
  }
}

}  // namespace

std::string first_words(const Report& report) {
  const auto roots = root_incidents(report);
  if (roots.empty() || report.verdict.outcome == Outcome::ended_otherwise) return "";
  const ReportIncident& main = shown_incident(report, roots);
  return fmt::format("{} ({})", failure_words(report, main), plain_line(short_location(report, main.location)));
}

void add_brief(Page& page, const Report& report) {
  add_failures(page, report);
  if (report.inputs.size() > 1) add_inputs(page, report);
  // The first line has both ends of two runs.
  if (!(is_about_earlier_run(report) && report.runs.size() == 2)) add_runs(page, report, max_shown_runs);
  add_short_series(page, report);
  add_snapshots(page, report);
  if (!is_nothing_to_fix(report)) {
    add_why(page, report);
    add_wrong_advice(page, report);
  }
  add_lost(page, report, max_lost);
  add_notes(page, report, max_notes);
}

}  // namespace oomdoctor::terminal
