// Where output goes: standard output and files, with what the environment says about width and colour.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "report/terminal.h"

namespace oomdoctor::cli {

/// The reader of standard output went away: nothing to report, the program ends with success.
struct BrokenPipe {};

/// Text to standard output: in a CI job no line of it is a command. Throws BrokenPipe or Error.
void print(std::string_view text);
/// The same for text that is made of commands, and of nothing that somebody else wrote as it stands.
void print_commands(std::string_view text);
/// To standard error, and never a failure: whole lines as they are, or "oomdoctor: …", each note once.
void print_error(std::string_view lines);
void print_note(std::string_view note);
/// All of it to a descriptor; false where it cannot, and errno says why.
bool write_all(int file, std::string_view text);

bool is_interactive();  ///< somebody sits in front of standard error

std::string environment(const char* name);  ///< "" when unset

/// Width and colour as options, environment and terminal say, in this order; verbose and quiet. Throws Error for a bad
/// --width.
RenderOptions view_of(const Arguments& arguments);

}  // namespace oomdoctor::cli
