// oomdoctor ci: every report that a CI job can use, and an exit status that leaves the job's own result alone.
#include <filesystem>

#include "base/error.h"
#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "report/sink.h"
#include "report/writer.h"

namespace oomdoctor::cli {
namespace {

constexpr const char* folder = "oomdoctor-out";
/// GitHub refuses a summary of more than 1 MiB as a whole; other steps may have written to the same one.
constexpr std::size_t largest_summary = 900 * 1024;

void write_reports(const Report& report) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(std::string("cannot make the folder ") + folder + ": " + error.message());
  TerminalView whole;
  whole.verbose = true;
  for (const char* name : {"json", "markdown", "terminal"}) {
    const Writer* writer = find_writer(name);
    write_file(std::filesystem::path(folder) / ("report." + std::string(writer->suffix)), writer->write(report, whole));
  }
}

void add_to_summary(const Report& report, const std::string& path) {
  std::string text = find_writer("markdown")->write(report, {});
  if (text.size() > largest_summary)
    text = "The memory report is too long for a summary; it is in " + std::string(folder) + "/report.md.\n";
  write_file(path, text, true);
}

}  // namespace

int run_ci(const Arguments& arguments) {
  TerminalView view = view_of(arguments);
  const bool on_github = !environment("GITHUB_ACTIONS").empty();
  const Report report = diagnose(inputs_of(arguments.words), diagnose_options(arguments));
  write_reports(report);
  if (const std::string summary = environment("GITHUB_STEP_SUMMARY"); !summary.empty()) add_to_summary(report, summary);
  if (on_github) {
    // Its log viewer shows colours although it is no terminal; and it obeys commands wherever a line starts with one.
    if (arguments.value_or("color", "auto") == "auto") view.color = environment("NO_COLOR").empty();
    print(find_writer("github")->write(report, view));
  }
  const std::string text = terminal_text(report, view);
  print(on_github ? without_workflow_commands(text) : text);
  return exit_status(report, arguments.value_or("fail-on", "never"));
}

}  // namespace oomdoctor::cli
