// Which report a writer gets. A format that is made to be handed on holds no secrets; the one that is read where it was
// made, on the terminal or by a script, holds all. --redact decides otherwise, and in a CI job all are handed on.
#pragma once

#include <array>
#include <optional>

#include "cli/options.h"
#include "report/redact.h"
#include "report/writer.h"

namespace oomdoctor::cli {

class SharedReport {
 public:
  /// The report must outlive this. `handed_on`: by every writer.
  SharedReport(const Report& report, const Arguments& arguments, bool handed_on);

  /// Says on standard error what was left out, once.
  const Report& of(const Writer& writer);
  /// "off", "secrets" or "all", as asked for; else by the writer.
  Redaction redaction(const Writer& writer) const;

 private:
  const Report& report_;
  std::optional<Redaction> asked_;
  bool handed_on_;
  std::array<std::optional<Redacted>, 3> made_;  ///< by Redaction
};

}  // namespace oomdoctor::cli
