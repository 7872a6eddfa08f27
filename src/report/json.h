// The report as JSON, contract version 1.0: one object, or JSON Lines. A value that the log does not print is absent,
// never 0. Sizes are integers.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// One indented object with a final line end. U+FFFD replaces each invalid byte of UTF-8. Never throws for the content
/// of a report.
std::string json_text(const Report& report);

/// The version in each line of jsonl_text().
inline constexpr int jsonl_version = 1;

/// JSON Lines: the verdict, then one line per failure, series (without its points), cause and fix. Each line has the
/// version, the first input, and one object of the report under its name. The text is ASCII, because some readers also
/// end a line at other characters than the line feed.
std::string jsonl_text(const Report& report);

}  // namespace oomdoctor
