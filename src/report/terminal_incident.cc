// What happened and where the memory was: the inputs, the failures with the cited line, the account.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/chart.h"
#include "report/excerpt.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

/// The cited line with a caret under what matters, as compilers show an error.
void add_excerpt(Page& page, const ReportIncident& of) {
  if (of.location.excerpt.empty()) return;
  const std::string gutter = fmt::format("  {} │ ", of.location.line);
  const int indent = columns_of(gutter);
  const Cited line = cite(of, page.width() - indent);
  std::vector<std::string> rows = {page.paint.dim(gutter) + line.before + page.paint.error(line.mark) + line.after};
  if (!line.mark.empty()) {
    const std::string carets(static_cast<std::size_t>(columns_of(line.mark)), '^');
    const std::string empty_gutter = std::string(static_cast<std::size_t>(indent - 2), ' ') + "│ ";
    std::string under(static_cast<std::size_t>(columns_of(line.before)), ' ');
    std::string label(mark_label(line, of));
    if (indent + columns_of(line.before + carets + label) > page.width()) label.clear();
    rows.push_back(page.paint.dim(empty_gutter) + under + page.paint.error(carets + label));
  }
  page.lines(std::move(rows));
}

/// "train.log:12, printed again at line 30, 41 and 3 more  (rank 1)"; of a killed process "also at line …"
std::string place_line(const ReportIncident& of) {
  constexpr std::size_t named = 2;
  std::string text = plain_line(place(of.location));
  const auto again = static_cast<std::int64_t>(of.occurrences.size()) + of.more_occurrences;
  std::vector<Location> first = of.occurrences;
  first.resize(std::min(first.size(), named));
  const bool one_file =
      std::all_of(first.begin(), first.end(), [&](const Location& at) { return at.path == of.location.path; });
  if (one_file)
    for (auto& at : first) at.path = "line";
  std::string places_text = plain_line(places(first, named));
  if (one_file && !first.empty()) places_text.replace(0, 5, "line ");
  // Of one death kernel, scheduler and shell each speak in their own words.
  if (!first.empty()) text += (of.kind == "host" ? ", also at " : ", printed again at ") + places_text;
  const auto unnamed = again - static_cast<std::int64_t>(first.size());
  if (unnamed > 0)
    text +=
        first.empty() ? ", printed again " + plural(unnamed, "time", "times") : fmt::format(" and {} more", unnamed);
  const std::string who = plain_line(incident_circumstances(of));
  return who.empty() ? text : text + "  (" + who + ")";
}

/// The user's own frame nearest to the failure: where a change can be made.
void add_frame(Page& page, const ReportIncident& of) {
  if (!of.frame) return;
  // Of a long path the end says more than the beginning.
  const int path_width = std::max(page.width() / 2, 30);
  std::string text = fmt::format("{}:{}", clip_front(plain_line(of.frame->file), path_width), of.frame->line);
  if (!of.frame->function.empty()) text += " in " + plain_line(of.frame->function);
  if (!of.frame->code.empty()) text += ":  " + page.paint.bold(plain_line(of.frame->code));
  page.text("  your code: ", text);
}

/// Each share as a row with its own stretch of one long bar, so that label, number and picture stand together.
void add_account(Page& page, const ReportIncident& of) {
  const ReportAccount& account = *of.account;
  std::vector<std::string> labels;
  std::vector<std::int64_t> sizes;
  for (const auto& share : account.shares) {
    labels.push_back(plain_line(share.label));
    sizes.push_back(share.bytes);
  }
  labels.push_back(unexplained_label(account));
  sizes.push_back(account.unexplained_bytes);

  const SharesText text = shares_text(sizes, account.capacity_bytes);
  int widest = 0;
  for (const auto& label : labels) widest = std::max(widest, columns_of(label));
  widest = std::min(widest, page.width() - 36);
  const int number_width = columns_of(text.numbers.front()) + 1 + static_cast<int>(text.unit.size());
  const int bar_width = std::min(40, page.width() - widest - number_width - 13);
  std::vector<double> shares;
  for (const auto size : sizes)
    shares.push_back(
        account.capacity_bytes > 0 ? static_cast<double>(size) / static_cast<double>(account.capacity_bytes) : 0);
  const auto bars = waterfall(shares, std::max(bar_width, 4));

  page.heading(account_title(of));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string row = fmt::format("  {}  {} {}  {}  {}", pad(clip_end(labels[i], widest), widest),
                                        text.numbers[i], text.unit, text.percents[i], bars[i]);
    page.line(i + 1 == labels.size() ? page.paint.dim(row.substr(0, row.find_last_not_of(' ') + 1)) : row);
  }
}

/// One failure, and in one line those that followed from it.
void add_one(Page& page, const Report& report, const ReportIncident& of) {
  const std::string title = incident_title(of);
  page.blank();
  page.text("", of.handled ? page.paint.warning(plain_line(title)) : page.paint.error(plain_line(title)));
  page.text("  --> ", place_line(of));
  add_excerpt(page, of);
  add_frame(page, of);
  for (const std::string& words : following_words(report, of, 3)) page.text("  then: ", plain_line(words), 3);
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
  page.text(
      "", page.paint.dim(fmt::format("{}: {}, {}; {} of them recognised", name, plural(coverage.lines, "line", "lines"),
                                     bytes_text(bytes), count_text(coverage.claimed))));
}

/// "lines 10 to 40", or the run's log where each has one.
std::string where_it_ran(const ReportRun& run, bool in_one_log) {
  return in_one_log ? fmt::format("lines {} to {}", run.first_line, run.last_line) : plain_line(run.path);
}

void add_runs(Page& page, const Report& report) {
  constexpr std::size_t most = 6;  // the last ones
  if (report.runs.empty()) return;
  const bool in_one_log = report.runs.front().path == report.runs.back().path;
  page.line("");
  page.line(
      page.paint.bold(fmt::format("{} runs in {}", report.runs.size(), in_one_log ? "this log" : "separate logs")));
  for (std::size_t i = report.runs.size() > most ? report.runs.size() - most : 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    page.text(fmt::format("  run {:<3} ", i + 1), fmt::format("{}: {}{}", where_it_ran(run, in_one_log),
                                                              run.outcome == "oom"            ? "out of memory, "
                                                              : run.outcome == "possible_oom" ? "killed, "
                                                                                              : "",
                                                              plain_line(run.headline)));
  }
}

void add_incidents(Page& page, const Report& report) {
  constexpr std::size_t in_full = 3;
  std::size_t shown = 0;
  std::int64_t more = report.more_incidents;
  const ReportIncident* with_account = nullptr;
  for (const auto& incident : report.incidents) {
    if (incident.follows) continue;
    // The account belongs to the failure that the verdict is about.
    const bool named = report.verdict.incident && incident.id == *report.verdict.incident;
    if (incident.account && (!with_account || named)) with_account = &incident;
    if (shown < in_full || named)
      add_one(page, report, incident);
    else
      ++more;
    ++shown;
  }
  if (more > 0) page.text("  ", plural(more, "more failure", "more failures") + " in the Markdown and JSON reports");
  if (with_account) add_account(page, *with_account);
}

}  // namespace oomdoctor::terminal
