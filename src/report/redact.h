// A report that may be handed on: without secrets, and on demand without names of people and machines. A pure function
// of the report; what was replaced is shown in its place and counted in a note.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "oomdoctor/report.h"

namespace oomdoctor {

enum class Redaction { off, secrets, all };

struct Redacted {
  Report report;
  std::map<std::string, std::size_t> counts;  ///< how many different ones of each kind: {"Hugging Face token", 1}
};

Redacted redact(Report report, Redaction how);

/// One text without secrets; and one that was cut out of a line, with its marked columns and what stood in front of it.
std::string without_secrets(std::string_view text);
void remove_secrets(std::string_view lead, std::string& excerpt, int& column, int& end_column);

/// "1 GitHub token, 2 passwords"; "" when nothing was replaced.
std::string redaction_words(const Redacted& of);

}  // namespace oomdoctor
