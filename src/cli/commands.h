// One function for each command. It takes the parsed arguments, returns the exit status, and throws Error if it cannot
// do the work.
#pragma once

#include "cli/options.h"

namespace oomdoctor::cli {

int run_merge(const Arguments& arguments);
int run_survey(const Arguments& arguments);
int run_analyze(const Arguments& arguments);
int run_ci(const Arguments& arguments);
int run_run(const Arguments& arguments);
int run_watch(const Arguments& arguments);
int run_estimate(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_snapshot(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_list(const Arguments& arguments);
int run_schema(const Arguments& arguments);
int run_completions(const Arguments& arguments);
int run_mcp(const Arguments& arguments);
int run_man(const Arguments& arguments);

}  // namespace oomdoctor::cli
