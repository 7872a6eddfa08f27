#include "render/ci_reports.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/escape.h"
#include "report/findings.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_annotations = 9;

/// "::error file=…,line=…,title=…::message". Standard input has no file to annotate.
std::string annotation(std::string_view level, const std::string& file, std::int64_t line, const std::string& title,
                       const std::string& message) {
  std::string where;
  if (!file.empty() && file != "-") where = fmt::format("file={},line={},", workflow_property(file), line);
  return fmt::format("::{} {}title={}::{}\n", level, where, workflow_property(title), workflow_message(message));
}

}  // namespace

std::string github_text(const Report& report) {
  std::string out;
  std::size_t written = 0;
  std::int64_t more = report.more_incidents;
  for (const auto& finding : findings(report)) {
    if (written == max_annotations) {
      ++more;
      continue;
    }
    std::string message = finding.text;
    if (finding.incident) message += "\nSee " + place(finding.incident->location);
    out += annotation(finding.level, finding.file, finding.line, finding.title, message);
    ++written;
  }
  if (more > 0)
    out += annotation("warning", "", 0, "More memory failures",
                      plural(more, "more failure is", "more failures are") + " in the report");
  return out;
}

// GitLab compares the path with those of the merge request, so it must not be percent-encoded.
std::string gitlab_text(const Report& report, const std::string& folder) {
  using Json = nlohmann::ordered_json;
  Json entries = Json::array();
  for (const auto& finding : findings(report))
    entries.push_back(
        {{"description", plain_line(finding.title + ". " + finding.text)},
         {"check_name", finding.rule},
         {"fingerprint", finding.fingerprint},
         {"severity", finding.level == "error" ? "critical" : "major"},
         {"location",
          {{"path", plain_line(relative_path(finding.file, folder))}, {"lines", {{"begin", finding.line}}}}}});
  return entries.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string kubernetes_text(const Report& report) {
  constexpr std::size_t max_bytes = 1024;
  std::string text = verdict_words(report);
  if (const std::string diagnosis = diagnosis_text(report); !diagnosis.empty()) text += ": " + diagnosis;
  if (const std::string again = retry_words(report.verdict); !again.empty()) text += "\nRun again: " + again;
  text = plain_block(text) + '\n';
  if (text.size() <= max_bytes) return text;
  const std::string end = "…\n";
  return std::string(utf8_prefix(text, max_bytes - end.size())) + end;
}

}  // namespace oomdoctor
