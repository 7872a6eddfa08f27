// Redacts a report for sharing: removes secrets, and on demand the names of people and machines. A pure function of the
// report. Each removed text leaves a visible replacement, and a note has the counts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "oomdoctor/report.h"
#include "oomdoctor/survey.h"

namespace oomdoctor {

/// `secrets`: tokens, passwords and keys. `all`: also users, hosts, addresses and buckets.
enum class Redaction { off, secrets, all };

template <class Result>
struct RedactedResult {
  Result report;
  std::map<std::string, std::size_t>
      counts;  ///< the number of different ones of each kind, for example {"Hugging Face token", 1}
};
using Redacted = RedactedResult<Report>;

/// Redacts all texts of the report and adds the note. `off` returns the report unchanged.
Redacted redact(Report report, Redaction how);
/// The same for a survey: a name gets one replacement in all its jobs.
RedactedResult<Survey> redact(Survey survey, Redaction how);

/// Removes secrets from one text. remove_secrets() does so in an excerpt: `lead` is the text before it in its line, and
/// the marked columns move with their text.
std::string without_secrets(std::string_view text);
void remove_secrets(std::string_view lead, std::string& excerpt, int& column, int& end_column);

/// For example "1 GitHub token, 2 passwords"; "" if nothing was replaced.
std::string redaction_words(const std::map<std::string, std::size_t>& counts);

/// `excerpt_of` is the location whose excerpt is the text, with its marked columns; null for other texts.
using TextVisit = std::function<void(std::string& text, Location* excerpt_of)>;

/// Visits all texts by the list of fields (report_fields.h), so that redaction forgets none, including identifiers. The
/// order depends on the report only.
void visit_texts(Report& report, const TextVisit& visit);
void visit_texts(Survey& survey, const TextVisit& visit);

}  // namespace oomdoctor
