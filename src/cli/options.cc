#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/ascii.h"
#include "base/error.h"

namespace oomdoctor::cli {
namespace {

namespace po = boost::program_options;

/// The parser collects all arguments that are not options under this name.
constexpr const char* words_key = "words";

/// Every option with an argument may be repeated. The command uses the last value, or all.
po::options_description describe_options(const CommandSpec& command) {
  po::options_description description;
  for (const auto name : command.options) {
    const OptionSpec& option = find_option(name);
    std::string spelled(option.name);  // the key of a parsed option, whichever name was typed
    if (!option.alias.empty()) spelled += fmt::format(",{}", option.alias);
    if (option.letter) spelled += fmt::format(",{}", option.letter);
    if (option.argument.empty())
      description.add_options()(spelled.c_str(), "");
    else
      description.add_options()(spelled.c_str(), po::value<std::vector<std::string>>()->composing(), "");
  }
  description.add_options()(words_key, po::value<std::vector<std::string>>(), "");
  return description;
}

std::string see_help(const CommandSpec& command) { return fmt::format("see oomdoctor {} --help", command.name); }

[[noreturn]] void refuse_unknown(const CommandSpec& command, const std::string& typed) {
  std::vector<std::string> names;
  for (const auto name : command.options) names.push_back("--" + std::string(name));
  const std::string near = suggestion(typed, names);
  throw Error(fmt::format("unknown option '{}' of oomdoctor {}", typed, command.name), "",
              near.empty() ? see_help(command) : near);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// The value in the spelling of the table, because choices are compared without regard to case. Throws Error if it is
/// not a choice.
std::string checked_value(const CommandSpec& command, const OptionSpec& option, const std::string& value) {
  const auto& choices = choices_of(command, option);
  if (choices.empty()) return value;
  for (const auto& choice : choices)
    if (equal_ignoring_case(choice, value)) return choice;
  const std::string near = suggestion(value, choices);
  const std::string all = fmt::format("choose one of: {}", fmt::join(choices, ", "));
  throw Error(fmt::format("invalid --{} '{}'", option.name, value), "", near.empty() ? all : near + " " + all);
}

/// Checks the word of a command that accepts a fixed set of words. Throws Error.
void check_words(const CommandSpec& command, const std::vector<std::string>& typed) {
  if (command.words.empty()) return;
  const std::string all = fmt::format("choose one of: {}", fmt::join(command.words, ", "));
  if (typed.empty()) throw Error(fmt::format("{} needs an argument", command.name), "", all);
  if (typed.size() > 1) throw Error(fmt::format("{} takes one argument; '{}' is one too many", command.name, typed[1]));
  if (std::find(command.words.begin(), command.words.end(), typed[0]) != command.words.end()) return;
  const std::string near = suggestion(typed[0], command.words);
  throw Error(fmt::format("{} does not know '{}'", command.name, typed[0]), "", near.empty() ? all : near + " " + all);
}

/// Replaces the library's messages by Errors that name the option and the help page.
po::parsed_options parse(const CommandSpec& command, const po::options_description& description,
                         const std::vector<std::string>& typed) {
  po::positional_options_description positions;
  positions.add(words_key, -1);
  // No guessing: a script with an abbreviated option would break when a new option with the same prefix appears.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    return po::command_line_parser(typed).options(description).positional(positions).style(style).run();
  } catch (const po::unknown_option& error) {
    refuse_unknown(command, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    const bool extra = error.kind() == po::invalid_syntax::extra_parameter;
    throw Error(fmt::format("{} {}", error.get_option_name(), extra ? "takes no value" : "needs a value"), "",
                see_help(command));
  } catch (const po::error& error) {
    throw Error(error.what(), "", see_help(command));
  }
}

}  // namespace

const OptionSpec& find_option(std::string_view name) {
  const auto& table = option_table();
  return *std::find_if(table.begin(), table.end(), [&](const OptionSpec& option) { return option.name == name; });
}

const std::vector<std::string>& choices_of(const CommandSpec& command, const OptionSpec& option) {
  return option.name == "format" && !command.formats.empty() ? command.formats : option.choices;
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::string Arguments::value_or(std::string_view option, std::string_view otherwise) const {
  return value(option).value_or(std::string(otherwise));
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

bool is_command(std::string_view name) {
  const auto& commands = command_table();
  return std::any_of(commands.begin(), commands.end(), [&](const CommandSpec& each) { return each.name == name; });
}

const CommandSpec& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : command_table()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  if (name.starts_with('-')) {
    std::vector<std::string> options = {"--version"};
    for (const auto option : find_command("analyze").options) options.push_back("--" + std::string(option));
    const std::string near = suggestion(name, options);
    throw Error(fmt::format("unknown option '{}'", name), "", near.empty() ? "see oomdoctor --help" : near);
  }
  const std::string near = suggestion(name, names);
  throw Error(fmt::format("unknown command '{}'", name), "",
              near.empty() ? fmt::format("to read a log: oomdoctor analyze {}", name) : near);
}

const OptionSpec* match_option(const CommandSpec& command, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  for (const auto name : command.options) {
    const OptionSpec& option = find_option(name);
    const bool is_long = typed.starts_with("--") &&
                         (typed.substr(2) == option.name || (!option.alias.empty() && typed.substr(2) == option.alias));
    const bool is_letter = option.letter != 0 && typed.size() > 1 && typed[0] == '-' && typed[1] == option.letter;
    if (is_long || is_letter) return &option;
  }
  return nullptr;
}

namespace {

/// Whether the word after this option is its value: "--width 60", "-w 60", "-qw 60"; not "--width=60", "-w60".
bool takes_next(const CommandSpec& command, std::string_view word) {
  if (word.starts_with("--")) {
    const OptionSpec* option = match_option(command, word);
    return option != nullptr && !option->argument.empty() && word.find('=') == word.npos;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const OptionSpec* option = match_option(command, std::string{'-', word[i]});
    if (option == nullptr || !option->argument.empty()) return option != nullptr && i + 1 == word.size();
  }
  return false;
}

}  // namespace

std::size_t count_options(const CommandSpec& command, const std::vector<std::string>& typed) {
  std::size_t i = 0;
  while (i < typed.size() && typed[i].size() > 1 && typed[i].front() == '-' && typed[i] != "--")
    i += takes_next(command, typed[i]) && i + 1 < typed.size() ? std::size_t{2} : 1;
  return i;
}

Arguments parse_arguments(const CommandSpec& command, const std::vector<std::string>& typed) {
  const po::options_description description = describe_options(command);
  Arguments arguments;
  std::vector<std::string> own = typed;
  if (command.runs_words) {
    auto word = typed.begin() + static_cast<std::ptrdiff_t>(count_options(command, typed));
    own.assign(typed.begin(), word);
    if (word != typed.end() && *word == "--") ++word;
    arguments.words.assign(word, typed.end());
  }
  for (const auto& option : parse(command, description, own).options) {
    if (option.string_key == words_key || option.string_key.empty()) {
      if (option.position_key < 0) refuse_unknown(command, "--" + option.string_key);
      arguments.words.insert(arguments.words.end(), option.value.begin(), option.value.end());
      continue;
    }
    const OptionSpec& spec = find_option(option.string_key);
    const std::string value = option.value.empty() ? "" : option.value.front();
    arguments.add(spec.name, spec.argument.empty() ? value : checked_value(command, spec, value));
  }
  if (!arguments.has("help")) check_words(command, arguments.words);
  return arguments;
}

}  // namespace oomdoctor::cli
