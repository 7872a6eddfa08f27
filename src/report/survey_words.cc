#include "report/survey_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "report/advice_words.h"
#include "report/words.h"

namespace oomdoctor {

std::string gpu_hours_text(double gpu_seconds) {
  constexpr double hour = 3600, whole_from = 10, least = 0.1;
  const double hours = gpu_seconds / hour;
  if (hours >= whole_from) return plural(whole_number(std::round(hours)), "GPU hour", "GPU hours");
  return hours < least ? fmt::format("<{} GPU hours", least) : fmt::format("{:.1f} GPU hours", hours);
}

std::string lost_words(const SurveySums& sums) {
  if (sums.timed == 0) return "lost time unknown";
  const std::string text = "lost " + gpu_hours_text(sums.lost_gpu_seconds);
  if (sums.timed == sums.jobs) return text;
  return fmt::format("{} (known for {} of {})", text, count_text(sums.timed), plural(sums.jobs, "job", "jobs"));
}

namespace {

/// The jobs of which evidence is lost, or in which nothing was recognised.
std::int64_t jobs_without_verdict(const Survey& survey) {
  return std::count_if(survey.jobs.begin(), survey.jobs.end(), [](const SurveyJob& job) {
    return job.outcome == Outcome::unrecognised || (job.outcome == Outcome::possible_oom && job.failure.empty());
  });
}

}  // namespace

std::string survey_headline(const Survey& survey) {
  const std::int64_t all = survey.all.jobs, failed = survey.failed.jobs;
  if (failed == 0) {
    const std::int64_t open = jobs_without_verdict(survey);
    if (open == 0) return fmt::format("None of {} ran out of memory", plural(all, "job", "jobs"));
    return fmt::format("No memory failure in {} of {}; {} could not be judged", count_text(all - open),
                       plural(all, "job", "jobs"), count_text(open));
  }
  return fmt::format("{} of {} ran out of memory ({})", count_text(failed), plural(all, "job", "jobs"),
                     percent_text(static_cast<double>(failed) / static_cast<double>(all)));
}

std::string survey_time_words(const std::optional<double>& time, bool by_file) {
  constexpr std::size_t date_length = 10;  // "2025-03-04"
  if (!time) return "";
  return by_file ? time_text(*time).substr(0, date_length) + ", date of the file" : time_text(*time);
}

std::string file_dated_words(const Survey& survey) {
  if (survey.file_dated == 0) return "";
  return plural(survey.file_dated, "failure has the date of its file: no date was found near it",
                "failures have the date of their file: no date was found near them");
}

std::string outcome_count_words(const SurveyGroup& group) {
  constexpr std::pair<Outcome, const char*> words[] = {{Outcome::oom, "out of memory"},
                                                       {Outcome::possible_oom, "possibly out of memory"},
                                                       {Outcome::at_risk, "at risk"},
                                                       {Outcome::handled_oom, "caught an OOM"},
                                                       {Outcome::ended_otherwise, "ended for another reason"},
                                                       {Outcome::no_oom, "without a memory failure"},
                                                       {Outcome::unrecognised, "not recognised"}};
  for (const auto& [outcome, text] : words)
    if (to_string(outcome) == group.id) return fmt::format("{} {}", count_text(group.sums.jobs), text);
  return "";
}

std::string survey_cause_words(const std::string& cause, const std::string& title) {
  if (!title.empty()) return title;
  return cause.empty() || cause == "undetermined" ? "Cause unclear" : cause;
}

std::string short_cause_words(const SurveyJob& job) {
  ReportCause cause;
  cause.cause = job.cause;
  cause.title = survey_cause_words(job.cause, job.cause_title);
  std::string text = short_cause_name(cause);
  if (!job.cause_title.empty()) text += " " + percent_text(job.confidence);
  return job.outcome == Outcome::possible_oom ? "possible OOM: " + text : text;
}

std::string gpu_words(const SurveyJob& job) {
  constexpr std::string_view maker = "NVIDIA ";
  std::string model = job.gpu.starts_with(maker) ? job.gpu.substr(maker.size()) : job.gpu;
  if (model.empty() && job.gpu_bytes) model = bytes_text(*job.gpu_bytes);
  if (job.gpus.value_or(1) <= 1) return model;
  return model.empty() ? plural(*job.gpus, "GPU", "GPUs") : fmt::format("{} × {}", *job.gpus, model);
}

const std::string& job_name(const SurveyJob& job) { return job.job.empty() ? job.path : job.job; }

std::string offender_fix_words(const SurveyOffender& offender) {
  if (!offender.fix) return "";
  const std::int64_t jobs = offender.sums.jobs;
  const std::string of = offender.fix_jobs == jobs ? "Fix" : fmt::format("Fix for {} of {}", offender.fix_jobs, jobs);
  return of + ": " + offender.fix->title;
}

std::string offender_words(const SurveyOffender& offender) {
  const std::string& place = offender.place.empty() ? offender.failure : offender.place;
  const std::string cause = survey_cause_words(offender.cause, offender.cause_title);
  return place.empty() ? cause : cause + "; " + place;
}

}  // namespace oomdoctor
