// The JSON Schemas (draft 2020-12) of the output for programs, as `oomdoctor schema` prints them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor {

/// What the reader of own line formats takes: see formats/format_table.h.
struct OwnFormatWords {
  std::vector<std::string_view> units, kinds;
  std::size_t shortest_anchor = 0;  ///< bytes
};

/// The schema of the JSON report, version 1.1.
std::string report_schema();
/// The schema of a file of own line formats, .oomdoctor.toml: of draft 7, which editors of TOML know.
std::string own_formats_schema(const OwnFormatWords& words);
/// The schema of one line of --format jsonl.
std::string jsonl_schema();
/// The schema of one line of --format partial.
std::string partial_schema();
/// The schema of the JSON of oomdoctor compare.
std::string comparison_schema();
/// The schema of the JSON of oomdoctor estimate.
std::string estimate_schema();
/// The schema of one line of oomdoctor survey --format jsonl.
std::string survey_schema();
/// The schema of the totals of a survey: oomdoctor survey --format json.
std::string survey_totals_schema();

}  // namespace oomdoctor
