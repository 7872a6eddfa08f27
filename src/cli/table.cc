// The two tables of the command line. To add an option or a command, add a row.
#include "cli/commands.h"
#include "cli/estimate_options.h"
#include "report/writer.h"

namespace oomdoctor::cli {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& format : output_formats()) names.emplace_back(format.name);
  return names;
}

const std::vector<OptionGroup>& common_groups() {
  static const std::vector<OptionGroup> groups = {
      {"What to read",
       {{"format-file", 0, "FILE",
         "read your own line formats, too; may be given several times. Default: .oomdoctor.toml of the working "
         "directory, but not in a CI job"}}},
      {"How to judge",
       {{"capacity", 0, "SIZE", "memory of the device where the log does not print it: 23.69GiB"},
        {"rules", 0, "DIR", "add the causes, fixes and myths of a folder; the same id replaces"},
        {"fail-on",
         0,
         "LEVEL",
         "exit 1 from this level on: error (a failure), warning (a risk, a kill that nobody explains, or a failure "
         "that the "
         "program survived), "
         "never",
         {"error", "warning", "never"}},
        {"fail-if", 0, "LIMIT",
         "exit 1 where BAD needs more than GOOD by more than a share or a size: peak+5%, steady+500MiB, slope+1MiB; "
         "may be given several times"}}},
      {"Speed", {{"jobs", 0, "N", "threads (default: as many as the machine has)"}}},
      {"What to print",
       {{"format", 0, "FORMAT", "of standard output", format_names()},
        {"output", 0, "FORMAT=PATH", "also write a report to a file; may be given several times"},
        {"redact",
         0,
         "WHAT",
         "secrets: without tokens, passwords and keys (default, but not for terminal, json and jsonl outside CI jobs; "
         "of "
         "parts, too); "
         "all: names of users, hosts, folders and buckets go, too; off",
         {"off", "secrets", "all"}},
        {"why-not", 0, "CAUSE", "account for a cause that was not named: every sign for and against it"},
        {"trace", 0, "", "print every fact that was known, with its value and its lines"},
        {"color", 0, "WHEN", "auto (default; NO_COLOR is heeded), always, never", {"auto", "always", "never"}},
        {"width", 0, "N", "columns of the report (default: the terminal's)"},
        {"quiet", 'q', "", "the verdict alone"},
        {"verbose", 'v', "", "leave nothing out of the terminal report"},
        {"help", 'h', "", "this text"}}},
  };
  return groups;
}

void add_groups(std::vector<OptionSpec>& table, const std::vector<OptionGroup>& groups) {
  for (const OptionGroup& group : groups)
    for (const bool rare : {false, true})
      for (OptionSpec option : rare ? group.rare : group.options) {
        option.group = group.title;
        option.rare = rare;
        table.push_back(std::move(option));
      }
}

std::vector<std::string_view> estimate_options() {
  std::vector<std::string_view> names = {"format", "color", "width", "help"};
  for (const OptionGroup& group : estimate_option_groups())
    for (const auto* options : {&group.options, &group.rare})
      for (const OptionSpec& option : *options) names.push_back(option.name);
  return names;
}

}  // namespace

std::vector<OutputFormat> output_formats() {
  std::vector<OutputFormat> formats;
  for (const auto& writer : writers()) formats.push_back({writer.name, writer.says});
  formats.push_back({"partial", "each log for itself, to be merged later; not for --output"});
  return formats;
}

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = [] {
    std::vector<OptionSpec> all;
    add_groups(all, estimate_option_groups());
    add_groups(all, common_groups());
    return all;
  }();
  return table;
}

const std::vector<CommandSpec>& command_table() {
  static const std::vector<CommandSpec> table = {
      {"analyze",
       "[PATH...|-]",
       "read logs and say what ran out of memory, why, and what to do",
       "PATH is a log, a folder of logs or a pattern; - is standard input, and so is a pipe when no path is given. "
       "All paths together are read as the logs of one run. --format partial prints what each log says for itself, to "
       "be "
       "merged later.",
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "format-file", "redact", "why-not", "trace",
        "color", "width", "quiet", "verbose", "help"},
       {},
       run_analyze},
      {"merge",
       "PART...",
       "read parts instead of logs: what analyze says of all the logs together",
       "PART is what oomdoctor analyze --format partial printed, on this machine or on others. A log counts once, in "
       "however many parts it is. With --format partial the parts are printed again, each log once and in order.",
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "redact", "why-not", "trace", "color", "width",
        "quiet", "verbose", "help"},
       {},
       run_merge},
      {"ci",
       "[PATH...]",
       "the same for a CI job: all reports into oomdoctor-out/, exit 0",
       "Writes report.html, report.txt, report.md, report.json, oomdoctor.sarif, junit.xml and gl-code-quality.json "
       "into "
       "oomdoctor-out/ and prints the terminal report. GitHub: also annotations, the job's summary and the outputs "
       "verdict, cause, retry, sarif and html; Buildkite: an annotation. Without a PATH it reads the newest of *.log, "
       "*.out "
       "and *.err here, in log/, logs/, slurm_logs/, lightning_logs/, outputs/, wandb/latest-run/files/ and folders of "
       "torchrun, with what was written in the ten minutes before.",
       {"fail-on", "jobs", "capacity", "rules", "format-file", "redact", "color", "width", "quiet", "verbose", "help"},
       {},
       run_ci},
      {"estimate",
       "[--config FILE] ...",
       "what a run will need, before there is a log",
       "Counts weights, gradients, optimizer states, activations, logits and caches of a decoder from its sizes, says "
       "whether they fit the card with 5% to spare, and what to change if they do not. Exit status: 0 it fits, or "
       "cannot be said; 1 it does not; 2 the work could not be done.",
       estimate_options(),
       {},
       run_estimate,
       {"terminal", "json"}},
      {"compare",
       "GOOD BAD",
       "what grew between two runs, and what differs that explains it",
       "GOOD and BAD are each a log, a folder of logs or a pattern: one run that went well, and one that did not, or "
       "that shall be no larger. Series are compared by what they measure, rank, device and label. --fail-if also "
       "fails "
       "where BAD alone ran out of memory.",
       {"format", "fail-if", "jobs", "capacity", "rules", "format-file", "redact", "color", "width", "verbose", "help"},
       {},
       run_compare,
       {"terminal", "json", "markdown"}},
      {"explain",
       "ID [PATH...]",
       "tell about a cause, a fix, a myth, a fact or a format",
       "oomdoctor list names the ids. With a log, its numbers are shown, too.",
       {"capacity", "rules", "format-file", "redact", "color", "width", "help"},
       {},
       run_explain},
      {"list",
       "causes|fixes|myths|facts|formats",
       "all that oomdoctor knows of a kind",
       "",
       {"format", "rules", "format-file", "color", "width", "help"},
       {"causes", "fixes", "myths", "facts", "formats"},
       run_list,
       {"terminal", "markdown"}},
      {"schema",
       "report|jsonl|partial|comparison",
       "print the JSON Schema of a report, of its lines, of a part or of a comparison",
       "",
       {"help"},
       {"report", "jsonl", "partial", "comparison"},
       run_schema},
      {"completions",
       "bash|zsh|fish",
       "print the completions for a shell",
       "bash: source <(oomdoctor completions bash). zsh: write it to a file _oomdoctor in a folder of $fpath. fish: "
       "oomdoctor completions fish | source. An installed oomdoctor brings them along.",
       {"help"},
       {"bash", "zsh", "fish"},
       run_completions},
      {"man", "", "print the manual page", "To read it: oomdoctor man | man -l -", {"help"}, {}, run_man},
  };
  return table;
}

}  // namespace oomdoctor::cli
