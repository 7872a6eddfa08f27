// Reads the lines of jobs that `oomdoctor survey --format jsonl` wrote, so that many machines may survey the logs of
// one cluster, and one adds them up.
#pragma once

#include <functional>
#include <string>

#include "oomdoctor/survey.h"

namespace oomdoctor {

/// True for a file whose first line is that of a job. False for what cannot be read.
bool holds_survey_lines(const std::string& path);

/// Calls `take` for each job of the file, and `left_out` with the place and the reason for each other line that is not
/// empty. Throws Error if the file cannot be read. A line may come from anywhere: one of more than a mebibyte is none.
void read_survey_lines(const std::string& path, const std::function<void(SurveyJob)>& take,
                       const std::function<void(const std::string&)>& left_out);

}  // namespace oomdoctor
