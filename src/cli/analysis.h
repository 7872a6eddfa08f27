// The common part of analyze, ci, compare and explain: the library's options from the command line, and the exit
// status.
#pragma once

#include "cli/options.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor::cli {

/// Reads --capacity, --rules, --format-file, --why-not, --trace and --jobs. Checks them before any log is read. Throws
/// Error for an invalid size or number of threads, an unknown cause, and rules or formats that cannot be read.
Options diagnose_options(const Arguments& arguments);

/// 0 or 1 by the outcome of the report and by --fail-on ("never", "warning" or "error"): 1 at or above that level. 2 if
/// there is no text to judge, or evidence is lost and nothing was recognised, unless --fail-on is "never".
int exit_status(const Report& report, const std::string& fail_on);

}  // namespace oomdoctor::cli
