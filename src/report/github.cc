#include "report/github.h"

#include <fmt/format.h>

#include "report/escape.h"
#include "report/findings.h"
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

}  // namespace oomdoctor
