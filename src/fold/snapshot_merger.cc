#include "fold/snapshot_merger.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace oomdoctor {
namespace {

/// A log prints the time of its own zone, mostly without its name, and some seconds late.
constexpr double zone_step = 15 * 60, widest_zone = 14 * 3600, tolerated_delay = 5 * 60;

/// True if two times may be the same moment, printed in different zones. One without a date has only its time of day.
bool is_same_moment(double a, double b) {
  constexpr double whole_day = 24 * 3600;
  double apart = std::fabs(a - b);
  if (a < first_dated_time || b < first_dated_time) {
    apart = std::fmod(apart, whole_day);
    apart = std::min(apart, whole_day - apart);
  }
  const double off = std::fabs(apart - std::round(apart / zone_step) * zone_step);
  return apart <= widest_zone + tolerated_delay && off <= tolerated_delay;
}

bool is_same_failure(const MemorySnapshot& snapshot, const Incident& incident) {
  const RefusedRequest& refused = *snapshot.refused;
  if (incident.oom.kind != OomKind::device || !incident.oom.request) return false;
  const Bytes& printed = *incident.oom.request;
  if (std::abs(printed.count - refused.segment) > printed.slack) return false;
  if (incident.origin.device && *incident.origin.device != snapshot.report.device) return false;
  if (incident.origin.rank && snapshot.report.rank && incident.origin.rank != snapshot.report.rank) return false;
  return !refused.time || !incident.when.time || is_same_moment(*refused.time, *incident.when.time);
}

Bytes exact(i64 bytes) { return {bytes, 0}; }

std::vector<ReportGrowth> growth_between(const MemorySnapshot& before, const MemorySnapshot& after) {
  std::vector<i64> kept_blocks(after.report.holders.size());  // by holder
  for (const KeptBlock& block : after.blocks) {
    const auto same = std::lower_bound(before.blocks.begin(), before.blocks.end(), block,
                                       [](const auto& a, const auto& b) { return a.address < b.address; });
    const bool kept = same != before.blocks.end() && same->address == block.address && same->size == block.size &&
                      before.report.holders[same->holder].at == after.report.holders[block.holder].at;
    kept_blocks[block.holder] += kept;
  }
  std::vector<ReportGrowth> growth;
  for (std::size_t i = 0; i < kept_blocks.size(); ++i) {
    const ReportHolder& now = after.report.holders[i];
    const auto then = std::find_if(before.report.holders.begin(), before.report.holders.end(),
                                   [&](const ReportHolder& one) { return one.at == now.at; });
    if (!now.at.file || then == before.report.holders.end()) continue;
    if (kept_blocks[i] != then->blocks || now.blocks <= then->blocks || now.live_bytes <= then->live_bytes) continue;
    growth.push_back(
        {now.at, now.live_bytes - then->live_bytes, static_cast<double>(now.blocks - then->blocks), {}, "snapshot"});
  }
  std::stable_sort(growth.begin(), growth.end(),
                   [](const auto& a, const auto& b) { return a.bytes_per_step > b.bytes_per_step; });
  return growth;
}

}  // namespace

void join_snapshots(ScanResult& result) {
  std::vector<bool> taken(result.incidents.size());
  for (MemorySnapshot& snapshot : result.snapshots) {
    if (!snapshot.refused) continue;
    for (std::size_t i = 0; i < result.incidents.size() && !snapshot.joined; ++i) {
      if (taken[i] || !is_same_failure(snapshot, result.incidents[i])) continue;
      snapshot.joined = i;
      taken[i] = true;
    }
  }
}

Incident make_incident(const MemorySnapshot& snapshot) {
  const RefusedRequest& refused = *snapshot.refused;
  const ReportSnapshot& report = snapshot.report;
  Incident incident;
  Oom& oom = incident.oom;
  oom.framework = "pytorch";
  oom.request = exact(refused.size);
  if (refused.device_free) oom.free = exact(*refused.device_free);
  if (!refused.handled) {
    oom.reserved = exact(report.reserved_bytes);
    if (report.free_cached_bytes) {
      oom.allocated = exact(report.reserved_bytes - *report.free_cached_bytes);
      oom.unallocated = exact(*report.free_cached_bytes);
      if (snapshot.private_bytes > 0) oom.private_pools = exact(snapshot.private_bytes);
    }
  }
  oom.frames = refused.frames;
  if (refused.in_backward) oom.traits.push_back(OomTrait::in_backward);
  incident.evidence.span.source = snapshot.source;
  incident.evidence.span.event = refused.event;
  incident.evidence.reader = "snapshot/oom";
  incident.origin.device = report.device;
  incident.origin.rank = report.rank;
  incident.when.time = refused.time;
  incident.handled = refused.handled;
  return incident;
}

void compare_snapshots(std::vector<MemorySnapshot>& snapshots) {
  std::map<std::pair<std::optional<int>, int>, std::vector<MemorySnapshot*>> by_device;
  for (MemorySnapshot& snapshot : snapshots)
    if (!snapshot.blocks.empty()) by_device[{snapshot.report.rank, snapshot.report.device}].push_back(&snapshot);
  for (auto& [device, row] : by_device) {
    if (std::all_of(row.begin(), row.end(), [](const MemorySnapshot* one) { return one->time.has_value(); }))
      std::stable_sort(row.begin(), row.end(), [](const auto* a, const auto* b) { return *a->time < *b->time; });
    for (std::size_t i = 1; i < row.size(); ++i) {
      row[i]->report.growth = growth_between(*row[i - 1], *row[i]);
      for (const ReportGrowth& line : *row[i]->report.growth) row[i]->grown_bytes += line.bytes_per_step;
    }
  }
}

}  // namespace oomdoctor
