// Selects the redaction for each writer. A format that is made for sharing gets a report without secrets; a local one,
// for the terminal or a script, gets all of it. --redact overrides this, and in a CI job every format counts as shared.
#pragma once

#include <array>
#include <optional>

#include "cli/options.h"
#include "redact/redact.h"
#include "render/writer.h"

namespace oomdoctor::cli {

/// Redacts a result, a Report or a Survey, on demand and at most once for each kind of redaction.
template <class Result>
class SharedResult {
 public:
  /// `result` must outlive this object. `handed_on`: treat every writer as shared, as in a CI job.
  SharedResult(const Result& result, const Arguments& arguments, bool handed_on);

  /// The result for this writer. The first redaction of each kind prints a note on standard error with its counts.
  const Result& of(const WriterOf<Result>& writer);
  /// The value of --redact ("off", "secrets" or "all"), or else the default of the writer.
  Redaction redaction(const WriterOf<Result>& writer) const;

 private:
  const Result& result_;
  std::optional<Redaction> asked_;
  bool handed_on_;
  std::array<std::optional<RedactedResult<Result>>, 3> made_;  ///< indexed by Redaction
};
using SharedReport = SharedResult<Report>;

}  // namespace oomdoctor::cli
