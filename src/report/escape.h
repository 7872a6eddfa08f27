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

/// HTML: text between tags or in a quoted attribute; a block keeps its line ends. And JSON that stands in a script
/// element: nothing in it can end the element.
std::string html_inline(std::string_view text);
std::string html_block(std::string_view text);
std::string html_json(std::string_view json);

/// The message and a property ("file=", "title=") of a GitHub workflow command.
std::string workflow_message(std::string_view text);
std::string workflow_property(std::string_view text);

/// A whole text that goes to a CI job's log: no line of it can be read as a command ("::error", "##[group]") or as the
/// header of a group ("+++ ", "~~~ ").
std::string without_workflow_commands(std::string_view text);

/// XML 1.0, as content or between quotation marks: what XML cannot hold at all is shown, as in a plain block.
std::string xml_text(std::string_view text);

/// SARIF: a message, in which "[text](1)" would be a link.
std::string sarif_message(std::string_view text);

/// JSON that says the same in a terminal: characters that would command it, or that show nothing, as \u202e.
std::string json_visible(std::string json);

/// A path as a repository knows it: relative to `folder` where it lies below it, else the file's name alone, so that
/// neither ".." nor an absolute path leads anywhere. Standard input is "stdin".
std::string relative_path(std::string_view path, std::string_view folder);

/// A path as a URI reference.
std::string percent_encoded(std::string_view path);

/// The value of a label of Prometheus, between quotation marks.
std::string prometheus_label(std::string_view text);

}  // namespace oomdoctor
