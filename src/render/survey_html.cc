#include "render/survey_html.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "render/document.h"
#include "render/html_sections.h"
#include "report/escape.h"
#include "report/survey.h"
#include "report/survey_words.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

/// A cell with a value to sort by and its words. On a phone, where a list of cells has no head, `title` is before it.
std::string value_cell(const std::string& value, const std::string& words, std::string_view title) {
  const std::string label = title.empty() ? "" : fmt::format(" data-title=\"{}\"", title);
  return fmt::format("<td class=\"n\"{} data-value=\"{}\">{}</td>", label, value, html_inline(words));
}

/// A cell with a number, or nothing for 0.
std::string number_cell(std::int64_t number, std::string_view title = "") {
  return number == 0 ? "<td class=\"n\"></td>" : value_cell(std::to_string(number), count_text(number), title);
}

std::string lost_cell(const SurveySums& sums, std::string_view title = "") {
  if (sums.timed == 0) return "<td class=\"n\"></td>";
  return value_cell(fmt::format("{:.0f}", sums.lost_gpu_seconds), gpu_hours_text(sums.lost_gpu_seconds), title);
}

/// A fix with the command that explains it.
std::string fix_text(const SurveyOffender& of) {
  if (!of.fix) return "";
  const std::string some =
      of.fix_jobs == of.sums.jobs ? "" : fmt::format(" ({} of {} jobs)", of.fix_jobs, of.sums.jobs);
  return fmt::format("{}{}<br><code>oomdoctor explain {}</code>", html::with_code(of.fix->title), some,
                     html_inline(of.fix->id));
}

void add_summary(Document& page, const Survey& survey) {
  page.add("<div class=\"first-view\">\n<section id=\"verdict\" class=\"{}\">\n<h1>{}</h1>\n",
           survey.failed.jobs > 0 ? "bad" : "good", html_inline(survey_headline(survey)));
  if (survey.failed.jobs > 0) page.add("<p>{}.</p>\n", html_inline(capitalised(lost_words(survey.failed))));
  std::vector<std::string> outcomes;
  for (const SurveyGroup& group : survey.outcomes) outcomes.push_back(outcome_count_words(group));
  page.add("<p>{}</p>\n</section>\n</div>\n", html_inline(fmt::format("{}", fmt::join(outcomes, ", "))));
}

void add_repeated(Document& page, const Survey& survey) {
  if (survey.offenders.empty()) return;
  page.add(
      "<section id=\"repeated\">\n<h2>Repeated failures: same cause, same place</h2>\n<table class=\"stacked\">\n"
      "<thead><tr><th>jobs</th><th>cause and place</th><th>users</th><th>lost</th><th>latest</th><th>fix</th></tr>"
      "</thead>\n<tbody>\n");
  for (const SurveyOffender& of : survey.offenders)
    page.add("<tr>{}<td>{}{}</td><td>{}</td>{}<td data-title=\"latest\">{}<br>{}</td><td>{}</td></tr>\n",
             number_cell(of.sums.jobs, "jobs"), html_inline(survey_cause_words(of.cause, of.cause_title)),
             of.place.empty() ? (of.failure.empty() ? "" : "<br>" + html_inline(of.failure))
                              : fmt::format("<br><code>{}</code>", html_inline(of.place)),
             html_inline(fmt::format("{}", fmt::join(of.users, ", "))), lost_cell(of.sums, "lost"),
             html_inline(of.example), html_inline(survey_time_words(of.last, of.last_by_file)), fix_text(of));
  page.add("</tbody>\n</table>\n</section>\n");
}

void add_cause_table(Document& page, const Survey& survey) {
  if (survey.causes.empty()) return;
  page.add(
      "<section id=\"causes\">\n<h2>Causes</h2>\n<table>\n<thead><tr><th>cause</th><th class=\"n\">jobs</th>"
      "<th class=\"n\">GPUs</th><th class=\"n\">lost</th></tr></thead>\n<tbody>\n");
  for (const SurveyGroup& of : survey.causes)
    page.add("<tr><th scope=\"row\">{}</th>{}{}{}</tr>\n", html_inline(survey_cause_words(of.id, of.title)),
             number_cell(of.sums.jobs), number_cell(of.sums.gpus), lost_cell(of.sums));
  page.add("</tbody>\n</table>\n</section>\n");
}

/// A bar as a picture: the policy forbids inline styles.
std::string week_bar(std::int64_t jobs, std::int64_t most) {
  constexpr std::int64_t width = 240;
  return fmt::format(
      "<svg width=\"{0}\" height=\"14\" viewBox=\"0 0 {0} 14\" aria-hidden=\"true\"><rect class=\"f0\" width=\"{1}\" "
      "height=\"14\"/></svg>",
      width, most == 0 ? 0 : jobs * width / most);
}

void add_week_table(Document& page, const Survey& survey) {
  if (survey.weeks.empty()) return;
  std::int64_t most = 0;
  for (const SurveyWeek& week : survey.weeks) most = std::max(most, week.failed.jobs);
  page.add(
      "<section id=\"weeks\">\n<h2>Out of memory, by ISO week</h2>\n<table>\n<thead><tr><th>week</th><th>begins</th>"
      "<td></td><th class=\"n\">out of memory</th><th class=\"n\">of jobs</th><th class=\"n\">lost</th></tr></thead>\n"
      "<tbody>\n");
  for (const SurveyWeek& week : survey.weeks)
    page.add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>{}{}{}</tr>\n", week.week, week.starts,
             week_bar(week.failed.jobs, most), number_cell(week.failed.jobs), number_cell(week.jobs),
             lost_cell(week.failed));
  page.add("</tbody>\n</table>\n");
  if (survey.file_dated > 0) page.add("<p class=\"muted\">{}.</p>\n", file_dated_words(survey));
  if (survey.undated > 0)
    page.add("<p class=\"muted\">{} no date.</p>\n", plural(survey.undated, "more failure has", "more failures have"));
  page.add("</section>\n");
}

/// The log, with a link to the report that was written next to it.
std::string path_cell(const SurveyJob& job) {
  const std::string path = html_inline(job.path);
  return job.report.empty() ? path
                            : fmt::format("<a href=\"{}\">{}</a>", html_inline(percent_encoded(job.report)), path);
}

/// When it failed; "" for a job that did not.
std::string failed_words(const SurveyJob& job) {
  if (is_dated_by_file(job) && is_memory_failure(job)) return survey_time_words(job.file_time, true);
  return survey_time_words(job.failed_at, false);
}

void add_job_row(Document& page, const SurveyJob& job) {
  const std::string cause = job.cause.empty() ? "" : short_cause_words(job);
  page.add(
      "<tr><td data-title=\"failed\">{}</td><td>{}{}</td><td>{}</td><td>{}</td><td "
      "data-title=\"GPU\">{}</td><td>{}</td>"
      "<td data-title=\"cause\">{}</td>",
      html_inline(failed_words(job)), job.job.empty() ? "" : html_inline(job.job) + "<br>", path_cell(job),
      html_inline(job.user), html_inline(job.program), html_inline(gpu_words(job)),
      html_inline(outcome_words(job.outcome)), html_inline(cause));
  const std::string empty = "<td class=\"n\"></td>";
  const std::string step = job.step ? std::to_string(*job.step) : "";
  page.add("{}{}</tr>\n", job.step ? value_cell(step, step, "step") : empty,
           job.lost_seconds
               ? value_cell(fmt::format("{:.0f}", *job.lost_seconds), duration_text(*job.lost_seconds), "lost")
               : empty);
}

/// The failures first, the latest on top. The jobs without a failure are folded.
void add_job_tables(Document& page, const Survey& survey) {
  const auto add = [&](bool failed) {
    page.add(
        "<table class=\"stacked\">\n<thead><tr><th>failed</th><th>job</th><th>user</th><th>program</th><th>GPU</th>"
        "<th>outcome</th><th>cause</th><th class=\"n\">step</th><th class=\"n\">lost</th></tr></thead>\n<tbody>\n");
    for (auto job = survey.jobs.rbegin(); job != survey.jobs.rend(); ++job)
      if (is_memory_failure(*job) == failed) add_job_row(page, *job);
    page.add("</tbody>\n</table>\n");
  };
  page.add("<section id=\"jobs\">\n<h2>Jobs</h2>\n");
  if (survey.failed.jobs > 0) add(true);
  if (const std::int64_t others = survey.all.jobs - survey.failed.jobs; others > 0) {
    page.add("<details{}><summary>{}</summary>\n", survey.failed.jobs > 0 ? "" : " open",
             plural(others, "job did not run out of memory", "jobs did not run out of memory"));
    add(false);
    page.add("</details>\n");
  }
  page.add("</section>\n");
}

void add_survey_notes(Document& page, const Survey& survey) {
  if (survey.notes.empty()) return;
  page.add("<section id=\"notes\">\n<h2>Notes</h2>\n");
  for (const ReportNote& note : survey.notes)
    page.add("<p class=\"note{}\">{}</p>\n", note.severity == "note" ? "" : " warn", html_inline(note.text));
  page.add("</section>\n");
}

}  // namespace

std::string survey_html(const Survey& survey, const PageAssets& assets) {
  Document page;
  html::add_head(page, survey_headline(survey), assets.style, assets.survey_script);
  page.add("<body>\n<main>\n");
  add_summary(page, survey);
  add_repeated(page, survey);
  add_cause_table(page, survey);
  add_week_table(page, survey);
  add_job_tables(page, survey);
  add_survey_notes(page, survey);
  page.add("<p class=\"muted\">oomdoctor {}</p>\n</main>\n<script>{}</script>\n</body>\n</html>\n",
           html_inline(survey.tool_version), assets.survey_script.text);
  return page.take();
}

}  // namespace oomdoctor
