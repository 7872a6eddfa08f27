// The input of all reports for CI systems: one finding per root cause, or one for a risk. Each has one location, and a
// fingerprint that is the same in every run with the same failure.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// One entry of a CI report.
struct Finding {
  const ReportIncident* incident = nullptr;  ///< null for a risk and for lost evidence; points into the report
  std::string rule;                          ///< a cause id, or "undetermined"
  std::string level;                         ///< "error" if the failure ended the run, else "warning"
  std::string title;  ///< for example "GPU 0 ran out of memory at step 1000, in the backward pass"
  std::string text;   ///< the diagnosis if the verdict is about this finding, else the title
  std::string file;   ///< the line in the user's code if the log names it, else the line of the log
  std::int64_t line = 1;
  std::vector<Location> log;  ///< evidence, the failure's own line first; at most 10
  std::string fingerprint;    ///< unique in the report
};

/// Root causes in the order of the report, then a risk if the outcome is "at_risk", then lost evidence. Consequences
/// are left out.
std::vector<Finding> findings(const Report& report);

/// The verdict in a few lines: the headline, the reason, the first fix.
std::string diagnosis_text(const Report& report);

/// The report's cause with this id; null for "undetermined" and for unknown ids. Points into the report.
const ReportCause* find_cause(const Report& report, std::string_view id);

}  // namespace oomdoctor
