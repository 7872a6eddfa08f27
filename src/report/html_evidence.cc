// The failures as the log printed them, and what was read.
#include <algorithm>

#include "base/bytes.h"
#include "report/excerpt.h"
#include "report/html_sections.h"
#include "report/sink.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

constexpr std::size_t in_full = 8;
constexpr std::size_t inputs_listed = 64;

/// The cited line, cut around what matters, with carets under it.
void add_excerpt(Document& page, const ReportIncident& of) {
  constexpr int widest = 112;
  if (of.location.excerpt.empty()) return;
  const std::string gutter = fmt::format("{} │ ", of.location.line);
  const Cited line = cite(of, widest);
  page.add("<pre class=\"excerpt\"><span class=\"place\">{}</span>{}{}{}\n", gutter, html_inline(line.before),
           line.mark.empty() ? "" : "<mark>" + html_inline(line.mark) + "</mark>", html_inline(line.after));
  if (!line.mark.empty()) {
    const auto blanks = [](int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); };
    page.add("<span class=\"place\">{}│ </span>{}<b>{}{}</b>\n", blanks(columns_of(gutter) - 2),
             blanks(columns_of(line.before)), std::string(static_cast<std::size_t>(columns_of(line.mark)), '^'),
             mark_label(line, of));
  }
  page.add("</pre>\n");
  const std::string whole = plain_line(of.location.excerpt);
  if (columns_of(whole) > widest)
    page.add("<details class=\"cited\"><summary>the whole line</summary><pre class=\"whole\">{}</pre></details>\n",
             html_inline(whole));
}

void add_incident(Document& page, const Report& report, const ReportIncident& of) {
  page.add("<article>\n<h3>{}</h3>\n<p><code>{}</code>", html_inline(incident_title(of)),
           html_inline(place(of.location)));
  if (const std::string who = incident_circumstances(of); !who.empty())
    page.add(" <span class=\"muted\">{}</span>", html_inline(who));
  const auto again = static_cast<std::int64_t>(of.occurrences.size()) + of.more_occurrences;
  if (again > 0) {
    page.add(", printed again {}", plural(again, "time", "times"));
    if (!of.occurrences.empty()) page.add(" (<code>{}</code>)", html_inline(places(of.occurrences, 5)));
  }
  page.add("</p>\n");
  add_excerpt(page, of);
  if (of.frame) {
    page.add("<p>Your code: <code>{}</code>", html_inline(fmt::format("{}:{}", of.frame->file, of.frame->line)));
    if (!of.frame->function.empty()) page.add(" in <code>{}</code>", html_inline(of.frame->function));
    page.add("</p>\n");
    if (!of.frame->code.empty()) page.add("<pre><code>{}</code></pre>\n", html_inline(of.frame->code));
  }
  for (const std::string& words : following_words(report, of, 6)) page.add("<p>Then {}.</p>\n", html_inline(words));
  page.add("</article>\n");
}

void add_inputs(Document& page, const Report& report) {
  page.add(
      "<div class=\"wide\"><table>\n<thead><tr><th>file</th><th>kind</th><th class=\"n\">lines</th><th "
      "class=\"n\">size</th><th></th></tr></thead>\n<tbody>\n");
  for (std::size_t i = 0; i < std::min(report.inputs.size(), inputs_listed); ++i) {
    const ReportInput& input = report.inputs[i];
    page.add("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}{}</td></tr>\n",
             html_inline(input.path == "-" ? "standard input" : input.path), html_inline(input.kind),
             count_text(input.lines), bytes_text(input.bytes), html_inline(input.compression),
             input.truncated ? " cut off at its end" : "");
  }
  page.add("</tbody>\n</table></div>\n");
  if (report.inputs.size() > inputs_listed)
    page.add("<p class=\"muted\">And {} more.</p>\n",
             plural(static_cast<std::int64_t>(report.inputs.size() - inputs_listed), "file", "files"));
}

/// "torch_oom 1, progress 1,270"
std::string readers(const ReportCoverage& coverage) {
  std::vector<std::string> parts;
  for (const auto& [name, lines] : coverage.by_parser) parts.push_back(name + ' ' + count_text(lines));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void add_incidents(Document& page, const Report& report) {
  std::size_t shown = 0;
  std::int64_t more = report.more_incidents;
  Document list;
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    if (shown++ < in_full || report.verdict.incident == incident.id)
      add_incident(list, report, incident);
    else
      ++more;
  }
  if (shown == 0) return;
  page.add("<section id=\"failures\">\n<h2>{}</h2>\n{}", shown == 1 ? "The failure" : "The failures", list.take());
  if (more > 0)
    page.add("<p class=\"muted\">{} in the JSON report.</p>\n", plural(more, "more failure is", "more failures are"));
  page.add("</section>\n");
}

void add_evidence(Document& page, const Report& report) {
  page.add("<section id=\"evidence\">\n<h2>Inputs</h2>\n");
  for (const auto& note : report.notes) {
    page.add("<p class=\"note {}\">{}", note.severity == "note" ? "" : "warn", html_inline(note.text));
    if (note.location) page.add(" <code>{}</code>", html_inline(place(*note.location)));
    page.add("</p>\n");
  }
  add_inputs(page, report);
  page.add("<p class=\"muted\">{} read, {} recognised{}{}.</p>\n", plural(report.coverage.lines, "line", "lines"),
           count_text(report.coverage.claimed), report.coverage.by_parser.empty() ? "" : ": ",
           html_inline(readers(report.coverage)));
  if (!report.trace.empty()) {
    page.add("<details><summary>What is known: {}</summary>\n<pre>",
             plural(static_cast<std::int64_t>(report.trace.size()), "fact", "facts"));
    for (const auto& line : report.trace) page.add("{}\n", html_inline(line));
    page.add("</pre>\n</details>\n");
  }
  page.add("</section>\n<footer>oomdoctor {}</footer>\n", html_inline(report.tool_version));
}

}  // namespace oomdoctor::html
