// The tools of `oomdoctor mcp`: each is a command of oomdoctor, with some of its options.
#pragma once

#include <vector>

#include "cli/options.h"
#include "mcp/session.h"

namespace oomdoctor::cli {

/// All tools, with the descriptions of the options that --help prints.
std::vector<ToolSpec> mcp_tools();

/// A command line.
struct ToolCommand {
  const CommandSpec& command;
  Arguments arguments;
};

/// The command line of a call. `server` is that of the server: its --rules and --format-file are for all tools.
/// Throws Error for a value that the command does not accept, and for a path outside of the scope.
ToolCommand make_tool_command(const ToolSpec& tool, const ToolArguments& given, const Arguments& server,
                              const InputScope& scope);

}  // namespace oomdoctor::cli
