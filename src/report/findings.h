// What CI systems are told: one finding for each root cause, or one for a risk, each at one place and with a
// fingerprint that is the same in every run that fails in the same way.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct Finding {
  const ReportIncident* incident = nullptr;  ///< null for a risk; lives as long as the report
  std::string rule;                          ///< a cause id, or "undetermined"
  std::string level;                         ///< "error" where it ended the work, else "warning"
  std::string title;                         ///< "GPU 0 ran out of memory at step 1000, in the backward pass"
  std::string text;                          ///< the diagnosis where the verdict is about it, else the title
  std::string file;                          ///< the user's own line where the log names it, else the log's
  std::int64_t line = 1;
  std::vector<Location> log;  ///< lines that show it, its own first
  std::string fingerprint;    ///< unique in the report
};

std::vector<Finding> findings(const Report& report);

/// The verdict in some lines: the headline, why, what to try first.
std::string diagnosis_text(const Report& report);

/// The report's cause of that id; null for "undetermined" and for what was not weighed.
const ReportCause* find_cause(const Report& report, std::string_view id);

}  // namespace oomdoctor
