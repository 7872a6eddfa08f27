#include "report/rank_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/words.h"

namespace oomdoctor {

std::vector<const ReportRank*> sort_ranks(const Report& report) {
  std::vector<const ReportRank*> rows;
  for (const ReportRank& rank : report.ranks) rows.push_back(&rank);
  const ReportIncident* named = nullptr;
  for (const ReportIncident& incident : report.incidents)
    if (report.verdict.incident && incident.id == *report.verdict.incident) named = &incident;
  const auto weight = [&](const ReportRank* r) {
    const bool first = named != nullptr && named->rank == r->rank;
    return (first ? 4 : 0) + (r->failed ? 2 : 0) + (r->leak ? 1 : 0);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const ReportRank* a, const ReportRank* b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return a->max_value.value_or(0) > b->max_value.value_or(0);
  });
  return rows;
}

std::string ranks_summary(const Report& report) {
  std::vector<double> peaks;
  std::int64_t failed = 0;
  for (const ReportRank& r : report.ranks) {
    if (r.max_value) peaks.push_back(*r.max_value);
    failed += r.failed;
  }
  std::string text = plural(static_cast<std::int64_t>(report.ranks.size()), "rank", "ranks");
  if (failed > 0) text += fmt::format(", {} of them out of memory", count_text(failed));
  if (peaks.size() < 2) return text;
  const auto middle = peaks.begin() + static_cast<std::ptrdiff_t>(peaks.size() / 2);
  std::nth_element(peaks.begin(), middle, peaks.end());
  return text + fmt::format("; at most {} in the usual one", bytes_text(whole_number(*middle)));
}

}  // namespace oomdoctor
