#include "report/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/natural_order.h"
#include "model/evidence.h"
#include "oomdoctor/version.h"
#include "report/findings.h"
#include "report/incident_words.h"

namespace oomdoctor {
namespace {

constexpr std::int64_t week_days = 7;
/// Longer gaps between two weeks are the error of a clock, or two surveys in one.
constexpr std::int64_t max_empty_weeks = 52;

/// No job has as many GPUs. A larger number is another setting, or damage.
constexpr double max_gpus = 1e6;

/// Nothing for a time without a date, and for one that no log can have.
std::optional<double> valid_date(const std::optional<double>& time) {
  return time && is_dated(*time) ? time : std::nullopt;
}

/// A program that a fact shows, if no fact names one. The first that is true counts: the more exact ones come first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> programs_by_fact = {{
    {"framework.megatron", "Megatron-LM"},
    {"framework.deepspeed", "DeepSpeed"},
    {"framework.lightning", "Lightning"},
    {"framework.trainer", "HF Trainer"},
    {"framework.diffusers", "Diffusers"},
    {"framework.tensorflow", "TensorFlow"},
    {"framework.jax", "JAX"},
    {"framework.pytorch", "PyTorch"},
}};

std::string find_program_name(const Analysis& analysis, const ReportIncident* failure) {
  if (const auto program = analysis.facts.text("framework.program")) return *program;
  for (const auto& [fact, name] : programs_by_fact)
    if (analysis.facts.is_true(fact)) return std::string(name);
  return failure != nullptr ? failure->framework : "";
}

/// At least this many: what the log shows of ranks, and of GPUs that failed.
std::optional<std::int64_t> count_gpus(const Report& report, const Analysis& analysis) {
  std::set<int> devices;
  bool any = false;
  for (const ReportIncident& incident : report.incidents) {
    any |= incident.kind == to_string(OomKind::device);
    if (incident.device) devices.insert(*incident.device);
  }
  auto gpus = static_cast<double>(std::max<std::size_t>(devices.size(), any ? 1 : 0));
  for (const std::string_view fact : {"settings.world_size", "run.ranks"})
    if (const double number = analysis.facts.number(fact).value_or(0); number < max_gpus) gpus = std::max(gpus, number);
  return gpus >= 1 ? std::optional(whole_number(gpus)) : std::nullopt;
}

/// A library's frame is not a place: every program that calls it has the same.
std::string place_words(const std::optional<ReportFrame>& own) {
  if (!own) return "";
  const std::string file = own->file.substr(own->file.find_last_of("/\\") + 1);
  return own->function.empty() ? file : file + " in " + own->function;
}

/// The failure without its step and its GPU, which differ between jobs.
std::string failure_words(ReportIncident failure) {
  failure.step.reset(), failure.epoch.reset(), failure.device.reset();
  return incident_title(failure);
}

/// Without the counter, which distinguishes findings of one report.
std::string find_fingerprint(const Report& report) {
  for (const Finding& finding : findings(report))
    if (finding.incident == nullptr || finding.incident->id == report.verdict.incident)
      return finding.fingerprint.substr(0, finding.fingerprint.find(':'));
  return "";
}

bool is_of_a_machine(Agent agent) { return agent == Agent::kernel || agent == Agent::cgroup || agent == Agent::daemon; }

/// The latest checkpoint that other logs of the job show between the two times.
std::optional<double> checkpoint_of_other_logs(const ScanResult& scan, const Incident& failure, double from,
                                               double to) {
  std::optional<double> latest;
  for (const Event& event : scan.remarks) {
    if (remark_of(event, "phase/checkpoint_save") == nullptr || !event.when.time ||
        event.evidence.span.source == failure.evidence.span.source)
      continue;
    if (const double time = *event.when.time; time >= from && time <= to && time > latest.value_or(0)) latest = time;
  }
  return latest;
}

void set_lost_time(SurveyJob& job, const ScanResult& scan, const Incident& failure, std::string_view phase) {
  const auto started = valid_date(failure.run.started);
  if (!job.failed_at || !started || (scan.inputs.size() > 1 && is_of_a_machine(failure.oom.agent))) return;
  const double start = *started, end = *job.failed_at;
  if (start >= end) return;
  const bool while_saving = phase == "checkpoint_save";
  auto saved = valid_date(failure.run.saving && !while_saving ? failure.run.saving : failure.run.saved);
  if (const auto other = checkpoint_of_other_logs(scan, failure, start, end)) {
    if (while_saving) return;  // it may be the one that failed
    saved = std::max(saved, other);
  }
  if (saved && !(*saved >= start && *saved <= end)) return;  // the clock was set in between
  job.lost_since = saved ? "checkpoint" : "start";
  constexpr double per_second = 1000;  // logs print milliseconds at most
  job.lost_seconds = std::round((end - saved.value_or(start)) * per_second) / per_second;
}

void add(SurveySums& sums, const SurveyJob& job) {
  ++sums.jobs;
  sums.gpus += job.gpus.value_or(0);
  if (!job.lost_seconds) return;
  ++sums.timed;
  sums.lost_seconds += *job.lost_seconds;
  sums.lost_gpu_seconds += *job.lost_seconds * static_cast<double>(job.gpus.value_or(1));
}

/// The most jobs first, then the most lost time, then by id.
auto sort_key(const SurveySums& sums, const std::string& id) {
  return std::tuple(-sums.jobs, -sums.lost_gpu_seconds, id);
}

std::string date_text(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::vector<SurveyWeek> group_by_week(const std::vector<SurveyJob>& jobs) {
  std::map<std::int64_t, SurveyWeek> by_day;
  const auto week_at = [&](double time) -> SurveyWeek& {
    const IsoWeek week = iso_week(time);
    SurveyWeek& entry = by_day[week.day];
    entry.week = week.name;
    entry.starts = week.monday;
    return entry;
  };
  for (const SurveyJob& job : jobs) {
    const auto time = time_of(job);
    if (!time) continue;
    SurveyWeek& week = week_at(*time);
    ++week.jobs;
    if (is_memory_failure(job)) add(week.failed, job);
  }
  std::vector<SurveyWeek> weeks;
  std::int64_t next = 0;
  for (auto& [day, week] : by_day) {
    if (!weeks.empty() && (day - next) / week_days <= max_empty_weeks)
      for (; next < day; next += week_days) {
        const IsoWeek empty = iso_week(static_cast<double>(next) * 86400);
        weeks.push_back({empty.name, empty.monday, 0, {}});
      }
    weeks.push_back(std::move(week));
    next = day + week_days;
  }
  return weeks;
}

/// The fix that the most jobs list. Of several, the one that comes first in the lists, counted over all jobs. A fix
/// that only provides information counts if there is no other.
void choose_fix(SurveyOffender& offender, const std::vector<const SurveyJob*>& jobs) {
  struct Votes {
    std::int64_t jobs = 0, places = 0;
    const SurveyFix* fix = nullptr;
  };
  std::map<std::string, Votes> votes;
  for (const SurveyJob* job : jobs)
    for (std::size_t place = 0; place < job->fixes.size(); ++place) {
      Votes& of = votes[job->fixes[place].id];
      ++of.jobs;
      of.places += static_cast<std::int64_t>(place);
      of.fix = &job->fixes[place];
    }
  const auto rank = [](const Votes& of) { return std::tuple(of.fix->diagnostic, -of.jobs, of.places); };
  const auto best = std::min_element(votes.begin(), votes.end(),
                                     [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
  if (best == votes.end()) return;
  offender.fix = *best->second.fix;
  offender.fix_jobs = best->second.jobs;
}

SurveyOffender make_offender(const std::vector<const SurveyJob*>& jobs) {
  SurveyOffender offender;
  const SurveyJob& latest = *jobs.back();
  offender.fingerprint = latest.fingerprint;
  offender.cause = latest.cause;
  offender.cause_title = latest.cause_title;
  offender.place = latest.place;
  offender.failure = latest.failure;
  offender.example = latest.path;
  offender.last = time_of(latest);
  offender.last_by_file = is_dated_by_file(latest);
  std::set<std::string> users;
  for (const SurveyJob* job : jobs) {
    add(offender.sums, *job);
    if (!job->user.empty()) users.insert(job->user);
  }
  offender.users.assign(users.begin(), users.end());
  choose_fix(offender, jobs);
  return offender;
}

/// Jobs that share neither a known cause nor a known place are not a repetition.
std::vector<SurveyOffender> list_offenders(const std::vector<SurveyJob>& jobs) {
  std::map<std::string, std::vector<const SurveyJob*>> by_fingerprint;
  for (const SurveyJob& job : jobs)
    if (is_memory_failure(job) && !job.fingerprint.empty() && !(job.cause_title.empty() && job.place.empty()))
      by_fingerprint[job.fingerprint].push_back(&job);
  std::vector<SurveyOffender> offenders;
  for (const auto& [fingerprint, same] : by_fingerprint)
    if (same.size() > 1) offenders.push_back(make_offender(same));
  std::sort(offenders.begin(), offenders.end(), [](const SurveyOffender& a, const SurveyOffender& b) {
    return sort_key(a.sums, a.fingerprint) < sort_key(b.sums, b.fingerprint);
  });
  return offenders;
}

/// Adds the job to the group with this id.
void add_to_group(std::vector<SurveyGroup>& groups, const std::string& id, const std::string& title,
                  const SurveyJob& job) {
  auto group = std::find_if(groups.begin(), groups.end(), [&](const SurveyGroup& of) { return of.id == id; });
  if (group == groups.end()) group = groups.insert(groups.end(), {id, title, {}});
  add(group->sums, job);
}

}  // namespace

std::optional<double> time_of(const SurveyJob& job) {
  if (job.failed_at || job.ended_at) return job.failed_at ? job.failed_at : job.ended_at;
  return job.file_time;
}

bool is_dated_by_file(const SurveyJob& job) { return !job.failed_at && !job.ended_at && job.file_time; }

bool is_memory_failure(const SurveyJob& job) {
  return job.outcome == Outcome::oom || (job.outcome == Outcome::possible_oom && !job.failure.empty());
}

SurveyJob make_survey_job(const Report& report, const ScanResult& scan, const Analysis& analysis) {
  SurveyJob job;
  const ReportIncident* failure = verdict_incident(report);
  job.job = report.job;
  job.path = failure != nullptr ? failure->location.path : report.inputs.empty() ? "" : report.inputs.front().path;
  job.logs = static_cast<std::int64_t>(report.inputs.size());
  job.program = find_program_name(analysis, failure);
  job.gpu = find_gpu(report, failure != nullptr ? failure->device : std::nullopt);
  job.gpus = count_gpus(report, analysis);
  job.outcome = report.verdict.outcome;
  job.cause = report.verdict.cause;
  job.cause_title = report.verdict.cause_title;
  job.confidence = report.verdict.confidence;
  job.headline = report.verdict.headline;
  if (scan.last_step) job.step = *scan.last_step - scan.last_before;  // as printed, as that of a failure
  job.ended_at = valid_date(scan.period.last);
  job.fixes.reserve(report.fixes.size());
  for (const ReportFix& fix : report.fixes) job.fixes.push_back({fix.id, fix.title, fix.diagnostic});
  if (!job.cause.empty()) job.fingerprint = find_fingerprint(report);
  if (failure == nullptr || !analysis.primary) return job;
  if (failure->kind == to_string(OomKind::device)) job.gpu_bytes = failure->capacity_bytes;
  if (failure->step) job.step = failure->step;
  job.place = place_words(failure->frame);
  job.failure = failure_words(*failure);
  job.failed_at = valid_date(failure->time);
  if (is_memory_failure(job)) set_lost_time(job, scan, scan.incidents.at(*analysis.primary), failure->phase);
  return job;
}

Survey make_survey(std::vector<SurveyJob> jobs, std::vector<ReportNote> notes) {
  std::sort(jobs.begin(), jobs.end(), [](const SurveyJob& a, const SurveyJob& b) {
    if (time_of(a) != time_of(b)) return time_of(a) < time_of(b);  // std::nullopt is less than any time
    return a.path != b.path ? natural_less(a.path, b.path) : a.job < b.job;
  });
  Survey survey;
  survey.tool_version = version;
  for (const SurveyJob& job : jobs) {
    add(survey.all, job);
    add_to_group(survey.outcomes, std::string(to_string(job.outcome)), "", job);
    if (!is_memory_failure(job)) continue;
    add(survey.failed, job);
    survey.undated += !time_of(job);
    survey.file_dated += is_dated_by_file(job);
    add_to_group(survey.causes, job.cause, job.cause_title, job);
  }
  const auto badness = [](const SurveyGroup& group) {
    int outcome = static_cast<int>(Outcome::oom);
    while (outcome > 0 && to_string(static_cast<Outcome>(outcome)) != group.id) --outcome;
    return -outcome;
  };
  std::sort(survey.outcomes.begin(), survey.outcomes.end(),
            [&](const SurveyGroup& a, const SurveyGroup& b) { return badness(a) < badness(b); });
  std::sort(survey.causes.begin(), survey.causes.end(),
            [](const SurveyGroup& a, const SurveyGroup& b) { return sort_key(a.sums, a.id) < sort_key(b.sums, b.id); });
  survey.weeks = group_by_week(jobs);
  survey.offenders = list_offenders(jobs);
  survey.jobs = std::move(jobs);
  survey.notes = std::move(notes);
  return survey;
}

IsoWeek iso_week(double time) {
  constexpr double day_seconds = 86400;
  const auto day = static_cast<std::int64_t>(std::floor(time / day_seconds));
  const std::int64_t since_monday = ((day + 3) % week_days + week_days) % week_days;  // 1970 began on a Thursday
  const std::int64_t monday = day - since_monday, thursday = monday + 3;
  const std::chrono::sys_days middle{std::chrono::days{thursday}};
  const std::chrono::year year = std::chrono::year_month_day{middle}.year();
  const auto first = std::chrono::sys_days{year / std::chrono::January / 1};
  const auto week = (middle - first).count() / week_days + 1;
  return {fmt::format("{:04}-W{:02}", static_cast<int>(year), week), date_text(monday), monday};
}

}  // namespace oomdoctor
