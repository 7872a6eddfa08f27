#include "parse/series_retention.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

namespace oomdoctor {
namespace {

using Kind = std::tuple<Metric, SeriesKind, std::string, std::string>;
using Numbers = std::vector<std::size_t>;

Kind kind_of(const Series& s) { return {s.metric, s.kind, s.label, s.phase}; }

/// Lowers the place of each member to where it stands when the members are sorted by `worth`, the greatest first.
template <class Worth>
void place_by(const std::vector<Series>& all, Numbers members, Worth worth, std::vector<int>& places) {
  std::stable_sort(members.begin(), members.end(),
                   [&](std::size_t a, std::size_t b) { return worth(all[a]) > worth(all[b]); });
  for (std::size_t i = 0; i < members.size(); ++i)
    places[members[i]] = std::min(places[members[i]], static_cast<int>(i));
}

bool is_in(const RetentionPriority& spotlight, const Series& s) {
  return (spotlight.source && s.first_evidence.span.source == *spotlight.source) ||
         (spotlight.rank && s.origin.rank == spotlight.rank);
}

/// Lines are quoted for what is followed alone.
void summarise(Series& s) {
  s.summarise();
  s.first_evidence.excerpt = s.last_evidence.excerpt = std::string();
}

}  // namespace

Followed followed_in(const Series& series) {
  if (series.buckets().empty()) return {};
  return {1, series.buckets().size()};
}

void limit_series(std::vector<Series>& all, const RetentionPriority& spotlight) {
  Numbers followed;
  std::size_t buckets = 0;
  std::map<Kind, Numbers> kinds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].buckets().empty()) continue;
    followed.push_back(i);
    buckets += all[i].buckets().size();
    kinds[kind_of(all[i])].push_back(i);
  }
  if (followed.size() > ScanLimits::retained_series) {
    std::vector<int> places(all.size(), std::numeric_limits<int>::max());
    for (const auto& [kind, members] : kinds) {
      place_by(
          all, members, [](const Series& s) { return s.max_value; }, places);
      place_by(
          all, members, [](const Series& s) { return s.last_value - s.first_value; }, places);
      place_by(
          all, members, [](const Series&) { return 0; }, places);
    }
    for (const std::size_t i : followed)
      if (is_in(spotlight, all[i])) places[i] = -1;
    std::stable_sort(followed.begin(), followed.end(),
                     [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
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
