// The fields of the JSON of a survey, version 1.0: see fields.h. A line of a job always has all its fields, so that a
// database gets one column for each.
#pragma once

#include "oomdoctor/survey.h"
#include "report/report_fields.h"
#include "report/words.h"

namespace oomdoctor {

inline constexpr FieldSpec text_or_null{.null_if_empty = true};

/// "2025-03-04T09:32:10": databases and programs read this form as a time. "" becomes null.
inline std::string iso_time(const std::optional<double>& time) {
  std::string text = time ? time_text(*time) : "";
  if (const auto blank = text.find(' '); blank != text.npos) text[blank] = 'T';
  return text;
}

void fields(auto& field, Is<SurveyFix> auto& of) {
  field("id", of.id);
  field("title", of.title);
  field("diagnostic", of.diagnostic, {.description = "provides information, and changes nothing in the next run"});
}

void fields(auto& field, Is<SurveyJob> auto& of) {
  std::string failed_at = iso_time(of.failed_at), ended_at = iso_time(of.ended_at), file_time = iso_time(of.file_time);
  field("job", of.job, {.description = "number of the scheduler", .null_if_empty = true});
  field("path", of.path, {.description = "the log of the failure, else the first one"});
  field("logs", of.logs, {.description = "number of logs", .minimum = 1});
  field("user", of.user, {.description = "whose home folder a path of the job is in", .null_if_empty = true});
  field("program", of.program, {.description = "the program, else the framework", .null_if_empty = true});
  field("gpu", of.gpu, {.description = "the model", .null_if_empty = true});
  field("gpu_bytes", of.gpu_bytes,
        {.description = "memory of the GPU that failed", .null_if_empty = true, .minimum = 0});
  field("gpus", of.gpus,
        {.description = "GPUs that the logs show; the job may have more", .null_if_empty = true, .minimum = 1});
  field("outcome", of.outcome, {.values = outcomes});
  field("cause", of.cause,
        {.description = "a cause id, undetermined, or null when there is nothing to explain", .null_if_empty = true});
  field("cause_title", of.cause_title, text_or_null);
  field("confidence", of.confidence, as_probability);
  field("place", of.place, {.description = "the function of the user's code that failed", .null_if_empty = true});
  field("failure", of.failure, {.description = "the failure in words", .null_if_empty = true});
  field("fingerprint", of.fingerprint,
        {.description = "equal for the same cause in the same place", .null_if_empty = true});
  field("fixes", of.fixes, {.description = "in the order to try"});
  field("step", of.step, {.description = "of the failure, else the last one", .null_if_empty = true});
  field("failed_at", failed_at,
        {.description = "the latest date up to the failure, by the log's clock: 2025-03-04T09:32:10",
         .null_if_empty = true});
  field("ended_at", ended_at, {.description = "the last date in the logs", .null_if_empty = true});
  field("file_time", file_time,
        {.description = "the last change of the log's file, UTC, where no date was found near the failures",
         .null_if_empty = true});
  field("lost_seconds", of.lost_seconds,
        {.description = "from lost_since to the failure", .null_if_empty = true, .minimum = 0});
  field("lost_since", of.lost_since,
        {.description = "checkpoint: the last one that the run saved; start: the first date of the run",
         .null_if_empty = true});
  field("headline", of.headline);
  field.words_only(of.report);
}

void fields(auto& field, Is<SurveySums> auto& of) {
  field.type("sums");
  field("jobs", of.jobs, as_count);
  field("gpus", of.gpus, {.description = "of the jobs whose number of GPUs is known", .minimum = 0});
  field("timed", of.timed, {.description = "jobs whose lost time is known", .minimum = 0});
  field("lost_seconds", of.lost_seconds, {.description = "of these jobs", .minimum = 0});
  field(
      "lost_gpu_seconds", of.lost_gpu_seconds,
      {.description = "the lost time of each job times its GPUs, or times 1 if their number is unknown", .minimum = 0});
}

void fields(auto& field, Is<SurveyGroup> auto& of) {
  field("id", of.id);
  field("title", of.title, if_any);
  field("sums", of.sums);
}

void fields(auto& field, Is<SurveyWeek> auto& of) {
  field("week", of.week, {.description = "ISO 8601", .pattern = "^[0-9]{4}-W[0-9]{2}$"});
  field("starts", of.starts, {.description = "its Monday"});
  field("jobs", of.jobs, {.description = "that failed or ended in the week", .minimum = 0});
  field("failed", of.failed, {.description = "those that ran out of memory"});
}

void fields(auto& field, Is<SurveyOffender> auto& of) {
  std::string last = iso_time(of.last);
  field("fingerprint", of.fingerprint);
  field("cause", of.cause, {.null_if_empty = true});
  field("cause_title", of.cause_title, text_or_null);
  field("place", of.place, text_or_null);
  field("failure", of.failure, {.description = "of the latest job, in words", .null_if_empty = true});
  field("users", of.users);
  field("example", of.example, {.description = "the log of the latest job"});
  field(
      "last", last,
      {.description = "the latest failure; the last change of its log's file where no date was found near the failures",
       .null_if_empty = true});
  field.words_only(of.last_by_file);
  field("fix", of.fix, {.description = "the one that the most of these jobs list"});
  field("fix_jobs", of.fix_jobs, {.description = "number of jobs that list it", .minimum = 0});
  field("sums", of.sums);
}

/// The totals; the lines have the jobs.
void fields(auto& field, Is<Survey> auto& of) {
  field.constant("schema_version", survey_schema_version, {.pattern = "^1\\.[0-9]+$"});
  field.group("tool", [&](auto& tool) {
    tool.constant("name", "oomdoctor");
    tool("version", of.tool_version);
  });
  field("all", of.all);
  field("failed", of.failed, {.description = "the jobs that ran out of memory, or probably did"});
  field("outcomes", of.outcomes, {.description = "the worst first"});
  field("causes", of.causes, {.description = "of these jobs; the most jobs first"});
  field("weeks", of.weeks);
  field("undated", of.undated, {.description = "failures without a date, also of the log's file", .minimum = 0});
  field("file_dated", of.file_dated,
        {.description = "failures with the date of the log's file only; weeks count them", .minimum = 0});
  field("offenders", of.offenders,
        {.description = "at least two jobs with the same cause in the same place; the most jobs first"});
  field("notes", of.notes);
  field.words_only(of.jobs);
}

}  // namespace oomdoctor
