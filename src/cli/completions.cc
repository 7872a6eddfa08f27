// oomdoctor completions: shell scripts from the tables of options and commands. Each script asks oomdoctor itself for
// the ids of causes, fixes, myths and facts, so it also knows those of a newer version.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "report/advice_words.h"

namespace oomdoctor::cli {
namespace {

/// The values that an option's argument accepts.
enum class ArgumentKind { choices, file, folder, report, model, gpu, anything };

ArgumentKind find_kind(const CommandSpec& command, const OptionSpec& option) {
  if (!choices_of(command, option).empty()) return ArgumentKind::choices;
  if (option.argument == "FILE") return ArgumentKind::file;
  if (option.argument == "MODEL") return ArgumentKind::model;
  if (option.argument == "CARD") return ArgumentKind::gpu;
  if (option.argument == "DIR") return ArgumentKind::folder;
  return option.argument == "FORMAT=PATH" ? ArgumentKind::report : ArgumentKind::anything;
}

bool takes_ids(const CommandSpec& command) { return command.usage.starts_with("ID"); }
bool takes_files(const CommandSpec& command) {
  return command.words.empty() && !command.usage.empty() && !command.usage.starts_with("[-");
}

/// The first half of --output's argument, for example "json=" and "markdown=". Parts are not reports, so "partial" is
/// missing.
std::string report_words(const CommandSpec& command) {
  std::string words;
  for (const std::string& format : choices_of(command, find_option("format")))
    if (format != "partial") words += (words.empty() ? "" : " ") + format + "=";
  return words;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string option_words(const CommandSpec& command) {
  std::string words;
  for (const OptionSpec* option : list_options(command)) {
    words += fmt::format("{}--{}", words.empty() ? "" : " ", option->name);
    if (option->letter) words += fmt::format(" -{}", option->letter);
  }
  return words;
}

std::string command_words() {
  std::string words;
  for (const CommandSpec& command : command_table()) words += std::string(command.name) + ' ';
  return words + "help version";
}

/// Prints the first column of lists.
std::string list_first_column(std::string_view kinds) {
  return fmt::format(
      "for kind in {}; do oomdoctor list \"$kind\" --format markdown; done 2>/dev/null |\n"
      "    sed -n 's/^| `\\([^`]*\\)`.*/\\1/p'",
      kinds);
}

std::string list_ids() { return fmt::format("echo {}; {}", unclear_id, list_first_column("causes fixes myths facts")); }
std::string list_models() { return list_first_column("models"); }
std::string list_gpus() { return list_first_column("gpus"); }

/// The long names of an option.
std::vector<std::string_view> long_names(const OptionSpec& option) {
  if (option.alias.empty()) return {option.name};
  return {option.name, option.alias};
}

// --- bash ---

/// The case branches of one command: first the arguments of its options, then its own words.
std::string bash_branches(const CommandSpec& command) {
  std::string text;
  for (const OptionSpec* option : list_options(command)) {
    if (option->argument.empty()) continue;
    std::vector<std::string> typed;
    for (const auto name : long_names(*option)) typed.push_back(fmt::format("'{} --{}'", command.name, name));
    const std::string label = fmt::format("    {})", fmt::join(typed, " | "));
    switch (find_kind(command, *option)) {
      case ArgumentKind::choices:
        text += fmt::format("{} words='{}' ;;\n", label, joined(choices_of(command, *option)));
        break;
      case ArgumentKind::file:
        text += fmt::format("{} files=-f ;;\n", label);
        break;
      case ArgumentKind::folder:
        text += fmt::format("{} files=-d ;;\n", label);
        break;
      case ArgumentKind::report:
        text += fmt::format("{} words='{}' ;;\n", label, report_words(command));
        break;
      case ArgumentKind::model:
        text += fmt::format("{} words=$(_oomdoctor_models) ;;\n", label);
        break;
      case ArgumentKind::gpu:
        text += fmt::format("{} words=$(_oomdoctor_gpus) ;;\n", label);
        break;
      case ArgumentKind::anything:
        text += fmt::format("{} ;;\n", label);
    }
  }
  std::string own = takes_files(command) ? "files=-f" : fmt::format("words='{}'", joined(command.words));
  if (takes_ids(command)) own = "words=$(_oomdoctor_ids) files=-f";
  return text + fmt::format("    '{} '*)\n      {}\n      [[ $word == -* ]] && words='{}' files= ;;\n", command.name,
                            own, option_words(command));
}

std::string bash_script() {
  std::string text = fmt::format(
      "# bash completion of oomdoctor, made by: oomdoctor completions bash\n\n_oomdoctor_ids() {{\n  {}\n}}\n\n"
      "_oomdoctor_gpus() {{\n  {}\n}}\n\n"
      "# In lower case, unless an upper-case letter was typed.\n"
      "_oomdoctor_models() {{\n  {} |\n"
      "    if [[ $word == *[[:upper:]]* ]]; then cat; else tr '[:upper:]' '[:lower:]'; fi\n}}\n\n",
      list_ids(), list_gpus(), list_models());
  // bash splits "--format=json" into three words.
  text +=
      "_oomdoctor() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words= files=\n"
      "  if [[ $word == = ]]; then\n    word=\n"
      "  elif [[ $before == = ]]; then\n    before=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n"
      "  [[ $before == --* ]] || before=\n"
      "  local command=${COMP_WORDS[1]}\n";
  text += fmt::format("  local commands='{}'\n", command_words());
  text +=
      "  # Without a command, the words are those of analyze.\n"
      "  if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then\n"
      "    words=$commands command=\n"
      "    [[ -n $(compgen -W \"$words\" -- \"$word\") ]] || files=-f\n"
      "  elif ((COMP_CWORD == 1)) || [[ \" $commands \" != *\" $command \"* ]]; then\n"
      "    command=analyze\n  fi\n"
      "  case \"$command $before\" in\n    ' '*) ;;\n";
  for (const CommandSpec& command : command_table()) text += bash_branches(command);
  text += "    'help '*) words='";
  for (const CommandSpec& command : command_table())
    text += fmt::format("{}{}", &command == &command_table().front() ? "" : " ", command.name);
  text +=
      "' ;;\n  esac\n"
      "  ((COMP_CWORD > 1)) || [[ $word != -* ]] || words+=' --version'\n"
      "  mapfile -t COMPREPLY < <(\n"
      "    [[ -z $words ]] || compgen -W \"$words\" -- \"$word\"\n"
      "    [[ -z $files ]] || compgen $files -- \"$word\")\n"
      "  [[ -z $files ]] || compopt -o filenames 2>/dev/null\n"
      "  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n"
      "}\n\ncomplete -F _oomdoctor oomdoctor\n";
  return text;
}

// --- zsh ---

/// Inserts `before` before each character of `these`.
std::string replaced(std::string_view text, std::string_view these, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (these.find(c) != std::string_view::npos) out += before;
    out += c;
  }
  return out;
}

/// Single-quoted text, in the syntax of zsh.
std::string zsh_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The _arguments specs of one option: its long names and, if it has one, its letter.
std::string zsh_spec(const CommandSpec& command, const OptionSpec& option) {
  const std::string description = replaced(option.description, "[]:\\", "\\");
  std::string spec = fmt::format("[{}]", description);
  const std::string message = option.argument.empty() ? "" : fmt::format(":{}", option.argument);
  spec += message;
  switch (find_kind(command, option)) {
    case ArgumentKind::choices:
      spec += fmt::format(":({})", joined(choices_of(command, option)));
      break;
    case ArgumentKind::file:
      spec += ":_files";
      break;
    case ArgumentKind::folder:
      spec += ":_files -/";
      break;
    case ArgumentKind::report:
      spec += ": _oomdoctor_output " + report_words(command);
      break;
    case ArgumentKind::model:
      spec += ":_oomdoctor_models";
      break;
    case ArgumentKind::gpu:
      spec += ":_oomdoctor_gpus";
      break;
    case ArgumentKind::anything:
      spec += option.argument.empty() ? "" : ": ";
  }
  std::vector<std::string> specs;
  for (const auto name : long_names(option))
    specs.push_back(zsh_quoted(fmt::format("*--{}{}{}", name, option.argument.empty() ? "" : "=", spec)));
  if (option.letter) specs.push_back(zsh_quoted(fmt::format("*-{}[{}]", option.letter, description)));
  return fmt::format("{}", fmt::join(specs, " "));
}

std::string zsh_script() {
  std::string text = fmt::format(
      "#compdef oomdoctor\n# zsh completion of oomdoctor, made by: oomdoctor completions zsh\n\n"
      "_oomdoctor_ids() {{\n  local -a ids=(${{(f)\"$({})\"}})\n  compadd -a ids\n}}\n\n"
      "_oomdoctor_gpus() {{\n  local -a gpus=(${{(f)\"$({})\"}})\n  compadd -a gpus\n}}\n\n"
      "# In lower case, unless an upper-case letter was typed.\n"
      "_oomdoctor_models() {{\n  local -a models=(${{(f)\"$({})\"}})\n"
      "  [[ $PREFIX == *[[:upper:]]* ]] || models=(${{(L)models}})\n  compadd -a models\n}}\n\n"
      "_oomdoctor_output() {{\n  if compset -P '*='; then _files; else compadd -S '' -- \"$@\"; fi\n}}\n\n"
      "_oomdoctor() {{\n  local -a commands=(\n",
      list_ids(), list_gpus(), list_models());
  for (const CommandSpec& command : command_table())
    text += fmt::format("    {}\n",
                        zsh_quoted(fmt::format("{}:{}", command.name, replaced(command.description, ":\\", "\\"))));
  text +=
      "    'help:explain a command' 'version:print the version'\n  )\n"
      "  if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n"
      "    _describe -t commands command commands || _files\n    return\n  fi\n"
      "  ((CURRENT > 2)) || compadd -- --version\n"
      "  # Without a command, the words are those of analyze.\n"
      "  local chosen=analyze\n"
      "  if [[ -n ${(M)commands:#$words[2]:*} ]]; then\n"
      "    chosen=$words[2]\n    shift words\n    ((CURRENT--))\n  fi\n"
      "  case $chosen in\n";
  for (const CommandSpec& command : command_table()) {
    text += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionSpec* option : list_options(command)) text += " \\\n        " + zsh_spec(command, *option);
    if (takes_ids(command)) text += " \\\n        '1:ID:_oomdoctor_ids'";
    if (!command.words.empty()) text += fmt::format(" \\\n        '1:word:({})'", joined(command.words));
    if (takes_files(command)) text += " \\\n        '*:PATH:_files'";
    text += "\n      ;;\n";
  }
  return text +
         "    help)\n      _describe -t commands command commands\n      ;;\n  esac\n}\n\n"
         "if [[ $funcstack[1] == _oomdoctor ]]; then\n  _oomdoctor \"$@\"\nelse\n  compdef _oomdoctor oomdoctor\nfi\n";
}

// --- fish ---

std::string fish_quoted(std::string_view text) { return "'" + replaced(text, "'\\", "\\") + "'"; }

/// True where the words are those of the command: without a command, they are those of analyze.
std::string fish_condition(const CommandSpec& command) {
  return command.name == "analyze" ? "__oomdoctor_analyzes"
                                   : fmt::format("'__fish_seen_subcommand_from {}'", command.name);
}

/// One line for an option of one command.
std::string fish_option(const CommandSpec& command, const OptionSpec& option) {
  std::string line = fmt::format("complete -c oomdoctor -n {}", fish_condition(command));
  for (const auto name : long_names(option)) line += fmt::format(" -l {}", name);
  if (option.letter) line += fmt::format(" -s {}", option.letter);
  switch (find_kind(command, option)) {
    case ArgumentKind::choices:
      line += fmt::format(" -x -a {}", fish_quoted(joined(choices_of(command, option))));
      break;
    case ArgumentKind::file:
      line += " -r -F";
      break;
    case ArgumentKind::folder:
      line += " -x -a '(__fish_complete_directories)'";
      break;
    case ArgumentKind::report:
      line += fmt::format(" -r -F -a {}", fish_quoted(report_words(command)));
      break;
    case ArgumentKind::model:
      line += " -x -a '(__oomdoctor_models)'";
      break;
    case ArgumentKind::gpu:
      line += " -x -a '(__oomdoctor_gpus)'";
      break;
    case ArgumentKind::anything:
      line += option.argument.empty() ? "" : " -x";
  }
  return fmt::format("{} -d {}\n", line, fish_quoted(option.description));
}

std::string fish_script() {
  std::string text = fmt::format(
      "# fish completion of oomdoctor, made by: oomdoctor completions fish\n\n"
      "function __oomdoctor_ids\n  sh -c {}\nend\n\nfunction __oomdoctor_gpus\n  sh -c {}\nend\n\n"
      "# In lower case, unless an upper-case letter was typed.\n"
      "function __oomdoctor_models\n  set -l models (sh -c {})\n"
      "  string match -qr '[A-Z]' -- (commandline -ct); or set models (string lower -- $models)\n"
      "  printf '%s\\n' $models\nend\n\n"
      "function __oomdoctor_analyzes\n"
      "  __fish_seen_subcommand_from analyze; or not __fish_seen_subcommand_from {}\nend\n\n"
      "complete -c oomdoctor -f\n"
      "complete -c oomdoctor -n __fish_use_subcommand -l help -s h -d 'list all commands'\n"
      "complete -c oomdoctor -n __fish_use_subcommand -a help -d 'explain a command'\n"
      "complete -c oomdoctor -n __fish_use_subcommand -l version -d 'print the version'\n",
      fish_quoted(list_ids()), fish_quoted(list_gpus()), fish_quoted(list_models()), command_words());
  for (const CommandSpec& command : command_table()) {
    for (const char* condition : {"__fish_use_subcommand", "'__fish_seen_subcommand_from help'"})
      text += fmt::format("complete -c oomdoctor -n {} -a {} -d {}\n", condition, command.name,
                          fish_quoted(command.description));
    const std::string here = fmt::format("complete -c oomdoctor -n {}", fish_condition(command));
    if (takes_files(command)) text += here + " -F\n";
    if (takes_ids(command)) text += here + " -a '(__oomdoctor_ids)'\n";
    if (!command.words.empty()) text += fmt::format("{} -a {}\n", here, fish_quoted(joined(command.words)));
    for (const OptionSpec* option : list_options(command)) text += fish_option(command, *option);
  }
  return text;
}

}  // namespace

int run_completions(const Arguments& arguments) {
  const std::string& shell = arguments.words.front();
  print(shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script());
  return 0;
}

}  // namespace oomdoctor::cli
