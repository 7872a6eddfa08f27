// What a reader came for: the verdict, what to do, why, what does not help, what would settle it.
#include <algorithm>

#include "report/advice_words.h"
#include "report/html_sections.h"
#include "report/layout.h"
#include "report/sink.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr double least_probability = 0.02;  ///< causes below it are in the JSON report only
constexpr std::size_t fixes_open = 1;

std::string inline_or(const std::string& text, const std::string& otherwise) {
  return html_inline(text.empty() ? otherwise : text);
}

/// The verdict's look: nothing but its colour.
std::string_view tone(const Report& report) {
  if (report.verdict.outcome == "oom") return "bad";
  const bool cut = std::any_of(report.inputs.begin(), report.inputs.end(), [](const auto& i) { return i.truncated; });
  const bool clear = report.verdict.outcome == "no_oom" && report.incidents.empty() && report.coverage.claimed > 0;
  return clear && !cut && still_growing_words(report).empty() ? "good" : "warn";
}

/// A headline that goes on behind the outcome elsewhere begins here.
std::string as_title(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

void add_setting(Document& page, const FixSetting& setting) {
  std::string scope = html_inline(setting.scope);
  if (!setting.from.empty()) scope += fmt::format(" (now {})", html_inline(setting.from));
  page.add("<div class=\"setting\"><span class=\"scope\">{}</span><pre><code>{}</code></pre></div>\n", scope,
           html_block(setting.text));
}

void add_all_clear(Document& page, const Report& report) {
  const auto lines = plural(report.coverage.lines, "line", "lines");
  if (report.coverage.claimed == 0) {
    page.add(
        "<p class=\"outcome\">NOTHING RECOGNISED</p>\n<h1>No sign of memory failure, but this may not be a log of a "
        "training job</h1>\n<p>None of "
        "{} is of a kind that oomdoctor reads; <code>oomdoctor list formats</code> shows which are.</p>\n",
        lines);
    return;
  }
  page.add("<p class=\"outcome\">{}</p>\n<h1>Nothing in {} says that memory ran out</h1>\n", outcome_words("no_oom"),
           lines);
  for (const ReportInput& input : report.inputs)
    if (input.truncated)
      page.add("<p>The rest of <code>{}</code> is missing, and failures are at the end of a log.</p>\n",
               html_inline(input.path));
  if (const std::string growing = still_growing_words(report); !growing.empty())
    page.add("<p>But {}.</p>\n", html_inline(growing));
  page.add("<p class=\"muted\">Looked for {}.</p>\n", html_inline(looked_for_words(report)));
}

/// A reason with the places that it rests on; the lines themselves unfold.
void add_reason(Document& page, const Report& report, const Because& reason, std::string_view sign) {
  constexpr int widest = 220;
  page.add("<li class=\"{}\">{}", sign, html_inline(reason.text));
  if (!reason.locations.empty()) {
    page.add(" <details class=\"cited\"><summary>{}</summary><pre>",
             html_inline(short_places(report, reason.locations, 4)));
    for (const Location& at : reason.locations)
      page.add("<span class=\"place\">{}</span>  {}\n", html_inline(place(at)),
               html_inline(clip_end(plain_line(at.excerpt), widest)));
    page.add("</pre></details>");
  }
  page.add("</li>\n");
}

void add_cause(Document& page, const Report& report, const ReportCause& cause, bool open) {
  page.add(
      "<details class=\"cause\"{}><summary><meter min=\"0\" max=\"1\" value=\"{:.3f}\"></meter> <span "
      "class=\"number\">{}</span> <strong>{}</strong> <code>{}</code></summary>\n",
      open ? " open" : "", cause.probability, html_inline(percent_text(cause.probability)),
      inline_or(cause.title, cause.cause), html_inline(cause.cause));
  if (!cause.explain.empty()) page.add("<p>{}</p>\n", html_inline(cause.explain));
  if (cause.because.empty() && cause.against.empty()) page.add("<p class=\"muted\">No sign of it in this log.</p>\n");
  page.add("<ul class=\"reasons\">\n");
  for (const auto& reason : cause.because) add_reason(page, report, reason, "for");
  for (const auto& reason : cause.against) add_reason(page, report, reason, "against");
  page.add("</ul>\n</details>\n");
}

void add_fix(Document& page, const Report& report, const ReportFix& fix, bool open) {
  const std::vector<std::string> details = fix_details(fix);
  page.add("<li><details{}><summary><strong>{}</strong> <span class=\"facts\">{}</span></summary>\n",
           open ? " open" : "", html_inline(fix.title), html_inline(fmt::format("{}", fmt::join(details, ", "))));
  if (!fix.why.empty()) page.add("<p>{}</p>\n", html_inline(fix.why));
  for (const auto& setting : fix.settings) add_setting(page, setting);
  if (!fix.verify.empty()) page.add("<p class=\"muted\">It worked if {}.</p>\n", html_inline(fix.verify));
  if (!fix.locations.empty())
    page.add("<p class=\"muted\">Computed from {}{}{}.</p>\n", html_inline(short_places(report, fix.locations, 4)),
             fix.saves_formula.empty() ? "" : ": ", html_inline(fix.saves_formula));
  if (!fix.not_with.empty())
    page.add("<p class=\"muted\">Not together with <code>{}</code>.</p>\n",
             html_inline(fmt::format("{}", fmt::join(fix.not_with, ", "))));
  page.add("</details></li>\n");
}

}  // namespace

void add_verdict(Document& page, const Report& report) {
  const Verdict& verdict = report.verdict;
  page.add("<header class=\"verdict {}\">\n", tone(report));
  if (verdict.outcome == "no_oom" && report.incidents.empty()) {
    add_all_clear(page, report);
    page.add("</header>\n");
    return;
  }
  page.add("<p class=\"outcome\">{}</p>\n<h1>{}</h1>\n<dl>\n", outcome_words(report.verdict.outcome),
           inline_or(as_title(verdict.headline), verdict.cause_title));
  if (const std::string why = why_words(report); !why.empty()) page.add("<dt>Why</dt><dd>{}</dd>\n", html_inline(why));
  if (!report.fixes.empty()) {
    const ReportFix& fix = report.fixes.front();
    page.add("<dt>Try first</dt><dd>{}{}{}\n", html_inline(fix.title),
             fix.if_not_already ? ", if not already done" : "",
             verdict.retry.decision == "retry_with_change" ? ", then run again" : "");
    if (!fix.settings.empty()) add_setting(page, fix.settings.front());
    page.add("</dd>\n");
  }
  if (!verdict.retry.decision.empty() && (verdict.retry.decision != "retry_with_change" || report.fixes.empty()))
    page.add("<dt>Run again</dt><dd>{}</dd>\n", html_inline(retry_words(verdict.retry)));
  page.add("</dl>\n</header>\n");
}

void add_fixes(Document& page, const Report& report) {
  if (report.fixes.empty()) return;
  page.add("<section id=\"fixes\">\n<h2>What to do, in the order to try</h2>\n<ol class=\"fixes\">\n");
  for (std::size_t i = 0; i < report.fixes.size(); ++i) add_fix(page, report, report.fixes[i], i < fixes_open);
  page.add("</ol>\n");
  if (const std::string plan = plan_words(report); !plan.empty()) page.add("<p>{}</p>\n", html_inline(plan));
  page.add("</section>\n");
}

void add_causes(Document& page, const Report& report) {
  if (report.causes.empty() && !report.why_not) return;
  page.add("<section id=\"causes\">\n<h2>Evidence</h2>\n");
  for (const auto& cause : report.causes) {
    const bool first = &cause == &report.causes.front();
    if (!first && cause.probability < least_probability) break;
    add_cause(page, report, cause, first);
  }
  if (report.why_not) {
    page.add("<h3>Why not {}</h3>\n", html_inline(report.why_not->cause));
    add_cause(page, report, *report.why_not, true);
  }
  page.add("</section>\n");
}

void add_remarks(Document& page, const Report& report) {
  if (!report.held_back.empty()) {
    page.add("<section id=\"held-back\">\n<h2>What does not help here</h2>\n<ul>\n");
    for (const auto& advice : report.held_back)
      page.add("<li><strong>{}</strong>: {}</li>\n", html_inline(advice.title), html_inline(advice.because));
    page.add("</ul>\n</section>\n");
  }
  if (!report.questions.empty()) {
    page.add("<section id=\"questions\">\n<h2>To narrow it down</h2>\n<ul>\n");
    for (const auto& question : report.questions) {
      page.add("<li>{}", html_inline(question.text));
      if (!question.command.empty())
        page.add("<div class=\"setting\"><pre><code>{}</code></pre></div>", html_block(question.command));
      page.add("</li>\n");
    }
    page.add("</ul>\n</section>\n");
  }
}

}  // namespace oomdoctor::html
