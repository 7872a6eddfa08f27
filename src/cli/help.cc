#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "render/layout.h"

namespace oomdoctor::cli {
namespace {

constexpr int width = 80, option_column = 28, command_column = 34;

/// Prints two columns. If `left` is too long, the description starts on the next line.
void add_row(Page& page, const std::string& left, std::string_view description, int column) {
  const bool fits = static_cast<int>(left.size()) < column;
  if (!fits) page.line(left);
  page.text(pad(fits ? left : "", column), description);
}

std::string format_option(const OptionSpec& option) {
  return option.argument.empty() ? fmt::format("--{}", option.name)
                                 : fmt::format("--{} {}", option.name, option.argument);
}

void add_options(Page& page, const CommandSpec& command) {
  const auto options = list_options(command);
  std::vector<std::string> rare;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const OptionSpec& option = *options[i];
    if (i == 0 || option.group != options[i - 1]->group) page.line(fmt::format("{}:", option.group));
    if (option.rare)
      rare.push_back(format_option(option));
    else
      add_row(page,
              fmt::format("  {:<4}{}", option.letter ? fmt::format("-{},", option.letter) : "", format_option(option)),
              describe_option(command, option), option_column);
    const bool ends = i + 1 == options.size() || option.group != options[i + 1]->group;
    if (ends && !rare.empty()) page.text("      ", fmt::format("and {}", fmt::join(rare, ", ")));
    if (ends) rare.clear();
  }
}

}  // namespace

std::string describe_option(const CommandSpec& command, const OptionSpec& option) {
  if (option.name != "format") return std::string(option.description);
  std::vector<std::string> formats = choices_of(command, option);
  formats.front() += " (default)";
  return fmt::format("{}: {}", option.description, fmt::join(formats, ", "));
}

std::vector<const OptionSpec*> list_options(const CommandSpec& command) {
  std::vector<const OptionSpec*> options;
  for (const OptionSpec& option : option_table())
    if (std::find(command.options.begin(), command.options.end(), option.name) != command.options.end())
      options.push_back(&option);
  return options;
}

std::string general_help() {
  Page page(width, {});
  page.text("", "oomdoctor finds out why a training job ran out of memory, and what to do.");
  page.blank();
  for (const auto& command : command_table())
    add_row(page, fmt::format("  oomdoctor {} {}", command.name, command.usage), command.description, command_column);
  page.blank();
  page.text("",
            "Without a command, oomdoctor analyzes: oomdoctor train.log, oomdoctor -v train.log, or kubectl logs POD | "
            "oomdoctor. Each command has its own --help. oomdoctor --version prints the version.");
  page.blank();
  page.text("",
            "Exit status: 0 success, nothing at the --fail-on or --fail-if level; 1 something at that level; 2 an "
            "error.");
  return page.str();
}

std::string command_help(const CommandSpec& command) {
  Page page(width, {});
  page.text("", fmt::format("oomdoctor {} {}", command.name, command.usage));
  page.blank();
  page.text("", capitalised(std::string(command.description)) + ".");
  if (!command.more.empty()) page.text("", command.more);
  page.blank();
  add_options(page, command);
  const auto options = list_options(command);
  if (std::any_of(options.begin(), options.end(), [](const auto* option) { return option->rare; }))
    page.text("", "The options without a description: oomdoctor man | man -l -");
  return page.str();
}

}  // namespace oomdoctor::cli
