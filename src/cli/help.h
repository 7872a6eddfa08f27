// What the tables of commands and options say: --help, which fits a screen of 80 columns and 40 lines, and the manual
// page, which leaves nothing out.
#pragma once

#include <string>

#include "cli/options.h"

namespace oomdoctor::cli {

std::string general_help();
std::string command_help(const CommandSpec& command);

/// What an option does, with the formats that a command has.
std::string says_of(const CommandSpec& command, const OptionSpec& option);
/// Its options in the order of the table.
std::vector<const OptionSpec*> options_of(const CommandSpec& command);

/// oomdoctor(1) as roff with man(7) macros.
std::string manual_page();

}  // namespace oomdoctor::cli
