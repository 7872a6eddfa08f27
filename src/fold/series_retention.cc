#include "fold/series_retention.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

namespace oomdoctor {
namespace {

using SeriesKindKey = std::tuple<Metric, SeriesKind, std::string, std::string>;
using Numbers = std::vector<std::size_t>;

SeriesKindKey kind_of(const Series& s) { return {s.metric, s.kind, s.label, s.phase}; }

/// Lowers the rank of each member to its position in the order of descending `worth`.
template <class Worth>
void rank_by(const std::vector<Series>& all, Numbers members, Worth worth, std::vector<int>& ranks) {
  std::stable_sort(members.begin(), members.end(),
                   [&](std::size_t a, std::size_t b) { return worth(all[a]) > worth(all[b]); });
  for (std::size_t i = 0; i < members.size(); ++i) ranks[members[i]] = std::min(ranks[members[i]], static_cast<int>(i));
}

bool is_in(const RetentionPriority& priority, const Series& s) {
  return (priority.source && s.first_evidence.span.source == *priority.source) ||
         (priority.rank && s.origin.rank == priority.rank);
}

/// Only a series with values quotes its lines.
void summarise(Series& s) {
  s.summarise();
  for (Evidence* e : {&s.first_evidence, &s.last_evidence, &s.max_evidence}) e->excerpt = std::string();
}

}  // namespace

RetainedCount count_retained(const Series& series) {
  if (series.buckets().empty()) return {};
  return {1, series.buckets().size()};
}

/// Within each kind, a series competes by size, by growth and by order. Its best rank of the three counts, so every
/// kind keeps some series of each sort.
void limit_series(std::vector<Series>& all, const RetentionPriority& priority) {
  Numbers followed;
  std::size_t buckets = 0;
  std::map<SeriesKindKey, Numbers> kinds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].buckets().empty()) continue;
    followed.push_back(i);
    buckets += all[i].buckets().size();
    kinds[kind_of(all[i])].push_back(i);
  }
  if (followed.size() > ScanLimits::retained_series) {
    std::vector<int> ranks(all.size(), std::numeric_limits<int>::max());
    for (const auto& [kind, members] : kinds) {
      rank_by(
          all, members, [](const Series& s) { return s.max_value; }, ranks);
      rank_by(
          all, members, [](const Series& s) { return s.last_value - s.first_value; }, ranks);
      rank_by(
          all, members, [](const Series&) { return 0; }, ranks);
    }
    for (const std::size_t i : followed)
      if (is_in(priority, all[i])) ranks[i] = -1;
    std::stable_sort(followed.begin(), followed.end(),
                     [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
    for (std::size_t k = ScanLimits::retained_series; k < followed.size(); ++k) {
      buckets -= all[followed[k]].buckets().size();
      summarise(all[followed[k]]);
    }
    followed.resize(ScanLimits::retained_series);
  }
  if (buckets > ScanLimits::buckets)
    for (const std::size_t i : followed) all[i].thin(ScanLimits::buckets / ScanLimits::retained_series);
}

}  // namespace oomdoctor
