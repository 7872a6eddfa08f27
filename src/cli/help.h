// Help from the tables of commands and options: --help, which fits a screen of 80 columns and 40 lines, and the manual
// page, which is complete.
#pragma once

#include <string>

#include "cli/options.h"

namespace oomdoctor::cli {

/// The output of oomdoctor --help: all commands.
std::string general_help();
/// The output of oomdoctor COMMAND --help. Rare options appear with their names only.
std::string command_help(const CommandSpec& command);

/// The description of an option. For --format, it includes the formats of this command.
std::string describe_option(const CommandSpec& command, const OptionSpec& option);
/// The options of a command in the order of option_table().
std::vector<const OptionSpec*> list_options(const CommandSpec& command);

/// oomdoctor(1) as roff with man(7) macros.
std::string manual_page();

}  // namespace oomdoctor::cli
