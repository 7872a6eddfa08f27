// The last lines of the report, written to stand alone: what died, why, how sure, what to try first, whether to retry.
#include <fmt/format.h>

#include <algorithm>

#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

std::string outcome_word(const Page& page, const Report& report) {
  const Verdict& verdict = report.verdict;
  const std::string words = outcome_words(report);
  if (verdict.outcome == "oom") return page.paint.error(words);
  return verdict.outcome == "no_oom" ? page.paint.good(words) : page.paint.warning(words);
}

std::string cause_name(const ReportCause& cause) { return plain_line(cause.title.empty() ? cause.cause : cause.title); }

/// The cause and how sure it is. A headline that names the cause already gets the strongest reason instead.
std::string why_text(const Report& report) {
  const Verdict& verdict = report.verdict;
  if (verdict.cause.empty()) return {};
  if (verdict.cause != "undetermined") {
    const std::string name = verdict.cause_title.empty() ? verdict.cause : verdict.cause_title;
    const bool said = verdict.headline.find(name) != std::string::npos;
    if (said && !report.causes.empty() && !report.causes[0].because.empty())
      return fmt::format("{} sure: {}", percent_text(verdict.confidence), plain_line(report.causes[0].because[0].text));
    return fmt::format("{} ({} sure)", plain_line(name), percent_text(verdict.confidence));
  }
  if (report.causes.empty()) return "not known: the log says too little";
  std::string text =
      fmt::format("not decided: {} ({})", cause_name(report.causes[0]), percent_text(report.causes[0].probability));
  if (report.causes.size() > 1)
    text += fmt::format(" or {} ({})", cause_name(report.causes[1]), percent_text(report.causes[1].probability));
  return text;
}

/// With no failure and no risk: that, how much was read, and what was looked for.
void add_all_clear(Page& page, const Report& report) {
  const auto lines = plural(report.coverage.lines, "line", "lines");
  if (report.coverage.claimed == 0) {
    page.text("",
              page.paint.warning("NOTHING RECOGNISED") +
                  fmt::format(" in {}: this may not be a log of a training job, or it is of a kind that oomdoctor does "
                              "not read (oomdoctor list formats).",
                              lines));
    return;
  }
  const auto cut = std::find_if(report.inputs.begin(), report.inputs.end(), [](const auto& i) { return i.truncated; });
  if (cut == report.inputs.end())
    page.text("", page.paint.good(outcome_words("no_oom")) + fmt::format(" in {}.", lines));
  else
    page.text("", page.paint.warning(outcome_words("no_oom")) +
                      fmt::format(" in the {} that could be read: the rest of {} is missing, and a failure stands at "
                                  "the end of its log.",
                                  lines, plain_line(cut->path)));
  std::string looked =
      "out-of-memory messages of GPU allocators, drivers and libraries; kills by the kernel, a container, a "
      "scheduler or a signal; shared memory that ran out";
  const auto followed = static_cast<std::int64_t>(
      std::count_if(report.series.begin(), report.series.end(),
                    [](const ReportSeries& series) { return series.trend.shape != "too_short"; }));
  if (followed > 0) {
    looked += report.more_series == 0
                  ? fmt::format("; growth in {}", plural(followed, "memory series", "memory series"))
                  : fmt::format("; growth in {} of {}", count_text(followed),
                                plural(followed + report.more_series, "memory series", "memory series"));
  }
  page.text("  looked for ", looked + ".");
}

}  // namespace

void add_verdict(Page& page, const Report& report) {
  const Verdict& verdict = report.verdict;
  if (verdict.outcome == "no_oom" && report.incidents.empty()) {
    add_all_clear(page, report);
    return;
  }
  page.text("", outcome_word(page, report) + "  " + page.paint.bold(plain_line(verdict.headline)));
  if (const std::string why = why_text(report); !why.empty()) page.text("  why        ", why);
  if (!report.fixes.empty()) {
    const ReportFix& fix = report.fixes.front();
    const std::string scope = fix.settings.empty() ? "" : plain_line(fix.settings.front().scope);
    page.text("  try first  ", plain_line(fix.title) + (fix.if_not_already ? ", if not already done" : "") +
                                   (verdict.retry.decision == "retry_with_change" ? ", then run again" : "") +
                                   (scope.empty() ? "" : page.paint.dim(" (" + scope + ")")) + ":");
    if (!fix.settings.empty()) add_setting(page, fix.settings.front(), 4);
  }
  // A change that the first fix names needs no second line.
  const bool said = verdict.retry.decision == "retry_with_change" && !report.fixes.empty();
  if (!verdict.retry.decision.empty() && !said) page.text("  run again  ", plain_line(retry_words(verdict.retry)));
}

}  // namespace oomdoctor::terminal
