// The manual page from the tables, in man(7) macros that both groff and mandoc accept without a warning.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "oomdoctor/version.h"
#include "render/layout.h"
#include "report/utf8.h"

namespace oomdoctor::cli {
namespace {

constexpr const char* written = "2026-11-26";  ///< date of the last change of the page's content

/// Escapes text for roff: no character is a request or an escape, wherever its line begins, and the result is ASCII.
std::string roff(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = first_character(text);
    if (c.code == '\\')
      out += "\\e";
    else if (c.code == '-')
      out += "\\-";
    else if ((c.code == '.' || c.code == '\'') && (out.empty() || out.back() == ' '))
      out += "\\&" + std::string(text.substr(0, 1));
    else if (c.code >= 0x80)
      out += fmt::format("\\[u{:04X}]", static_cast<unsigned>(c.code));
    else
      out += text.substr(0, c.size);
    text.remove_prefix(c.size);
  }
  return out;
}

/// Escapes and wraps text; mandoc warns about lines of more than 80 bytes.
std::string paragraph(std::string_view text) {
  constexpr int width = 79;
  return fmt::format("{}\n", fmt::join(wrap("", roff(text), width), "\n"));
}

/// The table prints a description after the command's name, so it begins in lower case. Here it is a sentence.
std::string sentence(std::string_view description) { return capitalised(std::string(description)) + '.'; }

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// Quotes a macro argument with blanks; doubles the quotes in it, which would end it.
std::string quoted(std::string text) {
  for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
    text.replace(at, 1, "\"\"");
  return '"' + text + '"';
}

struct ManualEntry {
  std::string_view term, description;
};

void add_entries(std::string& page, std::string_view title, const std::vector<ManualEntry>& entries) {
  page += fmt::format(".SH {}\n", quoted(std::string(title)));
  for (const ManualEntry& entry : entries)
    page += fmt::format(".TP\n{}\n{}", bold(entry.term), paragraph(entry.description));
}

std::string format_option(const OptionSpec& option) {
  std::string text = option.letter ? bold(fmt::format("-{}", option.letter)) + ", " : "";
  text += bold(fmt::format("--{}", option.name));
  if (!option.argument.empty()) text += " " + italic(option.argument);
  return text;
}

/// For example "analyze [PATH...|-]".
std::string format_usage(const CommandSpec& command) {
  return command.usage.empty() ? std::string(command.name) : fmt::format("{} {}", command.name, command.usage);
}

void add_commands(std::string& page) {
  page += ".SH COMMANDS\n";
  for (const CommandSpec& command : command_table()) {
    page += fmt::format(".SS {}\n{}", quoted(roff(format_usage(command))), paragraph(sentence(command.description)));
    if (!command.more.empty()) page += ".PP\n" + paragraph(command.more);
    std::vector<std::string> names;
    for (const OptionSpec* option : list_options(command)) names.push_back(fmt::format("--{}", option->name));
    page += ".PP\n" + paragraph(fmt::format("Options: {}.", fmt::join(names, ", ")));
  }
}

void add_options(std::string& page) {
  page += ".SH OPTIONS\n";
  std::string_view group;
  for (const OptionSpec& option : option_table()) {
    if (option.group != group) page += fmt::format(".SS {}\n", quoted(roff(option.group)));
    group = option.group;
    // The descriptions of all other options contain their choices.
    const std::string choices =
        option.name == "format" ? fmt::format(": {}", fmt::join(option.choices, ", ")) : std::string();
    page += fmt::format(".TP\n{}\n{}", format_option(option), paragraph(std::string(option.description) + choices));
  }
}

}  // namespace

std::string manual_page() {
  std::string page = fmt::format(
      ".TH OOMDOCTOR 1 {} \"oomdoctor {}\" \"User Commands\"\n"
      ".SH NAME\noomdoctor \\- find out why a training job ran out of memory, and what to do\n.SH SYNOPSIS\n",
      written, roff(version));
  for (const CommandSpec& command : command_table())
    page += fmt::format("{}oomdoctor {}\n", &command == &command_table().front() ? "" : ".br\n",
                        roff(format_usage(command)));
  page += ".SH DESCRIPTION\n" +
          paragraph(
              "oomdoctor reads the logs of a training job. It reports what used the memory, names the cause with the "
              "lines that prove it, and lists fixes with numbers computed from these logs. It needs no GPU and no "
              "network.");
  add_commands(page);
  add_options(page);
  std::vector<ManualEntry> formats;
  for (const OutputFormat& format : output_formats()) formats.push_back({format.name, format.description});
  add_entries(page, "OUTPUT FORMATS", formats);
  add_entries(page, "EXIT STATUS",
              {{"0", "Success: nothing at the level of --fail-on or --fail-if."},
               {"1", "Success: something at that level."},
               {"2", "Error: a file is missing, or an option or a rule is wrong. Standard error has the reason."}});
  add_entries(
      page, "ENVIRONMENT",
      {{"COLUMNS", "Width of the terminal report, unless --width sets it."},
       {"NO_COLOR", "No colors, unless --color always is given."},
       {"CLICOLOR_FORCE", "Colors without a terminal, unless it is 0 or NO_COLOR is set."},
       {"LC_ALL, LC_CTYPE, LANG", "A locale that is not UTF-8 gets reports in ASCII."},
       {"GITHUB_ACTIONS, GITHUB_STEP_SUMMARY", "Set by GitHub: ci annotates lines and adds to the job summary."}});
  add_entries(page, "FILES",
              {{".oomdoctor.toml", "Your own line formats, read in the working directory."},
               {"oomdoctor-out/", "Where ci writes its reports."}});
  add_entries(page, "EXAMPLES",
              {{"oomdoctor analyze train.log", "Why did the job run out of memory?"},
               {"oomdoctor compare good.log bad.log --fail-if peak+5%", "What grew, and by more than 5%?"},
               {"oomdoctor estimate --config config.json --batch 4 --seq 4096 --card H100", "Does the model fit?"}});
  return page;
}

int run_man(const Arguments&) {
  print(manual_page());
  return 0;
}

}  // namespace oomdoctor::cli
