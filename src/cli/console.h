// The program's output: standard output and standard error, and their width and colour by options and environment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "render/terminal.h"

namespace oomdoctor::cli {

/// Standard output was closed by its reader. This is not an error to report: main() ends the program silently.
struct BrokenPipe {};

/// Writes text to standard output. In a CI job, it disarms workflow commands in the text. Throws BrokenPipe or Error.
void print(std::string_view text);
/// Writes text that consists of workflow commands, unchanged. The caller must have escaped all log text in it. Throws
/// BrokenPipe or Error.
void print_commands(std::string_view text);
/// Writes whole lines to standard error, without secrets. Ignores write errors.
void print_error(std::string_view lines);
/// Writes "oomdoctor: NOTE" to standard error, each note once. Ignores write errors.
void print_note(std::string_view note);
/// The next notes are printed again: another command begins in this process.
void forget_notes();

/// The texts that print(), print_error() and print_note() write, for an output that must not wait. A note that was
/// printed before is "".
std::string output_text(std::string_view text);
std::string error_text(std::string_view lines);
std::string note_text(std::string_view note);

bool is_interactive();  ///< whether standard error is a terminal

std::string environment(const char* name);  ///< "" if unset

/// The options of the terminal report. Options override the environment, and the environment overrides the terminal.
/// Throws Error for an invalid --width.
RenderOptions make_render_options(const Arguments& arguments);

}  // namespace oomdoctor::cli
