#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/ascii.h"
#include "report/advice_words.h"
#include "report/incident_words.h"
#include "report/words.h"
#include "text/digest.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_log_lines = 10;

/// Removes the words with a digit: steps, ranks, addresses, versions and names of temporary files differ from run to
/// run.
std::string without_numbers(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_alnum);
    if (std::none_of(text.begin(), end, is_digit)) kept.append(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    if (text.empty()) break;
    kept += text.front();
    text.remove_prefix(1);
  }
  return kept;
}

/// Without the folder, which differs from machine to machine.
std::string frame_key(const std::optional<ReportFrame>& frame) {
  if (!frame) return {};
  const auto name = frame->file.substr(frame->file.find_last_of("/\\") + 1);
  return without_numbers(name + ":" + frame->function);
}

/// The text that the fingerprint is made of: only what stays the same in each run with this failure.
std::string fingerprint_key(const ReportIncident& of) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", of.kind, of.agent, without_numbers(of.message_format), frame_key(of.frame),
                     frame_key(of.ask_frame));
}

void add_log_lines(Finding& to, const std::vector<Location>& lines) {
  for (const auto& at : lines) {
    const bool known = std::any_of(to.log.begin(), to.log.end(),
                                   [&](const Location& l) { return l.path == at.path && l.line == at.line; });
    if (!known && to.log.size() < max_log_lines) to.log.push_back(at);
  }
}

/// Adds the diagnosis to the finding that the verdict is about.
void add_verdict(Finding& to, const Report& report) {
  if (!report.verdict.cause.empty()) to.rule = report.verdict.cause;
  to.text = diagnosis_text(report);
  if (const ReportCause* cause = find_cause(report, to.rule))
    for (const auto& reason : cause->because) add_log_lines(to, reason.locations);
}

/// The user's source file is in the repository, the log usually is not. "<string>" is not a file.
bool names_own_line(const ReportIncident& of) {
  return of.frame && of.frame->line > 0 && !of.frame->file.empty() && of.frame->file.front() != '<';
}

Finding failure(const Report& report, const ReportIncident& of) {
  Finding finding;
  finding.incident = &of;
  finding.rule = "undetermined";
  finding.level = of.handled || report.verdict.outcome != Outcome::oom ? "warning" : "error";
  finding.title = finding.text = incident_title(of);
  const bool own = names_own_line(of);
  finding.file = own ? of.frame->file : of.location.path;
  finding.line = own ? of.frame->line : of.location.line;
  add_log_lines(finding, {of.location});
  if (report.verdict.incident == of.id) add_verdict(finding, report);
  return finding;
}

Finding risk(const Report& report) {
  const auto growing = std::find_if(report.series.begin(), report.series.end(),
                                    [](const ReportSeries& series) { return series.trend.leak; });
  Finding finding;
  finding.rule = "undetermined";
  finding.level = "warning";
  finding.title = "Memory is scarce";
  if (growing != report.series.end()) {
    finding.title = "Memory will run out";
    finding.file = growing->last.path;
    finding.line = growing->last.line;
    add_log_lines(finding, {growing->last});
  } else if (!report.inputs.empty()) {
    finding.file = report.inputs.front().path;
  }
  add_verdict(finding, report);
  return finding;
}

Finding loss(const Report& report) {
  const ReportLostEvidence& first = report.lost.front();
  Finding finding;
  finding.rule = "undetermined";
  finding.level = "warning";
  finding.title = "Evidence is lost";
  finding.text = capitalised(lost_evidence_words(report));
  finding.file = first.path.empty() && !report.inputs.empty() ? report.inputs.front().path : first.path;
  if (first.location) {
    finding.line = first.location->line;
    add_log_lines(finding, {*first.location});
  }
  return finding;
}

}  // namespace

std::vector<Finding> findings(const Report& report) {
  std::vector<Finding> all;
  for (const auto& incident : report.incidents)
    if (!incident.follows) all.push_back(failure(report, incident));
  if (report.verdict.outcome == Outcome::at_risk) all.push_back(risk(report));
  if (!report.lost.empty()) all.push_back(loss(report));
  std::map<std::string, int> seen;
  for (auto& finding : all) {
    finding.line = std::max<std::int64_t>(finding.line, 1);
    const std::string text =
        finding.rule + '\n' + (finding.incident ? fingerprint_key(*finding.incident) : finding.title);
    const std::string digest = digest_of_text(text);
    finding.fingerprint = fmt::format("{}:{}", digest, ++seen[digest]);
  }
  return all;
}

std::string diagnosis_text(const Report& report) {
  const Verdict& verdict = report.verdict;
  std::string text = verdict.headline;
  if (const std::string why = why_words(report); !why.empty()) text += "\nWhy: " + why;
  if (!report.fixes.empty()) {
    text += "\nTry first: " + report.fixes.front().title;
    if (!report.fixes.front().settings.empty()) text += "\n" + report.fixes.front().settings.front().text;
  }
  return text;
}

const ReportCause* find_cause(const Report& report, std::string_view id) {
  const auto found = std::find_if(report.causes.begin(), report.causes.end(),
                                  [&](const ReportCause& cause) { return cause.cause == id; });
  return found == report.causes.end() ? nullptr : &*found;
}

}  // namespace oomdoctor
