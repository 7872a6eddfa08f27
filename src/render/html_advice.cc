// The main content of the page: the verdict, the fixes, what won't help, and the open questions.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "render/html_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_words.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t fixes_open = 3;  ///< the first one is next to the verdict

void add_all_clear(Document& page, const Report& report) {
  const auto lines = plural(report.coverage.lines, "line", "lines");
  page.add("<p class=\"outcome\">{}</p>\n<h1>Nothing in {} says that memory ran out</h1>\n",
           outcome_words(Outcome::no_oom), lines);
  const auto series = sort_series(report);
  const std::string growing = growing_series_words(report);
  if (!growing.empty())
    page.add("<p>But {}.</p>\n", html_inline(growing));
  else if (!series.empty() && !is_single(*series.front()))
    page.add("<p>{}: {}.</p>\n", html_inline(capitalised(series_title(report, *series.front()))),
             html_inline(trend_words(*series.front())));
  if (const std::string headroom = headroom_words(report); growing.empty() && !headroom.empty())
    page.add("<p>{}</p>\n", html_inline(headroom));
  page.add("<p class=\"muted\">Looked for {}.</p>\n", html_inline(performed_checks_words(report)));
}

std::string make_title(const Report& report) {
  if (has_cause(report.verdict)) return cause_name(report.verdict);
  return capitalised(conclusion_words(report));  // other outputs print it after the outcome
}

/// The headline without the cause, because the cause is the title.
std::string rest_of_headline(const Verdict& verdict, const std::string& title) {
  std::string_view rest = verdict.headline;
  for (const std::string_view known : {std::string_view(title), std::string_view("cause unclear")})
    if (rest.starts_with(known)) rest.remove_prefix(known.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(":; "), rest.size()));
  return capitalised(std::string(rest)) == title ? "" : capitalised(std::string(rest));
}

/// The strongest reason of the cause, with its lines. The section Evidence has the others.
void add_why(Document& page, const Content& content) {
  const Report& report = content.report;
  if (!has_cause(report.verdict) || report.causes.empty() || report.causes.front().because.empty()) return;
  const Reason& reason = report.causes.front().because.front();
  page.add("<p>{}</p>\n", cited(capitalised(reason.text), content.citations.links(reason.locations, 4)));
}

/// Whose memory ran out, how much was requested, and how much was free. The head of the page has the time.
void add_moment(Document& page, const Report& report, const std::string& title) {
  const ReportIncident* of = verdict_incident(report);
  if (of == nullptr) return;
  std::vector<std::string> parts;
  if (const std::string who = incident_circumstances(*of); !who.empty()) parts.push_back(who);
  if (!of->numbers.empty() && title.find(of->numbers) == title.npos) parts.push_back(of->numbers);
  if (!parts.empty()) page.add("<p class=\"muted\">{}</p>\n", html_inline(fmt::format("{}", fmt::join(parts, " · "))));
}

/// The number and the title, and the columns: savings and cost. A probability belongs to a cause, not to a fix.
void add_fix_head(Document& page, const Report& report, std::size_t index, std::string_view element) {
  const ReportFix& fix = report.fixes[index];
  page.add("<{0} class=\"fix-title\">{1}. {2}</{0}><span class=\"columns\">", element, index + 1, with_code(fix.title));
  page.add("<span class=\"unless\">{}</span>", fix.if_not_already ? "if not already set" : "");
  page.add("<span class=\"saves\">{}{}</span>", html_inline(saving_words(fix)),
           fix.enough ? fmt::format(" <b>{}</b>", enough_words) : "");
  page.add("<span class=\"cost\">{}</span></span>\n", html_inline(cost_words(fix)));
}

void add_fix_body(Document& page, const Content& content, const ReportFix& fix) {
  const std::string lines = content.citations.links(fix.locations, 4);
  if (!fix.why.empty()) page.add("<p>{}</p>\n", cited(fix.why, lines));
  if (fix.why.empty() && !lines.empty()) page.add("<p>See {}.</p>\n", lines);
  for (const FixSetting& setting : fix.settings) {
    const std::string place = setting.scope + (setting.from.empty() ? "" : " (now " + setting.from + ")");
    if (setting.prose)
      page.add("<p class=\"instruction\"><span class=\"muted\">{}:</span> {}</p>\n", html_inline(place),
               html_inline(plain_line(setting.text)));
    else
      add_command(page, place, setting.text);
  }
  if (!fix.verify.empty()) page.add("<p class=\"muted\">{}: {}.</p>\n", success_label(fix), with_code(fix.verify));
  if (!fix.saves_formula.empty()) page.add("<p class=\"muted\">Savings: {}.</p>\n", html_inline(fix.saves_formula));
  if (!fix.not_with.empty())
    page.add("<p class=\"muted\">Not together with <code>{}</code>.</p>\n",
             html_inline(fmt::format("{}", fmt::join(fix.not_with, ", "))));
}

void add_other_fixes(Document& page, const Content& content) {
  const Report& report = content.report;
  if (report.fixes.size() < 2) return;
  page.add("<ol class=\"fixes\">\n");
  for (std::size_t i = 1; i < report.fixes.size(); ++i) {
    page.add("<li><details{}><summary class=\"fix-head\">", i < fixes_open ? " open" : "");
    add_fix_head(page, report, i, "strong");
    page.add("</summary>\n");
    add_fix_body(page, content, report.fixes[i]);
    page.add("</details></li>\n");
  }
  page.add("</ol>\n");
}

}  // namespace

std::string cited(const std::string& text, const std::string& links) {
  const bool sentence = text.ends_with('.');
  const std::string words = with_code(sentence ? text.substr(0, text.size() - 1) : text);
  return words + (links.empty() ? "" : " (" + links + ")") + (sentence ? "." : "");
}

std::string with_code(const std::string& text) {
  const std::string escaped = html_inline(text);
  std::string out;
  for (std::size_t from = 0;;) {
    const auto begin = escaped.find('`', from);
    const auto end = begin == escaped.npos ? begin : escaped.find('`', begin + 1);
    if (end == escaped.npos) return out + escaped.substr(from);
    out += escaped.substr(from, begin - from) + "<code>" + escaped.substr(begin + 1, end - begin - 1) + "</code>";
    from = end + 1;
  }
}

void add_command(Document& page, const std::string& place, const std::string& text) {
  page.add("<div class=\"command\"><div class=\"command-head\"><span>{}</span></div><pre><code>{}</code></pre></div>\n",
           html_inline(place), html_block(text));
}

std::string_view tone(const Report& report) {
  if (report.verdict.outcome == Outcome::oom) return "bad";
  return is_all_clear(report) && growing_series_words(report).empty() ? "good" : "warn";
}

void add_verdict(Document& page, const Content& content) {
  const Report& report = content.report;
  const Verdict& verdict = report.verdict;
  if (is_all_clear(report)) return add_all_clear(page, report);
  const std::string probability = has_cause(verdict) ? html_inline(percent_text(verdict.confidence)) : "";
  const std::string title = make_title(report);
  page.add("<p class=\"outcome\">{}{}</p>\n<h1>{}</h1>\n", verdict_words(report),
           probability.empty() ? "" : " <span>cause: " + probability + "</span>", with_code(title));
  if (const std::string rest = rest_of_headline(verdict, title); !rest.empty())
    page.add("<p>{}</p>\n", with_code(rest));
  add_moment(page, report, title + rest_of_headline(verdict, title));
  add_why(page, content);
  if (is_unexplained(report))
    page.add(
        "<p>This may be no log of a training job; <code>oomdoctor list formats</code> shows what oomdoctor "
        "reads.</p>\n");
  // If the first fix names the change, a line about it would repeat it.
  const std::string again = retry_words(verdict);
  if (!again.empty() && (verdict.retry.decision != "retry_with_change" || report.fixes.empty()))
    page.add("<p>Run again: {}</p>\n", with_code(again));
}

void add_first_fix(Document& page, const Content& content) {
  if (content.report.fixes.empty()) return;
  page.add("<div class=\"first-fix\">\n");
  if (is_about_earlier_run(content.report)) page.add("<p class=\"muted\">For the earlier run:</p>\n");
  page.add("<div class=\"fix-head\">");
  add_fix_head(page, content.report, 0, "h2");
  page.add("</div>\n");
  add_fix_body(page, content, content.report.fixes.front());
  page.add("</div>\n");
}

void add_fixes(Document& page, const Content& content) {
  const Report& report = content.report;
  add_other_fixes(page, content);
  if (const std::string plan = plan_words(report); !plan.empty()) page.add("<p>{}</p>\n", html_inline(plan));
  if (!report.held_back.empty()) page.add("<h3>Won't help</h3>\n<ul>\n");
  for (const auto& advice : report.held_back)
    page.add("<li><strong>{}</strong>: {}</li>\n", with_code(advice.title), with_code(advice.because));
  if (!report.held_back.empty()) page.add("</ul>\n");
  if (!report.questions.empty()) page.add("<h3>To narrow it down</h3>\n");
  for (const auto& question : report.questions) {
    page.add("<p>{}</p>\n", with_code(question.text));
    if (!question.command.empty()) add_command(page, "run", question.command);
  }
}

}  // namespace oomdoctor::html
