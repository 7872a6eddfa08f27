// Turns the paths of the command line into logs to read: expands folders and patterns, and rejects missing files early.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// The logs in natural order, each once under one of its names: the same files give the same case in any order of the
/// words. Without words, reads standard input if it is a pipe, a file or a socket. What cannot be offered as a log is
/// added to Options::lost and Options::notes. Throws Error if no log is left, no input is given, or a word leads out of
/// the scope.
std::vector<LogSource> resolve_inputs(const std::vector<std::string>& words, Options& options, const InputScope& scope);

/// The files of parts, in the order of the words, with patterns expanded. Throws Error for no word, a missing file and
/// anything but a regular file.
std::vector<std::string> resolve_part_files(const std::vector<std::string>& words);

/// The files of --format-file. Without that option, .oomdoctor.toml of the working directory, if it is a regular file
/// and this is not a CI job. Throws Error for a missing file.
std::vector<std::string> find_format_files(const Arguments& arguments);

}  // namespace oomdoctor::cli
