// The report as JSON, contract version 1.0. A value that the log does not give is absent, never 0; sizes are integers.
#pragma once

#include <string>

#include "oomdoctor/report.h"

namespace oomdoctor {

/// One indented object that ends with a line end. Text that is not UTF-8 gets U+FFFD for each bad byte; never throws.
std::string json_text(const Report& report);

}  // namespace oomdoctor
