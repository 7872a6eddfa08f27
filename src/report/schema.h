// The JSON Schemas (draft 2020-12) of what oomdoctor writes for programs: `oomdoctor schema` prints them.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// Of the report, version 1.0.
std::string_view report_schema();

/// Of one line of --format jsonl.
std::string jsonl_schema();

}  // namespace oomdoctor
