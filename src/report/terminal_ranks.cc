// The ranks beside each other: the few that stand out in rows of their own, the others in one line.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

constexpr std::size_t few_ranks = 3;  ///< of fewer, the series themselves are on the page
constexpr std::size_t rows_shown = 5;

using Row = const ReportRank*;

bool has_values(Row r) { return r->max_value.has_value(); }

/// Those that failed, then those that grow, then the fullest.
std::vector<Row> by_weight(const Report& report) {
  std::vector<Row> rows;
  for (const ReportRank& rank : report.ranks) rows.push_back(&rank);
  const ReportIncident* named = nullptr;
  for (const ReportIncident& incident : report.incidents)
    if (report.verdict.incident && incident.id == *report.verdict.incident) named = &incident;
  const auto weight = [&](Row r) {
    const bool first = named != nullptr && named->rank == r->rank;
    return (first ? 4 : 0) + (r->failed ? 2 : 0) + (r->leak ? 1 : 0);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](Row a, Row b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return a->max_value.value_or(0) > b->max_value.value_or(0);
  });
  return rows;
}

std::string size_text(double bytes) { return bytes_text(whole_number(bytes)); }

/// "28.12 → 39.20 GiB, at most 39.40 GiB, until step 154: out of memory, grows"
std::string words_for(Row r) {
  std::string text;
  if (has_values(r)) {
    std::string first = size_text(*r->first_value);
    const std::string last = size_text(*r->last_value);
    const auto unit = first.find(' ');
    if (first.substr(unit) == last.substr(last.find(' '))) first.resize(unit);
    text = fmt::format("{} → {}, at most {}", first, last, size_text(*r->max_value));
  }
  if (r->last_step) text += fmt::format("{}until step {}", text.empty() ? "" : ", ", *r->last_step);
  std::string said = r->failed ? "out of memory" : "";
  if (r->leak) said += said.empty() ? "grows without a bound" : ", grows without a bound";
  return said.empty() ? text : text.empty() ? said : text + ": " + said;
}

/// "5,000 ranks, 126 of them out of memory; at most 29.32 GiB in the usual one"
std::string summary(const Report& report) {
  std::vector<double> peaks;
  std::int64_t failed = 0;
  for (const ReportRank& r : report.ranks) {
    if (has_values(&r)) peaks.push_back(*r.max_value);
    failed += r.failed;
  }
  std::string text = plural(static_cast<std::int64_t>(report.ranks.size()), "rank", "ranks");
  if (failed > 0) text += fmt::format(", {} of them out of memory", count_text(failed));
  if (peaks.size() < 2) return text;
  const auto middle = peaks.begin() + static_cast<std::ptrdiff_t>(peaks.size() / 2);
  std::nth_element(peaks.begin(), middle, peaks.end());
  return text + fmt::format("; at most {} in the usual one", size_text(*middle));
}

}  // namespace

void add_ranks(Page& page, const Report& report) {
  if (report.ranks.size() < few_ranks) return;
  const auto rows = by_weight(report);
  if (std::all_of(rows.begin(), rows.end(), [](Row r) { return words_for(r).empty(); })) return;
  page.heading("Ranks");
  page.text("  ", summary(report));
  int width = 0;
  for (std::size_t i = 0; i < std::min(rows.size(), rows_shown); ++i)
    width = std::max(width, columns_of(std::to_string(rows[i]->rank)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string words = words_for(rows[i]);
    if (words.empty()) continue;
    const std::string number = std::to_string(rows[i]->rank);
    const std::string first =
        "  rank " + std::string(static_cast<std::size_t>(std::max(0, width - columns_of(number))), ' ') + number + "  ";
    page.text(first, words, i == 0 ? 2 : i < rows_shown ? 6 : Item::only_verbose);
  }
}

}  // namespace oomdoctor::terminal
