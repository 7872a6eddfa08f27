#include "report/writer.h"

#include "report/github.h"
#include "report/json.h"
#include "report/markdown.h"

namespace oomdoctor {

const std::vector<Writer>& writers() {
  static const std::vector<Writer> table = {
      {"terminal", "txt", "for people: details first, the verdict last", terminal_text},
      {"json", "json", "for programs: see oomdoctor schema report",
       [](const Report& report, const TerminalView&) { return json_text(report); }},
      {"markdown", "md", "for issues, chats and job summaries",
       [](const Report& report, const TerminalView&) { return markdown_text(report); }},
      {"github", "github.txt", "workflow commands that annotate lines on GitHub",
       [](const Report& report, const TerminalView&) { return github_text(report); }},
  };
  return table;
}

const Writer* find_writer(std::string_view name) {
  for (const auto& writer : writers())
    if (writer.name == name) return &writer;
  return nullptr;
}

}  // namespace oomdoctor
