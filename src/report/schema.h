// The JSON Schema (draft 2020-12) of the report, version 1.0: what `oomdoctor schema report` prints.
#pragma once

#include <string_view>

namespace oomdoctor {

std::string_view report_schema();

}  // namespace oomdoctor
