// The last lines of the report, written to stand alone: what died, why, how sure, what to try first, whether to retry.
#include <fmt/format.h>

#include <algorithm>

#include "report/advice_words.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

std::string outcome_word(const Page& page, const Report& report) {
  const Verdict& verdict = report.verdict;
  const std::string words = outcome_words(report.verdict.outcome);
  if (verdict.outcome == "oom") return page.paint.error(words);
  return verdict.outcome == "no_oom" || verdict.outcome == "ended_otherwise" ? page.paint.good(words)
                                                                             : page.paint.warning(words);
}

/// With no failure and no risk: that, how much was read, and what was looked for.
void add_all_clear(Page& page, const Report& report) {
  const auto lines = plural(report.coverage.lines, "line", "lines");
  if (report.coverage.claimed == 0) {
    page.text(
        "", page.paint.warning("NOTHING RECOGNISED") +
                fmt::format(" in {}, and no sign of memory failure: this may not be a log of a training job, or it is "
                            "of a kind that oomdoctor does not read (oomdoctor list formats).",
                            lines));
    return;
  }
  const auto cut = std::find_if(report.inputs.begin(), report.inputs.end(), [](const auto& i) { return i.truncated; });
  const std::string growing = plain_line(still_growing_words(report));
  if (cut == report.inputs.end() && growing.empty())
    page.text("", page.paint.good(outcome_words("no_oom")) + fmt::format(" in {}.", lines));
  else if (cut == report.inputs.end())
    page.text("", page.paint.warning(outcome_words("no_oom")) + fmt::format(" in {}, but memory grows.", lines));
  else
    page.text("", page.paint.warning(outcome_words("no_oom")) +
                      fmt::format(" in the {} that could be read: the rest of {} is missing, and a failure would be at "
                                  "its end.",
                                  lines, plain_line(cut->path)));
  if (!growing.empty()) page.text("  but        ", growing + ".");
  page.text("  looked for ", looked_for_words(report) + ".");
}

}  // namespace

void add_verdict(Page& page, const Report& report) {
  const Verdict& verdict = report.verdict;
  if (verdict.outcome == "no_oom" && report.incidents.empty()) {
    add_all_clear(page, report);
    return;
  }
  page.text("", outcome_word(page, report) + "  " + page.paint.bold(plain_line(verdict.headline)));
  if (const std::string why = plain_line(why_words(report)); !why.empty()) page.text("  why        ", why);
  if (!report.fixes.empty()) {
    const ReportFix& fix = report.fixes.front();
    const std::string scope = fix.settings.empty() ? "" : plain_line(fix.settings.front().scope);
    page.text("  try first  ", plain_line(fix.title) + (fix.if_not_already ? ", if not already done" : "") +
                                   (verdict.retry.decision == "retry_with_change" ? ", then run again" : "") +
                                   (scope.empty() ? "" : page.paint.dim(" (" + scope + ")")) +
                                   (fix.settings.empty() ? "" : ":"));
    if (!fix.settings.empty()) add_setting(page, fix.settings.front(), 4);
  }
  // A change that the first fix names needs no second line.
  const bool said = verdict.retry.decision == "retry_with_change" && !report.fixes.empty();
  if (!verdict.retry.decision.empty() && !said) page.text("  run again  ", plain_line(retry_words(verdict.retry)));
}

}  // namespace oomdoctor::terminal
