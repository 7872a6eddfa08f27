// Selects the redaction for each writer. A format that is made for sharing gets a report without secrets; a local one,
// for the terminal or a script, gets all of it. --redact overrides this, and in a CI job every format counts as shared.
#pragma once

#include <array>
#include <optional>

#include "cli/options.h"
#include "redact/redact.h"
#include "render/writer.h"

namespace oomdoctor::cli {

/// Redacts a report on demand, and at most once for each kind of redaction.
class SharedReport {
 public:
  /// `report` must outlive this object. `handed_on`: treat every writer as shared, as in a CI job.
  SharedReport(const Report& report, const Arguments& arguments, bool handed_on);

  /// The report for this writer. The first redaction of each kind prints a note on standard error with its counts.
  const Report& of(const Writer& writer);
  /// The value of --redact ("off", "secrets" or "all"), or else the default of the writer.
  Redaction redaction(const Writer& writer) const;

 private:
  const Report& report_;
  std::optional<Redaction> asked_;
  bool handed_on_;
  std::array<std::optional<Redacted>, 3> made_;  ///< indexed by Redaction
};

}  // namespace oomdoctor::cli
