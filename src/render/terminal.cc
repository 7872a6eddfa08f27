#include "render/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "render/chart.h"
#include "render/terminal_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/headline.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/snapshot_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

constexpr std::size_t max_fixes = 3;         ///< in the short report
constexpr std::size_t max_command_rows = 4;  ///< of the second and third fix; longer commands are left out
constexpr int command_indent = 6;
constexpr std::string_view question_label = " To narrow it down: ";
constexpr std::size_t max_scopes = 4;  ///< of one fix: with more, the log does not show which of them is the user's

std::string paint_outcome(const Page& page, const Report& report) {
  const Outcome outcome = report.verdict.outcome;
  const std::string words = verdict_words(report);
  if (outcome == Outcome::oom) return page.paint.error(words);
  return outcome == Outcome::no_oom || outcome == Outcome::ended_otherwise ? page.paint.good(words)
                                                                           : page.paint.warning(words);
}

/// For a run without failure and risk: the number of lines, and the kinds of failures that oomdoctor searched for.
void add_all_clear(Page& page, const Report& report, bool quiet) {
  const std::string lines = read_words(report);
  const std::string growing = plain_line(growing_series_words(report));
  const std::string words = verdict_words(report);
  page.text("", (growing.empty() ? page.paint.good(words) : page.paint.warning(words)) +
                    fmt::format(" in {}{}", lines, growing.empty() ? "." : ", but memory grows."));
  if (!growing.empty() && quiet) page.text(" Grows: ", growing + ".");  // else the series is above
  if (const std::string others = plain_line(other_growing_words(report)); !others.empty() && !quiet)
    page.text(" Also grows: ", others + ".");
  if (!growing.empty() && !quiet)
    if (const std::string hint = capacity_hint(*find_growing_series(report)); !hint.empty())
      page.text(" Next: ", hint + ".");
  page.text(" Checked: ", performed_checks_words(report) + ".");
}

/// For example "HF Trainer, now 8".
std::string scope_text(const FixSetting& setting) {
  std::string scope = plain_line(setting.scope);
  if (!setting.from.empty()) scope += (scope.empty() ? "now " : ", now ") + plain_line(setting.from);
  return scope;
}

/// For example "saves 4.20 to 6.00 GiB, enough on its own, slightly slower".
std::string details_text(const Page& page, const ReportFix& fix, bool verbose) {
  std::vector<std::string> parts = fix_details(fix);
  if (!verbose)
    std::erase_if(parts, [](const std::string& part) { return part == free_words || part == cost_text(0); });
  for (std::string& part : parts) part = part == enough_words ? page.paint.good(part) : plain_line(part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "Title: details". A title with a colon of its own is followed by a comma.
std::string title_text(const Page& page, const ReportFix& fix, bool verbose) {
  const std::string details = details_text(page, fix, verbose);
  const std::string_view link = fix.title.find(": ") == fix.title.npos ? ": " : ", ";
  return page.paint.bold(plain_line(fix.title)) + (details.empty() ? "" : std::string(link) + details);
}

/// Title and benefits, then the command for the first place of the setting, unless `printed` contains it.
void add_short_fix(Page& page, const ReportFix& fix, std::size_t number, std::set<std::string>& printed) {
  std::vector<std::string> rows;
  if (!fix.settings.empty() && printed.insert(fix.settings.front().text).second)
    rows = command_rows(page, fix.settings.front().text, command_indent);
  if (number > 1 && rows.size() > max_command_rows) rows.clear();
  if (fix.settings.size() > max_scopes) rows.clear();
  std::string scope;
  if (!rows.empty() && !fix.settings.front().scope.starts_with("plain ")) {
    FixSetting setting = fix.settings.front();
    const bool is_size = setting.from.ends_with("iB");
    if (is_size && page.str().find(setting.from) != std::string::npos) setting.from.clear();  // the limit above
    scope = scope_text(setting);
  }
  if (fix.settings.size() > max_scopes)
    scope = fmt::format("{}, {}, …: -v", plain_line(fix.settings[0].scope), plain_line(fix.settings[1].scope));
  page.text(fmt::format(" {}. ", number),
            title_text(page, fix, false) + (scope.empty() ? "" : page.paint.dim(" (" + scope + ")")));
  page.lines(std::move(rows));
}

void add_full_fix(Page& page, const ReportFix& fix, std::size_t number) {
  page.text(fmt::format(" {}. ", number), title_text(page, fix, true));
  if (!fix.why.empty()) page.text("    ", plain_line(fix.why));
  for (const FixSetting& setting : fix.settings) {
    if (const std::string scope = scope_text(setting); !scope.empty()) page.text("    ", page.paint.dim(scope + ":"));
    page.lines(command_rows(page, setting.text, command_indent));
  }
  if (!fix.verify.empty())
    page.text("    " + page.paint.dim(fmt::format("{}: ", success_label(fix))), plain_line(fix.verify));
}

/// What the next log shows when it is fixed. A diagnostic fixes nothing; its sign of success counts where all are
/// diagnostics.
void add_success(Page& page, const Report& report, std::size_t shown) {
  const ReportFix* best = nullptr;
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportFix& fix = report.fixes[i];
    if (!fix.verify.empty() && (best == nullptr || (best->diagnostic && !fix.diagnostic))) best = &fix;
  }
  if (best == nullptr) return;
  const auto number = best - report.fixes.data() + 1;
  page.text(fmt::format(" {}{}: ", success_label(*best), number == 1 ? "" : fmt::format(" (fix {})", number)),
            plain_line(best->verify) + ".", 4);
}

/// One line for each cause that is possible, "  41% ████▏      Fragmentation", and one for the others.
void add_candidates(Page& page, const Report& report) {
  constexpr int cells = 10;  // one for 10%
  for (const auto& [probability, name, of_several] : candidate_rows(report))
    page.text(
        fmt::format(" {:>4} {} ", percent_text(probability), pad(of_several ? "" : bar(probability, cells), cells)),
        plain_line(name));
}

void add_all_advice(Page& page, const Report& report) {
  for (std::size_t i = 0; i < report.fixes.size(); ++i) add_full_fix(page, report.fixes[i], i + 1);
  if (const std::string plan = plan_words(report); !plan.empty()) page.text(" ", plan);
  for (const Question& question : report.questions) add_question(page, question_label, question);
}

/// Three fixes, and one question if the cause is unclear. No command appears twice.
void add_first_advice(Page& page, const Report& report) {
  std::set<std::string> printed;
  const std::size_t shown = std::min(report.fixes.size(), max_fixes);
  for (std::size_t i = 0; i < shown; ++i) add_short_fix(page, report.fixes[i], i + 1, printed);
  const auto is_shown = [&](const std::string& id) {
    return std::any_of(report.fixes.begin(), report.fixes.begin() + static_cast<std::ptrdiff_t>(shown),
                       [&](const ReportFix& fix) { return fix.id == id; });
  };
  const bool names_shown_fixes =
      report.plan && std::all_of(report.plan->fixes.begin(), report.plan->fixes.end(), is_shown);
  if (names_shown_fixes && report.plan->would_have_fitted && shown > 0 && !report.fixes.front().enough)
    if (const std::string plan = plan_words(report); !plan.empty()) page.text(" ", plan);
  add_success(page, report, shown);
  if (report.verdict.cause != "undetermined" || is_nothing_to_fix(report)) return;
  for (const Question& question : report.questions)
    if (!printed.contains(question.command)) return add_question(page, question_label, question);
}

}  // namespace

void add_question(Page& page, std::string_view label, const Question& question) {
  page.text(label, plain_line(question.text) + (question.command.empty() ? "." : ":"), 4);
  if (question.prose)
    page.text(std::string(command_indent, ' '), plain_line(question.command) + ".");
  else if (!question.command.empty())
    page.lines(command_rows(page, question.command, command_indent));
}

std::vector<std::string> command_rows(const Page& page, const std::string& command, int indent) {
  const std::string blank(static_cast<std::size_t>(indent), ' ');
  std::string text = plain_block(command);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<std::string> rows;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    const auto remark = line.find("   #");
    const bool split = remark != std::string::npos && indent + count_columns(line) > page.width();
    for (auto& row : wrap(blank, line.substr(0, split ? remark : line.size()), page.width()))
      rows.push_back(std::move(row));
    if (split)
      for (auto& row : wrap(blank, line.substr(remark + 3), page.width())) rows.push_back(page.paint.dim(row));
    from = end + 1;
  }
  return rows;
}

std::size_t hidden_fixes(const Report& report) {
  return report.fixes.size() - std::min(report.fixes.size(), max_fixes);
}

void add_verdict(Page& page, const Report& report, const RenderOptions& view) {
  const Verdict& verdict = report.verdict;
  if (is_all_clear(report)) return add_all_clear(page, report, view.quiet);
  // Without the details above, print the headline: it also has the numbers and the location.
  const bool unclear =
      !view.quiet && verdict.cause == "undetermined" && !report.causes.empty() && !is_nothing_to_fix(report);
  const bool said = verdict.outcome == Outcome::ended_otherwise && !view.verbose && !root_incidents(report).empty();
  const std::string conclusion = view.quiet ? verdict.headline
                                 : said     ? last_end_words(report)  // the first line has the rest
                                            : conclusion_words(report);
  page.text("", paint_outcome(page, report) + "  " +
                    page.paint.bold(plain_line(unclear ? caught_words(report) + "Cause unclear" : conclusion)));
  if (view.quiet) return;
  if (unclear) add_candidates(page, report);
  if (is_about_earlier_run(report) && !report.fixes.empty()) page.text(" ", "For the earlier run:");
  view.verbose ? add_all_advice(page, report) : add_first_advice(page, report);
  if (is_unexplained(report))
    page.text(" Next: ",
              "this may not be the log of a training job; oomdoctor list formats shows what oomdoctor reads.");
  const std::string again = retry_words(verdict);
  if (report.fixes.empty() && !is_nothing_to_fix(report) && !again.empty())
    page.text(" Run again: ", plain_line(again) + ".");
}

std::string verdict_line(const Page& page, const Report& report) {
  std::string words = first_words(report);
  if (words.empty()) words = report.verdict.headline;
  if (is_all_clear(report)) {
    const std::string growing = growing_series_words(report);
    words = "in " + read_words(report) + (growing.empty() ? "" : ", but memory grows: " + growing);
  }
  return paint_outcome(page, report) + "  " + page.paint.bold(plain_line(words));
}

void add_held_back(Page& page, const HeldBack& advice) {
  page.text("Won't help: ", page.paint.bold(plain_line(advice.title)) + ". " + capitalised(plain_line(advice.because)),
            2);
}

void add_lost(Page& page, const Report& report, std::size_t max_lost) {
  const bool only_in_verdict = report.lost.size() == 1 && report.more_lost == 0 && report.verdict.cause.empty() &&
                               report.verdict.headline.find(lost_evidence_words(report)) != std::string::npos;
  if (only_in_verdict) return;
  const std::size_t shown = std::min(report.lost.size(), max_lost);
  for (std::size_t i = 0; i < shown; ++i)
    page.text(page.paint.warning("Lost: "), plain_line(lost_evidence_words(report.lost[i])), 2);
  const auto more = static_cast<std::int64_t>(report.lost.size() - shown) + report.more_lost;
  if (more > 0) page.text(page.paint.warning("Lost: "), fmt::format("{} more", count_text(more)), 2);
}

void add_snapshots(Page& page, const Report& report) {
  const ReportSnapshot* const main = main_snapshot(report);
  if (main == nullptr) return;
  for (const SnapshotLine& line : snapshot_lines(*main)) page.text(line.label + ": ", plain_line(line.text), 2);
  if (report.snapshots.size() > 1)
    page.text("  ",
              plural(static_cast<std::int64_t>(report.snapshots.size()) - 1, "more snapshot is", "more snapshots are") +
                  " in the JSON report");
}

void add_notes(Page& page, const Report& report, std::size_t max_notes) {
  const auto add = [&](const ReportNote& note) {
    const std::string where = note.location ? "  [" + plain_line(short_location(report, *note.location)) + "]" : "";
    page.text(note.severity == "note" ? page.paint.dim("Note: ") : page.paint.warning("Note: "),
              plain_line(note.text) + page.paint.dim(where), 2);
  };
  constexpr std::size_t max_brief = 8;  // the devices of one machine
  std::size_t grave = 0, brief = 0;
  for (const ReportNote& note : report.notes)
    if (note.severity != "note" && grave++ < max_notes) add(note);
  for (const ReportNote& note : report.notes)
    if (note.severity == "note" && (max_notes == all || (note.brief && brief++ < max_brief))) add(note);
}

}  // namespace oomdoctor::terminal

namespace oomdoctor {
namespace {

constexpr int min_width = 40;

/// Between the details and the verdict: what the short report leaves out, and how to learn more about the cause; only a
/// line if there is nothing to separate.
std::vector<std::string> rule(const Report& report, const RenderOptions& view, int width) {
  std::string text, explain;
  if (!view.verbose && !(report.incidents.empty() && report.fixes.empty())) {
    const auto hidden = static_cast<std::int64_t>(terminal::hidden_fixes(report));
    text = "── -v shows the evidence";
    if (hidden > 0) text += " and " + plural(hidden, "more fix", "more fixes");
    if (const std::string id = explained_id(report); !id.empty()) explain = "oomdoctor explain " + plain_line(id);
  }
  std::vector<std::string> rows;
  if (const std::string both = text + "; " + explain; !explain.empty() && count_columns(both) < width)
    text = both;
  else if (!explain.empty())
    rows.push_back("   " + explain);
  if (!text.empty()) text += " ";
  if (count_columns(text) > width) text.clear();
  for (int i = count_columns(text); i < width; ++i) text += "─";
  rows.insert(rows.begin(), text);
  return rows;
}

}  // namespace

std::string terminal_text(const Report& report, const RenderOptions& view) {
  Page page(std::max(view.width, min_width), Paint{view.color, view.ascii});
  if (view.quiet) {
    page.line(terminal::verdict_line(page, report));
    return page.str();
  }
  const bool verbose = view.verbose || !report.trace.empty() || report.why_not;
  verbose ? terminal::add_evidence(page, report) : terminal::add_brief(page, report);
  if (!page.empty() && !(report.incidents.empty() && report.fixes.empty() && !verbose))
    for (const std::string& row : rule(report, view, page.width())) page.line(page.paint.dim(row));
  terminal::add_verdict(page, report, view);
  return page.str();
}

}  // namespace oomdoctor
