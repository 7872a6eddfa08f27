// Log text is untrusted: it may contain escape sequences, right-to-left overrides, workflow commands or markup. Each
// output format escapes it here, at the boundary, and keeps the characters visible. A Report contains the text as it
// was read.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// One line for a terminal or plain text. Control characters, invalid UTF-8 and invisible or bidirectional characters
/// become \x1b or \u202e; tabs and line ends become one blank.
std::string plain_line(std::string_view text);

/// The same for settings and code of several lines: keeps line ends and indentation.
std::string plain_block(std::string_view text);

/// Plain text for a coding agent, which may take a sentence of a log for an instruction: one line of bounded length.
/// Log text is between « and »; nothing else contains these marks, so that no log text can leave its quote.
std::string agent_quote(std::string_view log_text);
/// A sentence of oomdoctor, which may contain names of the log.
std::string agent_sentence(std::string_view sentence);

/// Markdown (markdown_escape.cc): inline text without blanks around it, in which nothing is markup or a reference, a
/// code span, and a fenced block. The fence is longer than any in the text.
std::string markdown_inline(std::string_view text);
std::string markdown_code(std::string_view text);
std::string markdown_fence(std::string_view text, std::string_view language = {});

/// HTML: text between tags or in a quoted attribute; a block keeps its line ends.
std::string html_inline(std::string_view text);
std::string html_block(std::string_view text);

/// The message and a property ("file=", "title=") of a GitHub workflow command.
std::string workflow_message(std::string_view text);
std::string workflow_property(std::string_view text);

/// A whole text for the log of a CI job: no line of it is a command ("::error", "##[group]") or the header of a group
/// ("+++ ", "~~~ ").
std::string without_workflow_commands(std::string_view text);

/// XML 1.0, as content or in a double-quoted attribute. Characters that XML forbids are shown as in plain_block().
std::string xml_text(std::string_view text);

/// A SARIF message, in which "[text](1)" would otherwise be a link.
std::string sarif_message(std::string_view text);

/// Equivalent JSON that is safe on a terminal: control and invisible characters become escapes such as \u202e.
std::string json_visible(std::string json);

/// A path as a repository knows it: relative to `folder` if it is below it, else only the file name, so that neither
/// ".." nor an absolute path escapes. Standard input is "stdin".
std::string relative_path(std::string_view path, std::string_view folder);

/// A path as a URI reference, in UTF-8 percent-encoding.
std::string percent_encoded(std::string_view path);

/// The value of a Prometheus label, between quotation marks.
std::string prometheus_label(std::string_view text);

}  // namespace oomdoctor
