// The failures as the log printed them, the reasons with their lines, and the inputs. The page shows each cited line
// once and links every mention to it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "render/excerpt.h"
#include "render/html_sections.h"
#include "render/layout.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

bool is_in(const std::vector<const Location*>& all, const Location& at) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Location* other) { return other->line == at.line && other->path == at.path; });
}

/// Whether the page lists the cause: the first one, and its rivals.
bool is_listed(const Report& report, const ReportCause& cause) {
  return &cause == &report.causes.front() || cause.probability >= min_shown_probability;
}

bool is_before(const Location& a, const Location& b) { return a.path != b.path ? a.path < b.path : a.line < b.line; }

constexpr std::size_t max_shown_failures = 8;
constexpr int min_mark_width = 16;  ///< columns

/// The cited line between its neighbours, with carets under the important part. Long lines scroll.
void add_excerpt(Document& page, const Content& content, const ReportIncident& of) {
  if (of.location.excerpt.empty()) return;
  std::int64_t last = of.location.line;
  for (const Location& near : of.context) last = std::max(last, near.line);
  const int digits = static_cast<int>(std::to_string(last).size());
  const auto add_context = [&](bool before) {
    for (const Location& near : of.context)
      if ((near.line < of.location.line) == before)
        page.add("<span class=\"near\"><span class=\"place\">{:>{}} │ </span>{}\n</span>", near.line, digits,
                 html_inline(plain_line(near.excerpt)));
  };
  const MarkedLine line = mark_line(of, static_cast<int>(4 * of.location.excerpt.size()) + min_mark_width);
  page.add("<pre class=\"excerpt\" tabindex=\"0\"{}>", content.citations.anchor(of.location));
  add_context(true);
  page.add("<span class=\"place\">{:>{}} │ </span>{}{}{}\n", of.location.line, digits, html_inline(line.before),
           line.mark.empty() ? "" : "<mark>" + html_inline(line.mark) + "</mark>", html_inline(line.after));
  if (!line.mark.empty()) {
    const auto blanks = [](int count) { return std::string(static_cast<std::size_t>(count), ' '); };
    page.add("<span class=\"carets\"><span class=\"place\">{} │ </span>{}<b>{}{}</b>\n</span>", blanks(digits),
             blanks(count_columns(line.before)), std::string(static_cast<std::size_t>(count_columns(line.mark)), '^'),
             mark_label(line, of));
  }
  add_context(false);
  page.add("</pre>\n");
}

void add_failure(Document& page, const Content& content, const ReportIncident& of) {
  page.add("<article>\n<h3>{}</h3>\n<p><code>{}</code>", html_inline(incident_title(of)),
           html_inline(place(of.location)));
  if (const std::string who = incident_circumstances(of); !who.empty())
    page.add(" <span class=\"muted\">{}</span>", html_inline(who));
  if (const std::int64_t again = printed_again(of); again > 0) {
    // Kernel, scheduler and shell each report the same death in their own words.
    page.add(", {} {}", of.kind == "host" ? "also reported" : "printed again", plural(again, "time", "times"));
    if (!of.occurrences.empty()) page.add(" (<code>{}</code>)", html_inline(places(of.occurrences, 5)));
  }
  page.add("</p>\n");
  add_excerpt(page, content, of);
  if (of.frame) {
    page.add("<p>Your code: <code>{}</code>", html_inline(place_words(*of.frame, of.frame->file)));
    if (!of.frame->function.empty()) page.add(" in <code>{}</code>", html_inline(of.frame->function));
    page.add("</p>\n");
    if (!of.frame->code.empty()) page.add("<pre><code>{}</code></pre>\n", html_inline(code_words(*of.frame)));
  }
  for (const std::string& words : following_words(content.report, of, 6))
    page.add("<p>Then {}.</p>\n", html_inline(words));
  page.add("</article>\n");
}

void add_list(Document& page, const Content& content, const std::vector<Reason>& reasons, std::size_t first,
              std::string_view sign) {
  for (std::size_t i = first; i < reasons.size(); ++i)
    page.add("<li class=\"{}\">{}</li>\n", sign,
             cited(reasons[i].text, content.citations.links(reasons[i].locations, 4)));
}

/// Folded, what `oomdoctor explain` prints of a cause that has no page on a site. Its first words are those of the
/// log's cause.
void add_explanation(Document& page, const ReportCause& cause) {
  const CauseExplanation& of = cause.explanation;
  if (of.text.empty()) return;
  page.add(
      "<details class=\"explanation\"><summary>What oomdoctor knows about it: <code>oomdoctor explain {}</code>"
      "</summary>\n",
      html_inline(cause.cause));
  if (of.text != cause.explain) page.add("<p>{}</p>\n", with_code(of.text));
  for (const SignList& list : list_signs(of)) {
    page.add("<h4>{}</h4>\n<ul class=\"reasons\">\n", list.title);
    for (const std::string& text : *list.signs) page.add("<li class=\"{}\">{}</li>\n", list.side, with_code(text));
    page.add("</ul>\n");
  }
  page.add("<h4>Fixes</h4>\n");
  if (of.fixes.empty()) page.add("<p>None: {}</p>\n", with_code(of.no_fix));
  if (!of.fixes.empty()) page.add("<ul>\n");
  for (const auto& [id, title] : of.fixes) page.add("<li><code>{}</code> {}</li>\n", html_inline(id), with_code(title));
  if (!of.fixes.empty()) page.add("</ul>\n");
  page.add("</details>\n");
}

/// `skipped` is the number of reasons that the verdict shows already.
void add_cause(Document& page, const Content& content, const ReportCause& cause, std::size_t skipped, bool open) {
  const std::string& title = cause.title.empty() ? cause.cause : cause.title;
  page.add("<details class=\"cause\"{}><summary><meter aria-label=\"probability\" min=\"0\" max=\"1\" ",
           open ? " open" : "");
  page.add("value=\"{:.3f}\"></meter> <span class=\"number\">{}</span> <strong>{}</strong> <code>{}</code></summary>\n",
           cause.probability, html_inline(percent_text(cause.probability)), with_code(title), html_inline(cause.cause));
  if (!cause.explain.empty()) page.add("<p>{}</p>\n", with_code(cause.explain));
  if (!cause.guide.empty())
    page.add("<p class=\"muted\">More: <code>oomdoctor explain {}</code> or <a href=\"{}\">the page about it</a></p>\n",
             html_inline(cause.cause), html_inline(cause.guide));
  if (cause.because.empty() && cause.against.empty()) page.add("<p class=\"muted\">No sign of it in this log.</p>\n");
  if (cause.because.size() + cause.against.size() > skipped) {
    page.add("<ul class=\"reasons\">\n");
    add_list(page, content, cause.because, skipped, "for");
    add_list(page, content, cause.against, 0, "against");
    page.add("</ul>\n");
  }
  add_explanation(page, cause);
  page.add("</details>\n");
}

void add_cited_lines(Document& page, const Content& content) {
  if (content.citations.lines().empty()) return;
  std::vector<const Location*> rows = content.citations.lines();
  for (const Location& near : content.report.neighbours)
    if (!is_in(rows, near)) rows.push_back(&near);
  std::stable_sort(rows.begin(), rows.end(), [](const Location* a, const Location* b) { return is_before(*a, *b); });
  page.add("<h3>Cited lines</h3>\n<div class=\"lines\" tabindex=\"0\">\n");
  const Location* before = nullptr;
  for (const Location* at : rows) {
    const std::string anchor = is_in(content.citations.lines(), *at) ? content.citations.anchor(*at) : "";
    const bool gap = before != nullptr && (before->path != at->path || before->line + 1 < at->line);
    const std::string_view look = anchor.empty() ? (gap ? " class=\"near gap\"" : " class=\"near\"")
                                  : gap          ? " class=\"gap\""
                                                 : "";
    page.add("<div{}{}><span class=\"place\">{}</span><code>{}</code></div>\n", anchor, look,
             anchor.empty() ? std::to_string(at->line) : html_inline(short_locations(content.report, {*at}, 1)),
             html_inline(plain_line(at->excerpt)));
    before = at;
  }
  page.add("</div>\n");
  if (const std::string& lost = content.report.neighbours_lost; !lost.empty())
    page.add("<p class=\"muted\">Lines next to the cited ones are lost: {}.</p>\n", html_inline(lost));
}

void add_input_row(Document& page, const ReportInput& input) {
  std::string kind = input.kind + (input.compression.empty() ? "" : ", " + input.compression);
  if (input.truncated) kind += ", cut off at its end";
  page.add("<tr><th scope=\"row\">{}</th><td data-title=\"kind\">{}</td>",
           html_inline(input.path == "-" ? "standard input" : input.path), html_inline(kind));
  page.add("<td class=\"n\" data-title=\"lines\">{}</td><td class=\"n\" data-title=\"size\">{}</td></tr>\n",
           count_text(input.lines), bytes_text(input.bytes));
}

void add_input_table(Document& page, const Report& report) {
  add_folded(page, report.inputs.size(), rows_shown, [&](std::size_t from, std::size_t to) {
    page.add(
        "<table class=\"stacked\">\n<thead><tr><th>file</th><th>kind</th><th class=\"n\">lines</th><th "
        "class=\"n\">size</th></tr></thead>\n<tbody>\n");
    for (std::size_t i = from; i < to; ++i) add_input_row(page, report.inputs[i]);
    page.add("</tbody>\n</table>\n");
  });
}

/// For example "torch_oom 1, progress 1,270".
std::string readers(const ReportCoverage& coverage) {
  std::vector<std::string> parts;
  for (const auto& [name, lines] : coverage.by_parser) parts.push_back(name + ' ' + count_text(lines));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Citations::Citations(const Report& report) : report_(report) {
  for (const auto& incident : report.incidents)
    if (!incident.follows) add(incident.location, failures_);
  const auto add_reasons = [&](const ReportCause& cause) {
    for (const auto* reasons : {&cause.because, &cause.against})
      for (const Reason& reason : *reasons)
        for (const Location& at : reason.locations) add(at, lines_);
  };
  for (const auto& cause : report.causes)
    if (is_listed(report, cause)) add_reasons(cause);
  if (report.why_not) add_reasons(*report.why_not);
  for (const auto& fix : report.fixes)
    for (const Location& at : fix.locations) add(at, lines_);
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Location* a, const Location* b) { return is_before(*a, *b); });
}

/// The page can show only lines that the report quotes.
void Citations::add(const Location& at, std::vector<const Location*>& to) {
  if (!at.excerpt.empty() && !is_in(failures_, at) && !is_in(lines_, at)) to.push_back(&at);
}

std::string Citations::id(const Location& at) const {
  const auto input = std::find_if(report_.inputs.begin(), report_.inputs.end(),
                                  [&](const ReportInput& of) { return of.path == at.path; });
  return fmt::format("line-{}-{}", input - report_.inputs.begin() + 1, at.line);
}

std::string Citations::anchor(const Location& at) const {
  return is_in(failures_, at) || is_in(lines_, at) ? fmt::format(" id=\"{}\"", id(at)) : "";
}

std::string Citations::link(const Location& at, const std::string& text) const {
  if (anchor(at).empty()) return html_inline(text);
  return fmt::format("<a href=\"#{}\">{}</a>", id(at), html_inline(text));
}

std::string Citations::links(std::vector<Location> all, std::size_t most) const {
  if (all.empty()) return {};
  std::stable_sort(all.begin(), all.end(), is_before);
  if (all.front().event || all.front().offset) return html_inline(short_locations(report_, all, most));
  const bool one_input = report_.inputs.size() == 1;
  const std::size_t named = std::min(all.size(), most);
  std::string text = !one_input ? "" : all.size() == 1 ? "line " : "lines ";
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += link(all[i], one_input ? std::to_string(all[i].line) : short_location(report_, all[i]));
  }
  if (all.size() > named) text += fmt::format(" and {} more", all.size() - named);
  return text;
}

std::string Citations::links_of_range(const Location& first, const Location& last) const {
  if (report_.inputs.size() != 1 || first.event || first.offset) return links({first, last}, 2);
  return fmt::format("lines {}–{}", link(first, std::to_string(first.line)), link(last, std::to_string(last.line)));
}

void add_failures(Document& page, const Content& content) {
  const Report& report = content.report;
  std::size_t shown = 0;
  std::int64_t more = report.more_incidents;
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    if (shown++ < max_shown_failures || report.verdict.incident == incident.id)
      add_failure(page, content, incident);
    else
      ++more;
  }
  if (more > 0)
    page.add("<p class=\"muted\">{} in the JSON report.</p>\n", plural(more, "more failure is", "more failures are"));
}

void add_reasons(Document& page, const Content& content) {
  const Report& report = content.report;
  if (!report.causes.empty()) page.add("<h3>Causes</h3>\n");
  double others = 1;  // the share of the causes that are not listed
  for (const auto& cause : report.causes) {
    const bool first = &cause == &report.causes.front();
    if (!is_listed(report, cause)) break;
    add_cause(page, content, cause, first && has_cause(report.verdict) && !cause.because.empty() ? 1 : 0, first);
    others -= std::round(100 * cause.probability) / 100;
  }
  if (!report.causes.empty() && others >= min_shown_probability)
    page.add("<p class=\"muted\">Other causes: {}.</p>\n", percent_text(others));
  if (report.why_not) {
    page.add("<h3>Why not {}</h3>\n", html_inline(report.why_not->cause));
    add_cause(page, content, *report.why_not, 0, true);
  }
  add_cited_lines(page, content);
}

void add_inputs(Document& page, const Content& content) {
  const Report& report = content.report;
  for (const ReportLostEvidence& lost : report.lost)
    page.add("<p class=\"note warn\">Lost: {}</p>\n", html_inline(lost_evidence_words(lost)));
  if (report.more_lost > 0) page.add("<p class=\"note warn\">Lost: {} more</p>\n", count_text(report.more_lost));
  const ReportSeries* growing = is_all_clear(report) ? nullptr : find_leaking_series(report);
  const std::string alone = growing == nullptr ? "" : only_growing_words(report, *growing);
  for (const auto& note : report.notes) {
    if (!alone.empty() && note.text.starts_with(alone)) continue;  // the card of the verdict has it
    page.add("<p class=\"note {}\">{}", note.severity == "note" ? "" : "warn", html_inline(note.text));
    if (note.location) page.add(" (<code>{}</code>)", html_inline(place(*note.location)));
    page.add("</p>\n");
  }
  add_input_table(page, report);
  if (report.coverage.lines > 0)  // a snapshot has none
    page.add("<p class=\"muted\">{} read, {} recognised{}{}.</p>\n", plural(report.coverage.lines, "line", "lines"),
             count_text(report.coverage.claimed), report.coverage.by_parser.empty() ? "" : ": ",
             html_inline(readers(report.coverage)));
  if (report.trace.empty()) return;
  page.add("<details><summary>{}</summary>\n<pre>",
           plural(static_cast<std::int64_t>(report.trace.size()), "known fact", "known facts"));
  for (const auto& line : report.trace) page.add("{}\n", html_inline(line));
  page.add("</pre>\n</details>\n");
}

}  // namespace oomdoctor::html
