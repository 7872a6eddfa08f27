// The JSON Schemas (draft 2020-12) of the output for programs, as `oomdoctor schema` prints them.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// The schema of the JSON report, version 1.0.
std::string_view report_schema();

/// The schema of one line of --format jsonl.
std::string jsonl_schema();

}  // namespace oomdoctor
