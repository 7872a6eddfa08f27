// JSON for programs: one object, or JSON Lines. A value that the log does not print is absent, never 0. Sizes are
// integers in bytes. U+FFFD replaces each invalid byte of UTF-8, so that no content of a log is an error.
#pragma once

#include <string>

#include "oomdoctor/report.h"
#include "oomdoctor/survey.h"

namespace oomdoctor {

struct Comparison;
struct MemoryEstimate;

/// The report, contract version 1.1: one indented object with a final line end, as the next functions' too.
std::string json_text(const Report& report);
std::string comparison_json(const Comparison& comparison);
std::string estimate_json(const MemoryEstimate& estimate);
/// The totals of a survey, without its jobs.
std::string survey_json(const Survey& survey);

/// The version in each line of jsonl_text().
inline constexpr int jsonl_version = 1;

/// JSON Lines: the verdict, then one line per failure, series (without its points), cause and fix. Each line has the
/// version, the first input, and one object of the report under its name. The text is ASCII, because some readers also
/// end a line at other characters than the line feed.
std::string jsonl_text(const Report& report);

/// JSON Lines: one line per job, all with the same fields. ASCII, as above.
std::string survey_jsonl(const Survey& survey);

}  // namespace oomdoctor
