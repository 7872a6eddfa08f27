// oomdoctor analyze and merge: reads logs, or parts of logs that were read elsewhere; writes reports or parts.
#include "base/error.h"
#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inputs.h"
#include "cli/neighbours.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "report/escape.h"

namespace oomdoctor::cli {
namespace {

/// Whether --format partial asks for parts instead of a report. A part covers one log, so it cannot go to --output:
/// statements about the whole run exist only after the merge. Throws Error if both options are present.
bool wants_parts(const Arguments& arguments) {
  if (arguments.value_or("format", "terminal") != "partial") return false;
  if (arguments.has("output"))
    throw Error("--format partial writes no report for --output", "",
                "merge the parts: oomdoctor merge PART... --output FORMAT=PATH");
  return true;
}

void print_part(std::string_view line) { print(json_visible(std::string(line)) + '\n'); }

/// Writes the reports and returns the exit status.
int deliver(const Arguments& arguments, const Outputs& outputs, const Report& report) {
  if (arguments.has("why-not") && !report.why_not)
    print_note("the log has no failure, so --why-not has nothing to explain");
  outputs.write(report);
  return exit_status(report, arguments.value_or("fail-on", "error"));
}

std::vector<std::string> list_paths(const std::vector<LogSource>& inputs) {
  std::vector<std::string> paths;
  for (const auto& input : inputs) paths.push_back(input.member ? input.member->archive : input.path);
  return paths;
}

}  // namespace

int run_analyze(const Arguments& arguments) {
  const bool parts = wants_parts(arguments);
  Options options = diagnose_options(arguments);
  const auto inputs = resolve_inputs(arguments.words, options, arguments.scope);
  options.secrets_in_parts = arguments.value("redact") == "off";
  if (parts) return read_parts(inputs, options, print_part), 0;
  const Outputs outputs(arguments, list_paths(inputs));
  Report report;
  {
    ProgressLine line;
    options.progress = [&](const Progress& progress) { line.show(progress); };
    report = diagnose(inputs, options);
  }
  if (outputs.writes_page()) add_neighbours(report);
  return deliver(arguments, outputs, report);
}

int run_merge(const Arguments& arguments) {
  const bool parts = wants_parts(arguments);
  const auto files = resolve_part_files(arguments.words);
  Options options = diagnose_options(arguments);
  if (parts) {
    for (const std::string& problem : merge_parts(files, print_part)) print_note("left out: " + problem);
    return 0;
  }
  const Outputs outputs(arguments, files);
  Report report;
  {
    ProgressLine line;
    options.progress = [&](const Progress& progress) { line.show(progress); };
    report = merge(files, options);
  }
  return deliver(arguments, outputs, report);
}

}  // namespace oomdoctor::cli
