// The evidence of the verbose report: the inputs, each failure with the cited line, the memory breakdown in rows, every
// series and rank, and all causes with the reasons for and against them.
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/bytes.h"
#include "render/chart.h"
#include "render/excerpt.h"
#include "render/series_titles.h"
#include "render/terminal_sections.h"
#include "report/advice_words.h"
#include "report/escape.h"
#include "report/incident_words.h"
#include "report/series_choice.h"
#include "report/series_words.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

/// The cited line with a caret under the important part, as compilers mark an error.
void add_excerpt(Page& page, const ReportIncident& of) {
  if (of.location.excerpt.empty()) return;
  const std::string gutter = fmt::format("  {} │ ", of.location.line);
  const int indent = count_columns(gutter);
  const MarkedLine line = mark_line(of, page.width() - indent);
  std::vector<std::string> rows = {page.paint.dim(gutter) + line.before + page.paint.error(line.mark) + line.after};
  if (!line.mark.empty()) {
    const std::string carets(static_cast<std::size_t>(count_columns(line.mark)), '^');
    const std::string empty_gutter = std::string(static_cast<std::size_t>(indent - 2), ' ') + "│ ";
    std::string under(static_cast<std::size_t>(count_columns(line.before)), ' ');
    std::string label(mark_label(line, of));
    if (indent + count_columns(line.before + carets + label) > page.width()) label.clear();
    rows.push_back(page.paint.dim(empty_gutter) + under + page.paint.error(carets + label));
  }
  page.lines(std::move(rows));
}

/// For example "train.log:12, printed again at line 30, 41 and 3 more  (rank 1)". For a killed process, "also at line
/// …".
std::string location_line(const ReportIncident& of) {
  constexpr std::size_t named = 2;
  std::string text = plain_line(place(of.location));
  const std::int64_t again = printed_again(of);
  std::vector<Location> first = of.occurrences;
  first.resize(std::min(first.size(), named));
  const bool one_file =
      std::all_of(first.begin(), first.end(), [&](const Location& at) { return at.path == of.location.path; });
  if (one_file)
    for (auto& at : first) at.path = "line";
  std::string places_text = plain_line(places(first, named));
  if (one_file && !first.empty()) places_text.replace(0, 5, "line ");
  // Kernel, scheduler and shell each report the same death in their own words.
  if (!first.empty()) text += (of.kind == "host" ? ", also at " : ", printed again at ") + places_text;
  const auto unnamed = again - static_cast<std::int64_t>(first.size());
  if (unnamed > 0) text += fmt::format(" and {} more", unnamed);
  const std::string who = plain_line(incident_circumstances(of));
  return who.empty() ? text : text + "  (" + who + ")";
}

/// The user's frame nearest to the failure, where a change is possible.
void add_frame(Page& page, const ReportIncident& of) {
  if (!of.frame) return;
  // The end of a long path is more informative than its beginning.
  const int path_width = std::max(page.width() / 2, 30);
  std::string text = place_words(*of.frame, clip_front(plain_line(of.frame->file), path_width));
  if (!of.frame->function.empty()) text += " in " + plain_line(of.frame->function);
  if (!of.frame->code.empty()) text += ":  " + page.paint.bold(plain_line(code_words(*of.frame)));
  page.text("  your code: ", text);
}

/// Each part as a row with its own section of one long bar, so that label, number and picture are next to each other.
void add_account(Page& page, const ReportIncident& of) {
  const ReportAccount& account = *of.account;
  std::vector<Share> parts = account.shares;
  parts.push_back({unexplained_label(account), account.unexplained_bytes});
  const SharesText text = shares_text(account);
  std::vector<std::string> labels;
  int widest = 0;
  std::vector<double> shares;
  for (const Share& part : parts) {
    labels.push_back(plain_line(part.label));
    widest = std::max(widest, count_columns(labels.back()));
    shares.push_back(
        account.capacity_bytes > 0 ? static_cast<double>(part.bytes) / static_cast<double>(account.capacity_bytes) : 0);
  }
  widest = std::min(widest, page.width() - 36);
  const int number_width = count_columns(text.numbers.front()) + 1 + static_cast<int>(text.unit.size());
  const int bar_width = std::min(40, page.width() - widest - number_width - 13);
  const auto bars = waterfall(shares, std::max(bar_width, 4));

  page.heading(account_title(of));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string row = fmt::format("  {}  {} {}  {}  {}", pad(clip_end(labels[i], widest), widest),
                                        text.numbers[i], text.unit, text.percents[i], bars[i]);
    page.line(i + 1 == labels.size() ? page.paint.dim(row.substr(0, row.find_last_not_of(' ') + 1)) : row);
  }
}

/// For example "lines 10–40", or the log of the run if each run has its own.
std::string run_location(const ReportRun& run, bool in_one_log) {
  return in_one_log ? fmt::format("lines {}–{}", run.first_line, run.last_line) : plain_line(run.path);
}

/// One failure, and one line for its consequences. The headline has the title of one of them.
void add_one(Page& page, const Report& report, const ReportIncident& of, bool in_headline) {
  const std::string title = incident_title(of);
  page.blank();
  if (!in_headline)
    page.text("", of.handled ? page.paint.warning(plain_line(title)) : page.paint.error(plain_line(title)));
  page.text("  --> ", location_line(of));
  add_excerpt(page, of);
  add_frame(page, of);
  for (const std::string& words : following_words(report, of, 3)) page.text("  then: ", plain_line(words));
}

std::string short_title(const Report& report, const ReportSeries& of) {
  constexpr int widest = 32;
  return clip_series_title(report, of, widest);
}

/// For example "15.40 → 21.40 GiB, 9 values, steps 100 to 900  [line 212, 1811]", "15.40 GiB, printed once  [line
/// 212]".
std::string range_text(const Report& report, const ReportSeries& of) {
  if (is_single(of))
    return value_text(of, of.max_value) + ", printed once  [" + plain_line(short_locations(report, {of.first}, 1)) +
           "]";
  std::string text = range_words(of) + ", " + plural(of.n, "value", "values");
  if (const std::string steps = step_range_words(of); !steps.empty()) text += ", " + steps;
  if (of.first.line > 0) text += "  [" + plain_line(short_locations(report, {of.first, of.last}, 2)) + "]";
  return text;
}

std::string trend_line(const Page& page, const ReportSeries& series) {
  const std::string trend = plain_line(trend_words(series));
  return is_growth(series.trend) ? page.paint.bold(trend) : trend;
}

/// For example "28.12 → 39.20 GiB, max 39.40 GiB, until step 154: out of memory, keeps growing".
std::string rank_text(const ReportRank* r) {
  std::string text;
  if (r->max_value) {
    const std::string last = bytes_text(*r->last_value);
    text = fmt::format("{} → {}, max {}", drop_common_unit(last, bytes_text(*r->first_value)), last,
                       bytes_text(*r->max_value));
  }
  if (r->last_step) text += fmt::format("{}until step {}", text.empty() ? "" : ", ", *r->last_step);
  std::string state = r->failed ? "out of memory" : "";
  if (r->leak) state += state.empty() ? "keeps growing" : ", keeps growing";
  return state.empty() ? text : text.empty() ? state : text + ": " + state;
}

void add_reasons(Page& page, const Report& report, const std::vector<Reason>& reasons, std::string_view word) {
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    std::string text = plain_line(reasons[i].text);
    if (!reasons[i].locations.empty())
      text += page.paint.dim("  [" + plain_line(short_locations(report, reasons[i].locations, 2)) + "]");
    page.text(fmt::format("    {:<8} ", i == 0 ? word : ""), text);
  }
}

void add_cause(Page& page, const Report& report, const ReportCause& cause, bool first) {
  constexpr int bar_width = 6;
  const std::string title = plain_line(cause.title.empty() ? cause.cause : cause.title);
  page.text(fmt::format("  {} {:>6}  ", pad(bar(cause.probability, bar_width), bar_width),
                        cause.probability < 0.01 ? "<1%" : percent_text(cause.probability)),
            (first ? page.paint.bold(title) : title) + page.paint.dim("  (" + plain_line(cause.cause) + ")"));
  add_reasons(page, report, cause.because, "because");
  add_reasons(page, report, cause.against, "but");
}

// Of a job with many ranks, -v shows those that matter: 120 lines in all. The JSON report has every one.
// Of many ranks, the first ones deviate, and the summary says what the others do: 120 lines for 64 ranks.
constexpr std::size_t max_incidents = 6, max_series = 12, max_series_of_ranks = 2, max_ranks = 4;

void add_incidents(Page& page, const Report& report, const ReportIncident* in_headline) {
  const ReportIncident* with_account = nullptr;
  std::int64_t more = report.more_incidents;
  std::size_t shown = 0;
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    if (shown < max_incidents || incident.id == report.verdict.incident)
      add_one(page, report, incident, &incident == in_headline), ++shown;
    else
      ++more;
    // The memory breakdown of the failure that the verdict is about.
    const bool named = report.verdict.incident && incident.id == *report.verdict.incident;
    if (incident.account && (!with_account || named)) with_account = &incident;
  }
  if (more > 0) page.text("  ", plural(more, "more failure", "more failures") + " not listed");
  if (with_account) add_account(page, *with_account);
}

void add_series(Page& page, const Report& report) {
  auto order = sort_series(report);
  if (order.empty()) return;
  const std::size_t shown = report.ranks.size() < min_ranks_for_summary ? max_series : max_series_of_ranks;
  const std::size_t more = order.size() - std::min(order.size(), shown);
  const auto growing = std::count_if(order.end() - static_cast<std::ptrdiff_t>(more), order.end(),
                                     [](const ReportSeries* of) { return is_growth(of->trend); });
  order.resize(order.size() - more);
  const int cells = std::clamp(page.width() / 5, 8, 24);
  int name_width = 0, spark_width = 0;
  for (const ReportSeries* series : order) {
    name_width = std::max(name_width, count_columns(short_title(report, *series)));
    spark_width = std::max(spark_width, count_columns(sparkline(series->points, cells)));
  }
  page.heading("Memory over the run");
  for (const ReportSeries* series : order) {
    const std::string first = fmt::format("  {}  ", pad(short_title(report, *series), name_width));
    page.text(first + pad(sparkline(series->points, cells), spark_width) + "  ", range_text(report, *series));
    if (is_single(*series)) continue;
    page.text("    ", trend_line(page, *series));
    if (const std::string full = plain_line(forecast_words(report, *series)); !full.empty()) page.text("    ", full);
  }
  if (more == 0) return;
  const std::string words = plural(static_cast<std::int64_t>(more), "more series", "more series");
  page.text("  ",
            growing == 0 ? words + ", none of them growing" : fmt::format("{}, {} of them growing", words, growing));
}

void add_ranks(Page& page, const Report& report) {
  if (report.ranks.size() < min_ranks_for_summary) return;
  auto ranks = sort_ranks(report);
  std::erase_if(ranks, [](const ReportRank* r) { return rank_text(r).empty(); });
  if (ranks.empty()) return;
  page.heading("Ranks");
  page.text("  ", capitalised(ranks_summary(report)));
  std::size_t width = 0;
  for (const ReportRank* of : ranks) width = std::max(width, std::to_string(of->rank).size());
  const std::size_t shown = std::min(ranks.size(), max_ranks);
  for (std::size_t i = 0; i < shown; ++i)
    page.text(fmt::format("  rank {:>{}}  ", ranks[i]->rank, width), rank_text(ranks[i]));
  if (shown == ranks.size()) return;
  double highest = 0;
  for (std::size_t i = shown; i < ranks.size(); ++i) highest = std::max(highest, ranks[i]->max_value.value_or(0));
  page.text("  ", plural(static_cast<std::int64_t>(ranks.size() - shown), "more rank", "more ranks") +
                      (highest > 0 ? ", max " + bytes_text(highest) : ""));
}

void add_causes(Page& page, const Report& report) {
  if (!report.causes.empty()) {
    page.heading("Likely causes");
    for (std::size_t i = 0; i < report.causes.size(); ++i) {
      if (i > 0 && report.causes[i].probability < min_shown_probability) break;
      add_cause(page, report, report.causes[i], i == 0);
    }
  }
  if (report.why_not) {
    const ReportCause& asked = *report.why_not;
    page.heading(fmt::format("Why not {}: {}", plain_line(asked.cause), percent_text(asked.probability)));
    add_reasons(page, report, asked.because, "for it");
    add_reasons(page, report, asked.against, "but");
    if (asked.because.empty() && asked.against.empty())
      page.text("       ", "The log has no evidence for or against it.");
  }
}

void add_trace(Page& page, const Report& report) {
  if (report.trace.empty()) return;
  page.heading("What is known");
  for (const auto& line : report.trace) page.text("  ", plain_line(line));
}

}  // namespace

void add_inputs(Page& page, const Report& report) {
  std::int64_t bytes = 0;
  std::string name;
  for (const auto& input : report.inputs) bytes += input.bytes;
  if (report.inputs.size() == 1) {
    const ReportInput& input = report.inputs.front();
    name = input.path == "-" ? "standard input" : plain_line(input.path);
    if (!input.compression.empty()) name += " (" + plain_line(input.compression) + ")";
    if (input.truncated) name += " (cut off at its end)";
  } else {
    name = plural(static_cast<std::int64_t>(report.inputs.size()), "file", "files");
  }
  const auto& coverage = report.coverage;
  if (coverage.lines == 0 && !report.snapshots.empty())
    return page.text("", page.paint.dim(fmt::format("{}: {}, {}", name, read_words(report), bytes_text(bytes))));
  page.text(
      "", page.paint.dim(fmt::format("{}: {}, {}; {} of them recognised", name, plural(coverage.lines, "line", "lines"),
                                     bytes_text(bytes), count_text(coverage.claimed))));
}

/// How the run ended. In one log, its file is known: "(line 3)" for "(train.log:3)".
std::string run_end(const ReportRun& run, bool in_one_log) {
  std::string words = plain_line(run.headline);
  const std::string file = "(" + plain_line(run.path.substr(run.path.rfind('/') + 1)) + ":";
  if (const auto at = words.rfind(file); in_one_log && at != words.npos) words.replace(at, file.size(), "(line ");
  return words;
}

void add_runs(Page& page, const Report& report, std::size_t max_runs) {
  if (report.runs.empty()) return;
  const bool in_one_log = report.runs.front().path == report.runs.back().path;
  const bool cut = report.runs.size() > max_runs;
  const bool perhaps_more = in_one_log && std::any_of(report.runs.begin(), report.runs.end(),
                                                      [](const ReportRun& run) { return run.several_ends; });
  page.text("", page.paint.bold(fmt::format("{}{} runs in {}", perhaps_more ? "At least " : "", report.runs.size(),
                                            in_one_log ? "this log" : "separate logs")) +
                    (cut && !in_one_log ? "; oomdoctor survey lists all of them" : ""));
  for (std::size_t i = report.runs.size() - std::min(report.runs.size(), max_runs); i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    page.text(fmt::format("  run {:<3} ", i + 1), fmt::format("{}: {}{}", run_location(run, in_one_log),
                                                              run.outcome == Outcome::oom            ? "out of memory, "
                                                              : run.outcome == Outcome::possible_oom ? "possible OOM, "
                                                                                                     : "",
                                                              run_end(run, in_one_log)));
  }
}

void add_evidence(Page& page, const Report& report) {
  const ReportIncident* const in_headline = add_headline(page, report);
  add_inputs(page, report);
  add_runs(page, report, all);
  add_incidents(page, report, in_headline);
  add_series(page, report);
  add_snapshots(page, report);
  add_ranks(page, report);
  add_trace(page, report);
  add_causes(page, report);
  page.blank();
  for (const HeldBack& advice : report.held_back) add_held_back(page, advice);
  add_lost(page, report, all);
  add_notes(page, report, all);
}

}  // namespace oomdoctor::terminal
