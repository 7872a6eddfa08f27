#include "render/writer.h"

#include "render/agent.h"
#include "render/ci_reports.h"
#include "render/html.h"
#include "render/markdown.h"
#include "render/screens.h"
#include "render/survey_html.h"
#include "serialize/json.h"

namespace oomdoctor {

const std::vector<Writer>& writers() {
  static const std::vector<Writer> table = {
      {"terminal", "txt", "for people: details first, verdict last", terminal_text, true},
      {"json", "json", "for programs: see oomdoctor schema report",
       [](const Report& report, const RenderOptions&) { return json_text(report); }, true},
      {"markdown", "md", "for issues, chats and job summaries",
       [](const Report& report, const RenderOptions&) { return markdown_text(report); }},
      {"html", "html", "a page that opens offline: charts, settings to copy, all evidence",
       [](const Report& report, const RenderOptions&) { return html_text(report); }},
      {"github", "github.txt", "workflow commands that annotate lines on GitHub",
       [](const Report& report, const RenderOptions&) { return github_text(report); }, false, true},
      {"sarif", "sarif", "SARIF 2.1.0, for code scanning",
       [](const Report& report, const RenderOptions& view) { return sarif_text(report, view.folder); }},
      {"junit", "junit.xml", "test results: a case for each rank or log",
       [](const Report& report, const RenderOptions&) { return junit_text(report); }},
      {"gitlab", "gitlab.json", "a code quality report for GitLab",
       [](const Report& report, const RenderOptions& view) { return gitlab_text(report, view.folder); }},
      {"jsonl", "jsonl", "a line for the verdict, each failure, series, cause and fix",
       [](const Report& report, const RenderOptions&) { return jsonl_text(report); }, true},
      {"k8s", "k8s.txt", "a termination message of at most 1,024 bytes",
       [](const Report& report, const RenderOptions&) { return kubernetes_text(report); }},
      {"agent", "agent.txt", "for coding agents: the verdict, its evidence and the edits, at most 60 lines",
       [](const Report& report, const RenderOptions&) { return agent_text(report); }},
      {"prometheus", "prom", "gauges for Prometheus' textfile collector",
       [](const Report& report, const RenderOptions&) { return prometheus_text(report); }},
  };
  return table;
}

const std::vector<SurveyWriter>& survey_writers() {
  static const std::vector<SurveyWriter> table = {
      {"terminal", "txt", "for people: the jobs, then what they have in common", survey_screen, true},
      {"json", "json", "the totals, for programs: see oomdoctor schema survey-totals",
       [](const Survey& survey, const RenderOptions&) { return survey_json(survey); }, true},
      {"jsonl", "jsonl", "a line for each job, for databases: see oomdoctor schema survey",
       [](const Survey& survey, const RenderOptions&) { return survey_jsonl(survey); }, true},
      {"html", "html", "a page that opens offline",
       [](const Survey& survey, const RenderOptions&) { return survey_html(survey); }},
  };
  return table;
}

const std::vector<Writer>& snapshot_writers() {
  static const std::vector<Writer> table = {
      {"terminal", "txt", "for people: what the snapshots show", snapshot_screen, true},
      {"json", "json", "the report of oomdoctor analyze",
       [](const Report& report, const RenderOptions&) { return json_text(report); }, true},
      {"markdown", "md", "for issues, chats and job summaries",
       [](const Report& report, const RenderOptions&) { return snapshot_markdown(report); }},
      {"html", "html", "the page of oomdoctor analyze",
       [](const Report& report, const RenderOptions&) { return html_text(report); }},
  };
  return table;
}

const Writer* find_writer(std::string_view name) {
  for (const auto& writer : writers())
    if (writer.name == name) return &writer;
  return nullptr;
}

}  // namespace oomdoctor
