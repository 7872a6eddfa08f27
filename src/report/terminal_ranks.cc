// The ranks beside each other: the few that stand out in rows of their own, the others in one line.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/rank_words.h"
#include "report/terminal_sections.h"
#include "report/utf8.h"
#include "report/words.h"

namespace oomdoctor::terminal {
namespace {

constexpr std::size_t rows_shown = 5;

using Row = const ReportRank*;

std::string size_text(double bytes) { return bytes_text(whole_number(bytes)); }

/// "28.12 → 39.20 GiB, at most 39.40 GiB, until step 154: out of memory, grows"
std::string words_for(Row r) {
  std::string text;
  if (r->max_value) {
    const std::string last = size_text(*r->last_value);
    text = fmt::format("{} → {}, at most {}", without_unit_of(last, size_text(*r->first_value)), last,
                       size_text(*r->max_value));
  }
  if (r->last_step) text += fmt::format("{}until step {}", text.empty() ? "" : ", ", *r->last_step);
  std::string said = r->failed ? "out of memory" : "";
  if (r->leak) said += said.empty() ? "keeps growing" : ", keeps growing";
  return said.empty() ? text : text.empty() ? said : text + ": " + said;
}

}  // namespace

void add_ranks(Page& page, const Report& report) {
  if (report.ranks.size() < few_ranks) return;
  const auto rows = ranks_by_weight(report);
  if (std::all_of(rows.begin(), rows.end(), [](Row r) { return words_for(r).empty(); })) return;
  page.heading("Ranks");
  page.text("  ", ranks_summary(report));
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
