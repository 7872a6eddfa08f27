// What analyze and ci share: options of the library, and the level that decides about the exit status.
#pragma once

#include "cli/options.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// Throws Error for a bad size or an unknown cause.
Options diagnose_options(const Arguments& arguments);

/// 1 when the report holds something at or above the level of --fail-on, else 0.
int exit_status(const Report& report, const std::string& fail_on);

}  // namespace oomdoctor::cli
