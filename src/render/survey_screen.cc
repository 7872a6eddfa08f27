// The survey for a terminal: details first, the totals last. The first lines are the jobs, the last ones are what most
// of them have in common.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/ascii.h"
#include "render/chart.h"
#include "render/layout.h"
#include "render/screens.h"
#include "report/escape.h"
#include "report/survey.h"
#include "report/survey_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor {
namespace {

// What fits a screen; -v shows all.
constexpr std::size_t jobs_shown = 12, weeks_shown = 6, causes_shown = 5, offenders_shown = 3;
constexpr std::size_t users_shown = 4;

/// A column of the list of jobs.
struct SurveyColumn {
  std::string title;
  int least = 0;          ///< it may shrink to this width; 0 if it may not
  bool front = false;     ///< its end is what matters
  bool right = false;     ///< a number
  int order_to_drop = 0;  ///< the first to go if the screen is narrow; 0: it stays
  std::vector<std::string> cells = {};

  int width() const {
    int widest = count_columns(title);
    for (const std::string& cell : cells) widest = std::max(widest, count_columns(cell));
    return widest;
  }
  bool is_empty() const {
    return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return cell.empty(); });
  }
};

constexpr int column_gap = 2;

int total_width(const std::vector<SurveyColumn>& columns, const std::vector<int>& widths) {
  int total = -column_gap;
  for (std::size_t i = 0; i < columns.size(); ++i) total += widths[i] + column_gap;
  return total;
}

/// The widths of the columns, within `width` if they can shrink so far: of those that can, the widest shrinks first.
std::vector<int> shrink_columns(const std::vector<SurveyColumn>& columns, int width) {
  std::vector<int> widths;
  for (const SurveyColumn& column : columns) widths.push_back(column.width());
  for (int excess = total_width(columns, widths) - width; excess > 0; --excess) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].least > 0 && widths[i] > columns[i].least && (!widest || widths[i] > widths[*widest])) widest = i;
    if (!widest) break;
    --widths[*widest];
  }
  return widths;
}

/// Drops columns until the others fit. Returns their widths.
std::vector<int> fit_columns(std::vector<SurveyColumn>& columns, int width) {
  std::vector<int> widths = shrink_columns(columns, width);
  while (total_width(columns, widths) > width) {
    auto victim = columns.end();
    for (auto column = columns.begin(); column != columns.end(); ++column)
      if (column->order_to_drop > 0 && (victim == columns.end() || column->order_to_drop < victim->order_to_drop))
        victim = column;
    if (victim == columns.end()) break;
    columns.erase(victim);
    widths = shrink_columns(columns, width);
  }
  return widths;
}

std::string cell_text(const SurveyColumn& column, const std::string& cell, int width) {
  const std::string text = column.front ? clip_front(cell, width) : clip_end(cell, width);
  if (!column.right) return pad(text, width);
  return std::string(static_cast<std::size_t>(std::max(width - count_columns(text), 0)), ' ') + text;
}

/// Returns the columns that have room.
std::vector<SurveyColumn> add_table(Page& page, std::vector<SurveyColumn> columns) {
  std::erase_if(columns, [](const SurveyColumn& column) { return column.is_empty(); });
  const std::vector<int> widths = fit_columns(columns, page.width());
  const auto row = [&](auto text_of) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i)
      line += (i == 0 ? "" : std::string(column_gap, ' ')) + cell_text(columns[i], text_of(columns[i]), widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    return clip_end(line, page.width());
  };
  page.line(page.paint.dim(row([](const SurveyColumn& column) { return column.title; })));
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  for (std::size_t i = 0; i < rows; ++i) page.line(row([&](const SurveyColumn& column) { return column.cells[i]; }));
  return columns;
}

std::string minute_text(const std::optional<double>& time) {
  constexpr std::size_t without_seconds = 16;
  return time ? time_text(*time).substr(0, without_seconds) : "";
}

/// The times of the jobs, without the year if all are of one year.
std::vector<std::string> format_times(const std::vector<const SurveyJob*>& jobs) {
  constexpr std::size_t year = 5, date_length = 10;  // "2025-", "2025-03-04"
  std::vector<std::string> times;
  std::set<std::string> years;
  for (const SurveyJob* job : jobs) {
    times.push_back(minute_text(time_of(*job)));
    if (is_dated_by_file(*job)) times.back() = times.back().substr(0, date_length) + " file";
    if (!times.back().empty()) years.insert(times.back().substr(0, year));
  }
  for (std::string& time : times)
    if (years.size() == 1 && !time.empty()) time.erase(0, year);
  return times;
}

/// Jobs that need somebody: they ran out of memory, or will, or nobody can know.
bool needs_attention(const SurveyJob& job) {
  return is_memory_failure(job) || job.outcome == Outcome::at_risk || job.outcome == Outcome::possible_oom;
}

std::string result_words(const SurveyJob& job) {
  if (is_memory_failure(job)) return short_cause_words(job);
  if (job.outcome == Outcome::possible_oom) return "Evidence is lost";
  std::string text = capitalised(lower(outcome_words(job.outcome)));
  return job.cause_title.empty() ? text : text + ": " + short_cause_words(job);
}

void add_jobs(Page& page, const Survey& survey, bool whole) {
  std::vector<const SurveyJob*> jobs;
  for (const SurveyJob& job : survey.jobs)
    if (whole || needs_attention(job)) jobs.push_back(&job);
  if (jobs.empty()) return;
  const std::size_t all = jobs.size(), shown = whole ? all : std::min(all, jobs_shown);
  jobs.erase(jobs.begin(), jobs.end() - static_cast<std::ptrdiff_t>(shown));
  const bool any_lost = std::any_of(jobs.begin(), jobs.end(), [](const SurveyJob* job) {
    return job->outcome == Outcome::possible_oom && !is_memory_failure(*job);
  });
  const std::string kind = whole      ? "All jobs"
                           : any_lost ? "Jobs that ran out of memory, will, or may have"
                                      : "Jobs that ran out of memory, or will";
  page.heading(shown == all ? kind
                            : fmt::format("{}: the latest {} of {}; -v lists all jobs", kind, shown,
                                          count_text(static_cast<std::int64_t>(all))));
  enum : std::size_t { when, name, user, program, gpu, step, lost, result };
  std::vector<SurveyColumn> columns = {{"when", 0, false, false, 4}, {"job", 20, true},
                                       {"user", 0, false, false, 3}, {"program", 8, false, false, 1},
                                       {"GPU", 9, false, false, 2},  {"step", 0, false, true, 5},
                                       {"lost", 0, false, true, 6},  {"cause", 22}};
  columns[when].cells = format_times(jobs);
  for (const SurveyJob* job : jobs) {
    columns[name].cells.push_back(plain_line(job_name(*job)));
    columns[user].cells.push_back(plain_line(job->user));
    columns[program].cells.push_back(plain_line(job->program));
    columns[gpu].cells.push_back(plain_line(gpu_words(*job)));
    columns[step].cells.push_back(job->step ? std::to_string(*job->step) : "");
    columns[lost].cells.push_back(job->lost_seconds ? duration_text(*job->lost_seconds) : "");
    columns[result].cells.push_back(plain_line(result_words(*job)));
  }
  const std::string time_title = columns[when].title;
  const std::vector<SurveyColumn> kept = add_table(page, std::move(columns));
  const bool by_file = std::any_of(jobs.begin(), jobs.end(), [](const auto* job) { return is_dated_by_file(*job); });
  if (by_file && !kept.empty() && kept.front().title == time_title)
    page.text("", page.paint.dim("file: no date was found near the failure, so this is the date of the file"));
}

void add_weeks(Page& page, const Survey& survey, bool whole) {
  std::vector<SurveyWeek> weeks = survey.weeks;
  if (weeks.size() < 2 || survey.failed.jobs == 0) return;
  if (!whole && weeks.size() > weeks_shown) weeks.erase(weeks.begin(), weeks.end() - weeks_shown);
  page.heading("Out of memory, by ISO week");
  constexpr int bar_cells = 20;
  std::int64_t most = 1;
  for (const SurveyWeek& week : weeks) most = std::max(most, week.failed.jobs);
  for (const SurveyWeek& week : weeks) {
    const double share = static_cast<double>(week.failed.jobs) / static_cast<double>(most);
    std::string text = fmt::format("{}  {} ", week.week, pad(bar(share, bar_cells), bar_cells));
    text += week.jobs == 0 ? "no jobs" : fmt::format("{} of {}", week.failed.jobs, plural(week.jobs, "job", "jobs"));
    if (week.failed.timed > 0) text += ", " + lost_words(week.failed);
    page.line(clip_end(text, page.width()));
  }
  if (survey.file_dated > 0) page.text("", file_dated_words(survey));
  if (survey.undated > 0) page.text("", plural(survey.undated, "more failure has", "more failures have") + " no date");
}

void add_causes(Page& page, const Survey& survey, bool whole) {
  if (survey.causes.empty()) return;
  page.heading("Causes");
  std::vector<SurveyColumn> columns = {{"jobs", 0, false, true}, {"GPUs", 0, false, true}, {"lost", 0}, {"cause", 16}};
  const std::size_t shown = whole ? survey.causes.size() : std::min(survey.causes.size(), causes_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const SurveyGroup& cause = survey.causes[i];
    columns[0].cells.push_back(count_text(cause.sums.jobs));
    columns[1].cells.push_back(cause.sums.gpus > 0 ? count_text(cause.sums.gpus) : "");
    columns[2].cells.push_back(cause.sums.timed > 0 ? gpu_hours_text(cause.sums.lost_gpu_seconds) : "");
    columns[3].cells.push_back(plain_line(survey_cause_words(cause.id, cause.title)));
  }
  add_table(page, std::move(columns));
  if (shown < survey.causes.size())
    page.text(
        "", plural(static_cast<std::int64_t>(survey.causes.size() - shown), "more cause", "more causes") + " with -v");
}

std::string users_text(const std::vector<std::string>& users) {
  const std::size_t shown = std::min(users.size(), users_shown);
  std::string text =
      fmt::format("{}", fmt::join(users.begin(), users.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == users.size() ? text : fmt::format("{} and {} more users", text, users.size() - shown);
}

/// For example " at 2025-03-04 09:32", " (2025-03-04, date of the file)"; "" without a date.
std::string latest_words(const SurveyOffender& of) {
  if (!of.last) return "";
  return of.last_by_file ? fmt::format(" ({})", survey_time_words(of.last, true)) : " at " + minute_text(of.last);
}

void add_offenders(Page& page, const Survey& survey, bool whole) {
  if (survey.offenders.empty()) return;
  page.heading("Repeated failures: same cause, same place");
  const std::size_t shown = whole ? survey.offenders.size() : std::min(survey.offenders.size(), offenders_shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const SurveyOffender& of = survey.offenders[i];
    page.text(fmt::format("{:>2}. ", i + 1), fmt::format("{}  {}", page.paint.bold(plural(of.sums.jobs, "job", "jobs")),
                                                         plain_line(offender_words(of))));
    std::vector<std::string> details;
    if (!of.users.empty()) details.push_back("by " + users_text(of.users));
    if (of.sums.timed > 0) details.push_back(lost_words(of.sums));
    details.push_back("latest: " + of.example + latest_words(of));
    page.text("    ", plain_line(fmt::format("{}", fmt::join(details, "; "))));
    if (const std::string fix = offender_fix_words(of); !fix.empty())
      page.text("    ", plain_line(fmt::format("{} (oomdoctor explain {})", fix, of.fix->id)));
  }
  if (shown < survey.offenders.size())
    page.text("", plural(static_cast<std::int64_t>(survey.offenders.size() - shown), "more", "more") + " with -v");
}

void add_notes(Page& page, const Survey& survey, bool whole) {
  constexpr std::size_t notes_shown = 5;
  const std::size_t shown = whole ? survey.notes.size() : std::min(survey.notes.size(), notes_shown);
  if (shown > 0) page.heading("Notes");
  for (std::size_t i = 0; i < shown; ++i) page.text("  ", plain_line(survey.notes[i].text));
  if (shown < survey.notes.size())
    page.text("  ", plural(static_cast<std::int64_t>(survey.notes.size() - shown), "more", "more") + " with -v");
}

}  // namespace

std::string survey_screen(const Survey& survey, const RenderOptions& view) {
  Page page(view.width, Paint{view.color, view.ascii});
  if (!view.quiet) {
    add_jobs(page, survey, view.verbose);
    add_weeks(page, survey, view.verbose);
    add_notes(page, survey, view.verbose);
    add_causes(page, survey, view.verbose);
    add_offenders(page, survey, view.verbose);
    std::string rule;
    for (int i = 0; i < page.width(); ++i) rule += "─";
    page.line(page.paint.dim(rule));
  }
  std::string headline = survey_headline(survey);
  if (survey.failed.jobs > 0) headline += "; " + lost_words(survey.failed);
  page.text("", survey.failed.jobs > 0 ? page.paint.error(headline) : page.paint.good(headline));
  std::vector<std::string> outcomes;
  for (const SurveyGroup& group : survey.outcomes) outcomes.push_back(outcome_count_words(group));
  page.text("  ", fmt::format("{}", fmt::join(outcomes, ", ")));
  return page.str();
}

}  // namespace oomdoctor
