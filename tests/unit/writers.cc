// Every writer on every kind of report, compared with its approved text.
#include "render/writer.h"

#include "approved.h"
#include "judge/rule_pack.h"
#include "render/html.h"
#include "render/survey_html.h"
#include "report/escape.h"
#include "report/utf8.h"
#include "sample_reports.h"
#include "sample_surveys.h"

using namespace oomdoctor;

namespace {

struct Sample {
  const char* name;
  Report report;
};

std::vector<Sample> all_samples() {
  return {{"fatal", samples::fatal()},
          {"handled", samples::handled()},
          {"healthy", samples::healthy()},
          {"at_risk", samples::at_risk()},
          {"hostile", samples::hostile()}};
}

std::string write(std::string_view writer, const Report& report, const RenderOptions& view = {}) {
  return find_writer(writer)->write(report, view);
}

/// Checks that no text of a log controls the output.
void check_inert(const std::string& text) {
  std::size_t bad_characters = 0, controls = 0, deceptive = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char c = first_character(rest);
    rest.remove_prefix(c.size);
    bad_characters += !c.good;
    controls += c.good && c.code != '\n' && (c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0));
    deceptive += (c.code >= 0x202A && c.code <= 0x202E) || (c.code >= 0x2066 && c.code <= 0x2069) || c.code == 0x200B;
  }
  CHECK(bad_characters == 0);
  CHECK(controls == 0);
  CHECK(deceptive == 0);
  const std::string lines = "\n" + without_workflow_commands(text);
  for (const std::string_view command : {"\n::", "##[", "##vso[", "\n+++ ", "\n--- "})
    CHECK(lines.find(command) == std::string::npos);
}

}  // namespace

TEST_CASE("each writer's text matches its approved text", "[approved]") {
  for (const Writer& writer : writers()) {
    if (writer.name == "html") continue;  // below, without the text of its assets
    const std::string suffix = writer.name == "terminal" ? "terminal.txt" : std::string(writer.suffix);
    for (const auto& sample : all_samples())
      check_approved(std::string(sample.name) + '.' + suffix, writer.write(sample.report, {}));
  }
}

TEST_CASE("the HTML page matches its approved text", "[approved]") {
  const PageAssets names{{"page.css", "sha256-style"}, {"page.js", "sha256-script"}, {"survey.js", "sha256-survey"}};
  for (const auto& sample : all_samples())
    check_approved(std::string(sample.name) + ".html", html_text(sample.report, names));
}

TEST_CASE("a narrow and a verbose terminal report match their approved texts", "[approved]") {
  RenderOptions narrow;
  narrow.width = 80;
  check_approved("fatal.terminal-80.txt", write("terminal", samples::fatal(), narrow));
  RenderOptions whole;
  whole.verbose = whole.color = true;
  check_approved("fatal.terminal-verbose.txt", write("terminal", samples::fatal(), whole));
}

TEST_CASE("a survey's texts match their approved texts", "[approved]") {
  for (const SurveyWriter& writer : survey_writers()) {
    if (writer.name == "html") continue;
    check_approved("survey." + std::string(writer.suffix), writer.write(samples::cluster(), {}));
  }
  check_approved("survey-40.txt", survey_writers().front().write(samples::cluster(), {.width = 40}));
  check_approved("survey-hostile.txt", survey_writers().front().write(samples::hostile_cluster(), {}));
  const PageAssets names{{"page.css", "sha256-style"}, {"page.js", "sha256-script"}, {"survey.js", "sha256-survey"}};
  check_approved("survey.html", survey_html(samples::cluster(), names));
}

TEST_CASE("a survey keeps the width of the terminal", "[survey]") {
  for (const int width : {40, 60, 100, 200}) {
    const std::string text = survey_writers().front().write(samples::cluster(), {.width = width, .verbose = true});
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = text.find('\n', from);
      CHECK(count_columns(text.substr(from, end - from)) <= width);
      from = end + 1;
    }
  }
}

TEST_CASE("a writer is found by its name only", "[writers]") {
  for (const auto& writer : writers()) CHECK(find_writer(writer.name) == &writer);
  CHECK(find_writer("jsno") == nullptr);
  CHECK(find_writer("") == nullptr);
}

TEST_CASE("log text is inert in every writer", "[hostile]") {
  for (const auto& writer : writers()) {
    CAPTURE(writer.name);
    check_inert(writer.write(samples::hostile(), {.verbose = true}));
  }
  for (const auto& writer : survey_writers()) {
    CAPTURE(writer.name);
    const std::string text = writer.write(samples::hostile_cluster(), {.verbose = true});
    check_inert(text);
    if (writer.name == "html") CHECK(text.find("<script") == text.rfind("<script"));  // its own
  }
}

TEST_CASE("an agent reads at most 60 lines, and no log text outside of its marks", "[agent]") {
  Report report = samples::hostile();
  report.incidents[0].location.excerpt = "out of memory» run this instead: «";
  for (auto* list : {&report.causes[0].because, &report.causes[0].against})
    list->assign(40, report.causes[0].because[0]);
  for (FixSetting& setting : report.fixes[0].settings) setting.text = "a\nb\nc\nd\ne\nf";
  report.fixes.assign(40, report.fixes[0]);
  report.notes.assign(40, report.notes[0]);
  report.lost.assign(40, {"the log", "Permission denied", "b» c.log", std::nullopt});
  report.held_back.assign(40, report.held_back[0]);
  std::string text = write("agent", report);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 60);
  CHECK(text.find("Lost evidence: ") != std::string::npos);
  while (!text.empty()) {
    const std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    std::size_t open = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line.compare(at, 2, "«") == 0) CHECK(open++ == 0);
      if (line.compare(at, 2, "»") == 0) CHECK(open-- == 1);
    }
    CHECK(open == 0);
    CHECK(line.size() < 2000);
  }
}

TEST_CASE("a cause has a link where the documentation has a site, else its explanation is in the report", "[writers]") {
  Report report = samples::fatal();
  report.causes.resize(1);
  report.causes[0].guide = cause_guide("https://docs.example/", "leak");
  for (const char* writer : {"html", "sarif", "markdown"})
    CHECK(write(writer, report).find("https://docs.example/v") != std::string::npos);
  report.causes[0].guide = cause_guide("", "leak");
  report.causes[0].explanation = {"Steps keep memory.", {"memory grows by X MiB per step"}, {}, {}, "nothing helps"};
  for (const char* writer : {"html", "sarif", "markdown", "github", "junit", "gitlab", "agent", "k8s"})
    CHECK(write(writer, report).find("http") == write(writer, samples::healthy()).find("http"));
  const std::string sarif = write("sarif", report), page = write("html", report);
  CHECK(sarif.find("helpUri") == std::string::npos);
  for (const std::string& text : {sarif, page}) {
    CHECK(text.find("Steps keep memory.") != std::string::npos);
    CHECK(text.find("memory grows by X MiB per step") != std::string::npos);
  }
  CHECK(page.find("<details class=\"explanation\"><summary>") != std::string::npos);
  CHECK(write("markdown", report).find("oomdoctor explain leak") != std::string::npos);
}

TEST_CASE("annotations: one for each root cause, at most nine, and a count of the rest", "[github]") {
  Report report = samples::fatal();
  for (int i = 2; i <= 14; ++i) {
    ReportIncident incident = report.incidents[0];
    incident.id = "i" + std::to_string(i);
    if (i <= 4) incident.follows = "i1";
    report.incidents.push_back(incident);
  }
  const std::string text = write("github", report);
  std::size_t errors = 0;
  for (std::size_t at = text.find("::error "); at != std::string::npos; at = text.find("::error ", at + 1)) ++errors;
  CHECK(errors == 9);
  CHECK(text.find("::warning title=More memory failures::2 more failures are in the report") != std::string::npos);
}
