// The words of a survey that its screen and its page share. They may quote a log; the caller escapes them for its
// output.
#pragma once

#include <optional>
#include <string>

#include "oomdoctor/survey.h"

namespace oomdoctor {

std::string gpu_hours_text(double gpu_seconds);  ///< for example "310 GPU hours", "1.5 GPU hours", "<0.1 GPU hours"

/// For example "lost 310 GPU hours", "lost 12 GPU hours (known for 3 of 9 jobs)"; "lost time unknown" without any date.
std::string lost_words(const SurveySums& sums);
/// For example "12 of 40 jobs ran out of memory (30%)".
std::string survey_headline(const Survey& survey);
/// For example "2025-03-04 09:32:10", "2025-03-04, date of the file"; "" without a date.
std::string survey_time_words(const std::optional<double>& time, bool by_file);
/// "3 failures have the date of their file: no date was found near them"; "" if none has.
std::string file_dated_words(const Survey& survey);
/// The jobs of an outcome: "12 out of memory", "3 possibly out of memory", "870 without a memory failure".
std::string outcome_count_words(const SurveyGroup& group);
/// The cause of a job or a group in words, also without one: "cause unclear".
std::string survey_cause_words(const std::string& cause, const std::string& title);
/// The same up to ':' or '(', and with the confidence: "Memory leak 92%".
std::string short_cause_words(const SurveyJob& job);
/// For example "8 × A100-SXM4-80GB", "79.15 GiB"; "" if unknown.
std::string gpu_words(const SurveyJob& job);
/// The number of the scheduler, or else the log.
const std::string& job_name(const SurveyJob& job);
/// The cause and the place, or else the failure: "Memory leak: each step keeps memory; model.py in forward".
std::string offender_words(const SurveyOffender& offender);
/// For example "Fix for 12 of 14: Accumulate `loss.item()`, not `loss`"; "" without a fix.
std::string offender_fix_words(const SurveyOffender& offender);

}  // namespace oomdoctor
