#include "report/github.h"

#include <fmt/format.h>

#include "report/sink.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t most_annotations = 9;

/// "::error file=…,line=…,title=…::message". Standard input has no file to annotate.
std::string annotation(std::string_view level, const std::string& file, std::int64_t line, const std::string& title,
                       const std::string& message) {
  std::string where;
  if (!file.empty() && file != "-") where = fmt::format("file={},line={},", workflow_property(file), line);
  return fmt::format("::{} {}title={}::{}\n", level, where, workflow_property(title), workflow_message(message));
}

/// What the verdict adds to the failure that it is about.
std::string diagnosis(const Report& report) {
  const Verdict& verdict = report.verdict;
  std::string text = verdict.headline;
  if (!verdict.cause.empty() && verdict.cause != "undetermined")
    text += fmt::format("\nWhy: {} ({} sure)", verdict.cause_title.empty() ? verdict.cause : verdict.cause_title,
                        percent_text(verdict.confidence));
  if (!report.fixes.empty()) {
    text += "\nTry first: " + report.fixes.front().title;
    if (!report.fixes.front().settings.empty()) text += "\n" + report.fixes.front().settings.front().text;
  }
  return text;
}

}  // namespace

std::string github_text(const Report& report) {
  std::string out;
  std::size_t written = 0;
  std::int64_t more = report.more_incidents;
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    if (written == most_annotations) {
      ++more;
      continue;
    }
    // The user's own line, where the log names it: it lies in the repository, the log mostly does not.
    const bool own_line = incident.frame && incident.frame->line > 0;
    const bool main = report.verdict.incident && *report.verdict.incident == incident.id;
    const std::string message =
        (main ? diagnosis(report) : incident_title(incident)) + "\nSee " + place(incident.location);
    out += annotation(incident.handled ? "warning" : "error", own_line ? incident.frame->file : incident.location.path,
                      own_line ? incident.frame->line : incident.location.line, incident_title(incident), message);
    ++written;
  }
  if (more > 0)
    out += annotation("warning", "", 0, "More memory failures",
                      plural(more, "more failure is", "more failures are") + " in the report");
  if (report.verdict.outcome == "at_risk") {
    const ReportSeries* growing = nullptr;
    for (const auto& series : report.series)
      if (!growing && series.trend.leak) growing = &series;
    out += annotation("warning", growing ? growing->last.path : "", growing ? growing->last.line : 0,
                      growing ? "Memory will run out" : "Memory is scarce", diagnosis(report));
  }
  return out;
}

}  // namespace oomdoctor
