#include "model/scan_result.h"

#include <algorithm>
#include <utility>

namespace oomdoctor {

bool ScanResult::take_rank(int rank) {
  const auto other = [rank](const auto& entry) { return entry.origin.rank && entry.origin.rank != rank; };
  if (std::any_of(incidents.begin(), incidents.end(), other) || std::any_of(series.begin(), series.end(), other) ||
      std::any_of(remarks.begin(), remarks.end(), other))
    return false;
  for (Incident& incident : incidents) incident.origin.rank = rank;
  for (Series& one : series) one.origin.rank = rank;
  for (Event& event : remarks) event.origin.rank = rank;
  for (MemorySnapshot& snapshot : snapshots) snapshot.report.rank = rank;
  return true;
}

const Event* ScanResult::find_remark(std::string_view id, const OrderRange& in) const {
  const auto found = std::find_if(remarks.begin(), remarks.end(), [&](const Event& event) {
    return remark_of(event, id) != nullptr && event.when.order > in.after && event.when.order < in.before;
  });
  return found == remarks.end() ? nullptr : &*found;
}

void ScanResult::lose(LostEvidence evidence) {
  if (std::find(lost.begin(), lost.end(), evidence) != lost.end()) return;
  if (lost.size() < ScanLimits::lost)
    lost.push_back(std::move(evidence));
  else
    ++more_lost;
}

}  // namespace oomdoctor
