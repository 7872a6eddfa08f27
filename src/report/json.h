// The report as JSON, contract version 1.0: one object, or a line for each thing found. A value that the log does not
// give is absent, never 0; sizes are integers.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// One indented object that ends with a line end. Text that is not UTF-8 gets U+FFFD for each bad byte; never throws.
std::string json_text(const Report& report);

inline constexpr int jsonl_version = 1;

/// JSON Lines: the verdict, then each failure, series (without its points), cause and fix on a line of its own. A line
/// names its version and the first input, and holds one of the report's objects under its name. In ASCII: some readers
/// end a line at other characters than the line feed.
std::string jsonl_text(const Report& report);

}  // namespace oomdoctor
