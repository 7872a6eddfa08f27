// Paths as typed become logs to read: folders and patterns are expanded, and what cannot be there is refused early.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// By name, numbers by their value, whatever the order that they were typed in: the same files are the same case. No
/// words and a pipe: standard input. Throws Error.
std::vector<LogSource> inputs_of(const std::vector<std::string>& words);

/// Files of parts as typed; patterns are expanded. Throws Error.
std::vector<std::string> part_files_of(const std::vector<std::string>& words);

/// The files of --format-file; without any, .oomdoctor.toml of the working directory where there is one. Throws Error.
std::vector<std::string> format_files_of(const Arguments& arguments);

}  // namespace oomdoctor::cli
