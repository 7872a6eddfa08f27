// Log text is untrusted: it may hold escape sequences, right-to-left overrides, workflow commands or markup. Each sink
// neutralises it here, at the boundary, and shows what was there; a Report itself holds the text as it was read.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// One line for a terminal or a plain text: control characters, bad UTF-8 and invisible or bidirectional controls are
/// shown as \x1b or \u202e; tabs and line ends become one blank.
std::string plain_line(std::string_view text);

/// The same, with line ends and the blanks in front of a line kept: for settings and code of several lines.
std::string plain_block(std::string_view text);

/// Markdown: inline text with all markup escaped, a code span, and a fenced block (its fence is longer than any in it).
std::string markdown_inline(std::string_view text);
std::string markdown_code(std::string_view text);
std::string markdown_fence(std::string_view text, std::string_view language = {});

/// The message and a property ("file=", "title=") of a GitHub workflow command.
std::string workflow_message(std::string_view text);
std::string workflow_property(std::string_view text);

/// A whole text that goes to a CI job's log: no line of it can be read as a command ("::error", "##[group]").
std::string without_workflow_commands(std::string_view text);

}  // namespace oomdoctor
