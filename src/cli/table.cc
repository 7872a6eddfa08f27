// The tables of options and commands. To add an option or a command, add a row.
#include "cli/commands.h"
#include "cli/estimate_options.h"
#include "render/writer.h"

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
         "also read your own line formats; repeatable. Default: .oomdoctor.toml in the working directory, but not "
         "in a CI job"},
        {"root", 0, "DIR", "a folder that clients may read; repeatable (default: the working directory)"}}},
      {"What to keep",
       {{"folder", 0, "DIR", "where the output, the samples and the reports go (default: oomdoctor-run)"},
        {"always", 0, "", "report and keep everything also if the command ends well"}}},
      {"What to watch",
       {{"csv", 0, "FILE", "also follow this export of nvidia-smi; repeatable"}},
       {{"every", 0, "TIME", "judge at most this often (default: 1s)"}, {"pid", 0, "PID", "end with this process"}}},
      {"When to warn",
       {{"warn-before", 0, "TIME", "if the memory is full within this time (default: 30min)"},
        {"warn-at", 0, "SHARE", "if this share of the memory is in use (default: 90%)"},
        {"on-risk", 0, "COMMAND",
         "a shell command for each warning; OOMDOCTOR_RISK is full_soon, nearly_full or failed, OOMDOCTOR_MESSAGE the "
         "warning, OOMDOCTOR_PULSE the numbers as JSON"}},
       {{"json-lines", 0, "", "print a line of JSON for each judgement instead of the status line"},
        {"prometheus", 0, "FILE", "write the gauges of each judgement into this file"}}},
      {"How to judge",
       {{"capacity", 0, "SIZE", "GPU memory, if the log does not print it: 23.69GiB"},
        {"rules", 0, "DIR", "add the causes, fixes and myths of a folder; an equal id replaces a built-in one"},
        {"fail-on",
         0,
         "LEVEL",
         "exit 1 at this level or above: error (a failure), warning (a risk, an unexplained kill, or an OOM that "
         "the program caught), never. Unless it is never, exit 2 if nothing could be judged",
         {"error", "warning", "never"}},
        {"fail-if", 0, "LIMIT",
         "exit 1 if BAD exceeds GOOD by more than a share or a size: peak+5%, steady+500MiB, slope+1MiB; repeatable"}}},
      {"Speed", {{"jobs", 0, "N", "threads (default: one per CPU core)"}}},
      {"What to print",
       {{"format", 0, "FORMAT", "report format on standard output", format_names()},
        {"output", 0, "FORMAT=PATH", "also write a report to a file; repeatable"},
        {"redact",
         0,
         "WHAT",
         "secrets: hide tokens, passwords and keys (default, except for terminal, json and jsonl outside CI jobs); "
         "all: also hide names of users, hosts, folders and buckets; off",
         {"off", "secrets", "all"}},
        {"why-not", 0, "CAUSE", "show every sign for and against this cause"},
        {"trace", 0, "", "print every known fact with its value and lines; for explain: the rule itself"},
        {"color", 0, "WHEN", "auto (default; respects NO_COLOR), always, never", {"auto", "always", "never"}},
        {"width", 0, "N", "columns of the report (default: terminal width)"},
        {"quiet", 'q', "", "print the verdict in one line"},
        {"verbose", 'v', "", "add the evidence and all fixes to the terminal report"},
        {"help", 'h', "", "print this help"}}},
  };
  return groups;
}

/// Appends the options of groups, and sets their group and whether they are rare.
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
  for (const auto& writer : writers()) formats.push_back({writer.name, writer.description});
  formats.push_back({"partial", "each log separately, for oomdoctor merge; not for --output"});
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
       "read logs; report what ran out of memory, why, and what to do",
       "PATH is a log, a folder of logs or a pattern. - is standard input, which is also the default in a pipe. "
       "oomdoctor reads all paths together as the logs of one run. --format partial prints one part per log, for "
       "oomdoctor merge.",
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "format-file", "redact", "why-not", "trace",
        "color", "width", "quiet", "verbose", "help"},
       {},
       run_analyze},
      {"merge",
       "PART...",
       "read parts instead of logs; report on all of them together",
       "PART is the output of oomdoctor analyze --format partial, from this machine or others. A log that is in "
       "several parts counts once. --format partial prints the parts again, each log once and in order.",
       {"format", "output", "fail-on", "jobs", "capacity", "rules", "redact", "why-not", "trace", "color", "width",
        "quiet", "verbose", "help"},
       {},
       run_merge},
      {"survey",
       "PATH...",
       "read the logs of many jobs; count outcomes and causes, find repeated failures",
       "PATH is a folder of logs, a log, a pattern, or a file of parts from oomdoctor analyze --format partial. Logs "
       "with the same job number or program in their paths are one job. --format jsonl prints one line per job, for a "
       "database. Exit status: 0, or 2 for an error.",
       {"format", "output", "jobs", "capacity", "rules", "format-file", "redact", "color", "width", "quiet", "verbose",
        "help"},
       {},
       run_survey,
       {"terminal", "json", "jsonl", "html"}},
      {"ci",
       "[PATH...]",
       "analyze in a CI job: write all reports into oomdoctor-out/, exit 0",
       "Writes report.html, report.txt, report.md, report.json, oomdoctor.sarif, junit.xml and gl-code-quality.json "
       "into oomdoctor-out/ and prints the terminal report. On GitHub, it also writes annotations, the job summary and "
       "the outputs verdict, cause, retry, sarif and html; on Buildkite, an annotation. Without a PATH it reads the "
       "newest *.log, *.out and *.err here, in log/, logs/, slurm_logs/, lightning_logs/, outputs/, "
       "wandb/latest-run/files/ and torchrun folders, plus the logs of the ten minutes before.",
       {"fail-on", "jobs", "capacity", "rules", "format-file", "redact", "color", "width", "quiet", "verbose", "help"},
       {},
       run_ci},
      {"run",
       "[OPTION...] COMMAND...",
       "run a command; if it dies, report why",
       "Passes the command's output, input, signals, terminal and exit status on unchanged. Each second it notes the "
       "memory of the GPUs (by NVML, nvidia-smi, xpu-smi or the amdgpu driver), of the command's processes, of its "
       "cgroup, "
       "of the machine and of /dev/shm. If the command fails or is killed, the report is on standard error, and in "
       "oomdoctor-run/ with the output and the samples. If it ends well, nothing remains. An existing --folder gets a "
       "subfolder for each run, and a link named latest.",
       {"folder", "always", "capacity", "rules", "format-file", "redact", "color", "width", "quiet", "verbose", "help"},
       {},
       run_run,
       {},
       true},
      {"watch",
       "LOG...",
       "follow the logs of a running job; warn before its memory is full",
       "The logs are of one job; they may grow, rotate, or not exist yet. A status line shows the memory, its growth "
       "and "
       "when it is full. Ctrl-C, or the end of the process of --pid, ends with the report that analyze prints.",
       {"csv", "every", "pid", "warn-before", "warn-at", "on-risk", "json-lines", "prometheus", "format", "output",
        "capacity", "format-file", "redact", "color", "quiet", "verbose", "help"},
       {},
       run_watch},
      {"estimate",
       "[--model MODEL|--config FILE] ... [-- COMMAND...]",
       "estimate the memory of a run before it starts",
       "Computes weights, gradients, optimizer states, activations, logits and caches of a model from its sizes. "
       "Reports whether they fit the GPU with a 5% margin, and what to change if they do not. Exit status: 0 it fits "
       "or "
       "is unknown, 1 it does not fit, 2 an error.",
       estimate_options(),
       {},
       run_estimate,
       {"terminal", "json"}},
      {"compare",
       "GOOD BAD",
       "compare two runs: what grew, and which differences explain it",
       "GOOD and BAD are each a log, a folder of logs or a pattern: a run that worked, and a run that failed or must "
       "not need more. oomdoctor pairs memory series by metric, rank, device and label. --fail-if also fails if only "
       "BAD ran out of memory.",
       {"format", "fail-if", "jobs", "capacity", "rules", "format-file", "redact", "color", "width", "verbose", "help"},
       {},
       run_compare,
       {"terminal", "json", "markdown", "agent"}},
      {"snapshot",
       "FILE...",
       "read allocator snapshots; show who has the memory, what failed, what grows",
       "FILE is what torch.cuda.memory._dump_snapshot wrote, as JSON or as a page of torch.cuda._memory_viz too; or a "
       "folder of such files. Two snapshots of one device, or those of several ranks, are compared. oomdoctor analyze "
       "reads them together with the logs, and has the fixes. Exit status: 0, or 2 for an error.",
       {"format", "jobs", "redact", "color", "width", "help"},
       {},
       run_snapshot,
       {"terminal", "json", "markdown", "html"}},
      {"explain",
       "ID [PATH...]",
       "explain a cause, a fix, a myth, a fact or a format",
       "oomdoctor list prints the ids. With a log, explain fills in its numbers.",
       {"capacity", "rules", "format-file", "redact", "trace", "color", "width", "help"},
       {},
       run_explain},
      {"list",
       "causes|fixes|myths|facts|formats|models|gpus",
       "list the causes, fixes, myths, facts or formats; or the models or GPUs of estimate",
       "",
       {"format", "rules", "format-file", "color", "width", "help"},
       {"causes", "fixes", "myths", "facts", "formats", "models", "gpus"},
       run_list,
       {"terminal", "markdown"}},
      {"schema",
       "NAME",
       "print the JSON Schema of an output, or of a file that oomdoctor reads",
       "NAME is report, jsonl, partial, comparison, estimate, survey, survey-totals or own-formats. survey is the "
       "schema "
       "of a line of oomdoctor survey --format jsonl, survey-totals that of its --format json. own-formats is that of "
       "a "
       "file of own line formats, for editors.",
       {"help"},
       {"report", "jsonl", "partial", "comparison", "estimate", "survey", "survey-totals", "own-formats"},
       run_schema},
      {"mcp",
       "",
       "serve coding agents over standard input and output (Model Context Protocol)",
       "Offers analyze, compare, estimate, explain, list, snapshot and survey as tools. Clients name paths below "
       "--root, "
       "or send the text of a log. It reads files only. To add it to a client: {\"mcpServers\": {\"oomdoctor\": "
       "{\"command\": "
       "\"oomdoctor\", \"args\": [\"mcp\"]}}}",
       {"root", "rules", "format-file", "help"},
       {},
       run_mcp},
      {"completions",
       "bash|zsh|fish",
       "print shell completions",
       "bash: source <(oomdoctor completions bash). zsh: write the output to a file _oomdoctor in a folder of $fpath. "
       "fish: oomdoctor completions fish | source. The installed package contains them.",
       {"help"},
       {"bash", "zsh", "fish"},
       run_completions},
      {"man", "", "print the manual page", "To read it: oomdoctor man | man -l -", {"help"}, {}, run_man},
  };
  return table;
}

}  // namespace oomdoctor::cli
