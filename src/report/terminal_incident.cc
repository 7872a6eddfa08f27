// What happened and where the memory was: the inputs, the failures with the cited line, the account.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/bytes.h"
#include "report/chart.h"
#include "report/sink.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

/// The cited line in three parts, neutralised; `mark` is what the caret goes under.
struct Cited {
  std::string before, mark, after;
};

/// Moves a cut to the start of the character that it falls into.
std::size_t character_start(std::string_view text, int column) {
  auto at = std::min(static_cast<std::size_t>(std::max(column, 0)), text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

struct Mark {
  std::size_t from = 0, to = 0;
};

/// Where the first size stands that reads as `wanted`, or any size; an empty mark when there is none.
Mark find_size(std::string_view text, std::optional<std::int64_t> wanted) {
  for (auto from = text.find_first_of("0123456789"); from != text.npos; from = text.find_first_of("0123456789", from)) {
    const auto end = std::min(text.find_first_not_of("0123456789.,", from), text.size());
    const auto unit = std::min(text.find_first_not_of(' ', end), text.size());
    auto unit_end = unit;
    while (unit_end < text.size() && std::isalpha(static_cast<unsigned char>(text[unit_end]))) ++unit_end;
    const auto size = read_bytes(text.substr(from, end - from), text.substr(unit, unit_end - unit));
    if (size && (!wanted || std::abs(size->count - *wanted) <= size->slack)) return {from, unit_end};
    from = end;
  }
  return {};
}

/// The caret goes under the size that was asked for; where that is not printed, under a size that the line's reader
/// marked.
Cited cite(const ReportIncident& of) {
  constexpr std::size_t longest_mark = 60;  // in a longer one, no size is the one that matters
  const std::string_view text = of.location.excerpt;
  Mark mark;
  if (of.requested_bytes) mark = find_size(text, of.requested_bytes);
  const auto from = character_start(text, of.location.column);
  const auto to = std::max(from, character_start(text, of.location.end_column));
  if (mark.to == 0 && to - from <= longest_mark) {
    mark = find_size(text.substr(from, to - from), std::nullopt);
    mark = {from + mark.from, from + mark.to};
  }
  return {plain_line(text.substr(0, mark.from)), plain_line(text.substr(mark.from, mark.to - mark.from)),
          plain_line(text.substr(mark.to))};
}

/// Cuts a line to `width` so that the mark stays in sight with some text on both of its sides.
void fit(Cited& line, int width) {
  line.mark = clip_end(line.mark, width - 2);
  const int mark = columns_of(line.mark);
  const int rest = width - mark;
  constexpr int least_behind = 12;
  const int behind = std::min(columns_of(line.after), std::max(least_behind, rest - columns_of(line.before)));
  line.before = clip_front(line.before, rest - behind);
  line.after = clip_end(line.after, rest - columns_of(line.before));
}

/// The mark is labelled only where it says what was asked for.
std::string_view mark_label(const Cited& line, const ReportIncident& of) {
  const auto gap = line.mark.find(' ');
  if (!of.requested_bytes || gap == std::string::npos) return "";
  const auto size = read_bytes(line.mark.substr(0, gap), line.mark.substr(gap + 1));
  const bool same = size && std::abs(size->count - *of.requested_bytes) <= size->slack;
  return same ? " asked for" : "";
}

/// The cited line with a caret under what matters, as compilers show an error.
void add_excerpt(Page& page, const ReportIncident& of) {
  if (of.location.excerpt.empty()) return;
  const std::string gutter = fmt::format("  {} │ ", of.location.line);
  const int indent = columns_of(gutter);
  Cited line = cite(of);
  fit(line, page.width() - indent);
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

/// "train.log:12, printed again at line 30, 41 and 3 more  (rank 1)"
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
  if (!first.empty()) text += ", printed again at " + places_text;
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

std::string account_title(const ReportIncident& of, const ReportAccount& account) {
  std::string title = fmt::format("Where the {} of {} were", bytes_text(account.capacity_bytes), memory_name(of));
  if (of.requested_bytes && *of.requested_bytes / 4 < account.capacity_bytes)
    title += fmt::format(" when {} more were asked for", bytes_text(*of.requested_bytes));
  return title;
}

/// Sizes are printed with two decimals: a remainder within their slack is rounding, not memory that hides.
std::string unexplained_label(const ReportAccount& account) {
  const bool rounding = std::abs(account.unexplained_bytes) <= account.slack_bytes;
  return rounding && account.unexplained_bytes != 0 ? "unexplained (rounding)" : "unexplained";
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

  page.heading(account_title(of, account));
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
  std::vector<Location> after;
  for (const auto& other : report.incidents)
    if (other.follows && *other.follows == of.id) after.push_back(other.location);
  if (!after.empty())
    page.text("  then: ",
              fmt::format("{} as a consequence, at {}",
                          plural(static_cast<std::int64_t>(after.size()), "failure", "failures"),
                          plain_line(places(after, 3))),
              3);
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
