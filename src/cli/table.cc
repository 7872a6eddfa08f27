// The two tables of the command line. To add an option or a command, add a row.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/estimate_options.h"
#include "report/writer.h"

namespace oomdoctor::cli {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& writer : writers()) names.emplace_back(writer.name);
  names.emplace_back("partial");
  return names;
}

/// What analyze reads, and a line for each format that it writes.
std::string_view analyze_help() {
  static const std::string text = [] {
    std::string more =
        "PATH is a log, a folder of logs or a pattern; - is standard input, and so is a pipe when no path is given.\n"
        "All paths together are read as the logs of one run.\n\nFormats:";
    const auto add = [&](std::string_view name, std::string_view says) {
      more += fmt::format("\n  {:<10}  {}", name, says);
    };
    for (const auto& writer : writers()) add(writer.name, writer.says);
    add("partial", "each log for itself, to be merged later; not for --output");
    return more;
  }();
  return text;
}

std::vector<OptionSpec> common_options() {
  return {
      {"format", 0, "FORMAT", "of standard output (default: terminal)", format_names()},
      {"output", 0, "FORMAT=PATH", "also write a report to a file; may be given several times"},
      {"fail-on",
       0,
       "LEVEL",
       "exit 1 from this level on: error (a failure), warning (a risk, or a failure\n"
       "                            that the program survived), never",
       {"error", "warning", "never"}},
      {"jobs", 0, "N", "read and compute on so many threads (default: as many as the machine has)"},
      {"capacity", 0, "SIZE", "memory of the device where the log does not print it: 23.69GiB"},
      {"rules", 0, "DIR", "add the causes, fixes and myths of a folder; the same id replaces"},
      {"format-file", 0, "FILE",
       "read your own line formats, too; may be given several times. Without it\n"
       "                            .oomdoctor.toml is read where the working directory has one"},
      {"why-not", 0, "CAUSE", "account for a cause that was not named: every sign for and against it"},
      {"trace", 0, "", "print every fact that was known, with its value and its lines"},
      {"color",
       0,
       "WHEN",
       "auto (default: on a terminal, unless NO_COLOR is set), always, never",
       {"auto", "always", "never"}},
      {"width", 0, "N", "columns of the terminal report (default: the terminal's, else 100)"},
      {"quiet", 'q', "", "the verdict alone"},
      {"verbose", 'v', "", "leave nothing out of the terminal report"},
      {"help", 'h', "", "this text"},
  };
}

/// Those that estimate alone has come first in its help.
std::vector<std::string_view> estimate_options() {
  std::vector<std::string_view> names;
  for (const auto& option : estimate_option_table()) names.push_back(option.name);
  names.insert(names.end(), {"format", "color", "width", "help"});
  return names;
}

}  // namespace

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = [] {
    std::vector<OptionSpec> all = common_options();
    all.insert(all.end(), estimate_option_table().begin(), estimate_option_table().end());
    return all;
  }();
  return table;
}

const std::vector<CommandSpec>& command_table() {
  static const std::vector<CommandSpec> table = {
      {"analyze",
       "[PATH...|-]",
       "read logs and say what ran out of memory, why, and what to do",
       analyze_help(),
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "format-file", "why-not", "trace", "color", "width",
        "quiet", "verbose", "help"},
       {},
       run_analyze},
      {"merge",
       "PART...",
       "read parts instead of logs: what analyze says of all the logs together",
       "PART is what oomdoctor analyze --format partial printed, on this machine or on others. A log counts once, in\n"
       "however many parts it is. With --format partial the parts are printed again, each log once and in order.",
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "why-not", "trace", "color", "width", "quiet",
        "verbose", "help"},
       {},
       run_merge},
      {"ci",
       "[PATH...]",
       "the same for a CI job: all reports into oomdoctor-out/, exit 0",
       "Writes oomdoctor-out/report.json, .md and .txt and prints the terminal report. On GitHub it also annotates "
       "the\n"
       "lines that failed and adds the report to the job summary.",
       {"fail-on", "jobs", "capacity", "rules", "format-file", "color", "width", "quiet", "verbose", "help"},
       {},
       run_ci},
      {"estimate",
       "[--config FILE] ...",
       "what a run will need, before there is a log",
       "Counts weights, gradients, optimizer states, activations, logits and caches of a decoder from its sizes, says\n"
       "whether they fit the card with 5 % to spare, and what to change if they do not. --format is terminal or json\n"
       "here. Exit status: 0 it fits, or cannot be said; 1 it does not; 2 the work could not be done.",
       estimate_options(),
       {},
       run_estimate},
      {"explain",
       "ID [PATH...]",
       "tell about a cause, a fix, a myth, a fact or a format",
       "oomdoctor list names the ids. With a log, its numbers are shown, too.",
       {"capacity", "rules", "format-file", "color", "width", "help"},
       {},
       run_explain},
      {"list",
       "causes|fixes|myths|facts|formats",
       "all that oomdoctor knows of a kind",
       "--format is terminal or markdown here.",
       {"format", "rules", "format-file", "color", "width", "help"},
       {"causes", "fixes", "myths", "facts", "formats"},
       run_list},
      {"schema",
       "report|jsonl|partial",
       "print the JSON Schema of the report, of its lines, or of a part",
       "",
       {"help"},
       {"report", "jsonl", "partial"},
       run_schema},
  };
  return table;
}

}  // namespace oomdoctor::cli
