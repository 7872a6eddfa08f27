// One function for each command: takes what was typed, returns the exit status, throws Error when the work cannot be
// done.
#pragma once

#include "cli/options.h"

namespace oomdoctor::cli {

int run_merge(const Arguments& arguments);
int run_analyze(const Arguments& arguments);
int run_ci(const Arguments& arguments);
int run_estimate(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_list(const Arguments& arguments);
int run_schema(const Arguments& arguments);
int run_completions(const Arguments& arguments);
int run_man(const Arguments& arguments);

}  // namespace oomdoctor::cli
