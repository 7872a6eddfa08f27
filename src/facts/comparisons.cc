// Comparisons of several series: the cache with the tensors in it, the GPU with this process, one rank with the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "facts/analysis.h"
#include "growth/statistics.h"

namespace oomdoctor {
namespace {

// Judgement constants, each with its reason.
constexpr i64 min_points = 8;              ///< fewer values cannot exclude growth
constexpr double gap_growth_share = 0.05;  ///< of the GPU; a smaller growth of the gap does not cause a failure
constexpr double straggler_steps = 2;      ///< logs end in the middle of a step, and some print only every other step
constexpr double straggler_share = 0.02;   ///< of the steps; in long runs the last lines may still be in a buffer
constexpr double max_straggler_share =
    0.25;  ///< of all ranks; if more stop early, the remaining ones are the unusual ones
constexpr std::size_t max_named_ranks = 4;  ///< stragglers that the note names
constexpr double gap_over_allocated = 3;    ///< reserved must have grown by this many times the movement of allocated

/// Detects a growing cache: reserved rises while allocated stays.
void set_gap_facts(const ScanResult& scan, const Trends& trends, const Incident* incident, std::optional<i64> capacity,
                   Facts& facts) {
  for (std::size_t a = 0; a < scan.series.size(); ++a) {
    const Series& alloc = scan.series[a];
    if (alloc.metric != Metric::allocated || alloc.n < min_points || !alloc.followed() || !belongs(alloc, incident))
      continue;
    for (std::size_t r = 0; r < scan.series.size(); ++r) {
      const Series& res = scan.series[r];
      if (res.metric != Metric::reserved || !res.followed() || res.n != alloc.n ||
          res.origin.rank != alloc.origin.rank || res.phase != alloc.phase)
        continue;
      const double before = res.first_value - alloc.first_value, now = res.last_value - alloc.last_value;
      const double moved = std::abs(alloc.last_value - alloc.first_value);
      const double whole = capacity ? static_cast<double>(*capacity) : res.max_value;
      // A host's log of a GPU that it does not use has zeros.
      const bool grows = res.last_value > res.first_value && now - before >= gap_growth_share * whole &&
                         res.last_value - res.first_value >= gap_over_allocated * moved && !trends.leaks(a);
      facts.set("trend.gap", Value{Number{std::max(0.0, now), 0}}, {alloc.last_evidence, res.last_evidence});
      facts.set("trend.gap_grows", Value{grows}, {res.first_evidence, res.last_evidence});
      if (grows) return;
    }
  }
}

bool is_torch_counter(Metric metric) { return metric == Metric::reserved || metric == Metric::allocated; }

/// True for the memory of the whole GPU. A print next to the allocator's counters that always exceeds them contains
/// more than they count.
bool exceeds_counter(const Series& device, const Series& counter) {
  return device.metric == Metric::used || (device.metric == Metric::memory && device.first_value > counter.max_value &&
                                           device.last_value > counter.max_value);
}

/// Detects growth outside this process's allocator: the GPU fills without a bound, but the allocator's memory does not.
/// A library or another process then grows. A rise alone proves nothing, because a GPU fills when a job starts.
void set_outside_fact(const ScanResult& scan, const Incident* incident, Analysis& analysis) {
  for (std::size_t d = 0; d < scan.series.size(); ++d) {
    const Series& device = scan.series[d];
    if (device.n < min_points || !device.followed() || !belongs(device, incident)) continue;
    for (std::size_t p = 0; p < scan.series.size(); ++p) {
      const Series& process = scan.series[p];
      if (!is_torch_counter(process.metric) || process.n < min_points || !process.followed() ||
          !belongs(process, incident) || !exceeds_counter(device, process))
        continue;
      if (process.origin.device && device.origin.device && process.origin.device != device.origin.device) continue;
      if (analysis.trends.leaks(p)) return;  // the growth is inside the allocator
      analysis.facts.set("trend.external_grows", Value{analysis.trends.leaks(d)},
                         {device.first_evidence, device.last_evidence, process.last_evidence});
    }
  }
}

/// True if two series measure the same quantity at the same point of the step.
bool is_comparable(const Series& a, const Series& b) {
  return a.metric == b.metric && a.label == b.label && a.phase == b.phase;
}

/// Compares the main series of all ranks: how many grow, and how far the fullest rank exceeds the median.
void set_rank_facts(const ScanResult& scan, Analysis& analysis) {
  if (!analysis.main_series) return;
  const Series& main = scan.series[*analysis.main_series];
  std::vector<double> peaks;
  std::vector<std::size_t> growing;
  std::optional<std::size_t> fullest;
  for (std::size_t i = 0; i < scan.series.size(); ++i) {
    const Series& s = scan.series[i];
    if (!is_comparable(s, main) || !s.origin.rank || s.n < min_points) continue;
    peaks.push_back(s.max_value);
    if (analysis.trends.leaks(i)) growing.push_back(i);
    if (!fullest || s.max_value > scan.series[*fullest].max_value) fullest = i;
  }
  if (peaks.size() < 2) return;
  const Series& worst = scan.series[*fullest];
  const double usual = compute_median(peaks);
  const std::vector<Evidence> there{worst.last_evidence};
  const auto count = [](std::size_t n) { return Value{Number{static_cast<double>(n), 0}}; };
  analysis.facts.set("ranks.compared", count(peaks.size()), there);
  analysis.facts.set("ranks.growing", count(growing.size()), there);
  analysis.facts.set("ranks.fullest", Value{Number{static_cast<double>(*worst.origin.rank), 0}}, there);
  if (usual > 0) analysis.facts.set("ranks.skew", Value{Number{worst.max_value / usual - 1, 0}}, there);
  if (growing.size() != 1) return;
  const Series& alone = scan.series[growing.front()];
  analysis.notes.push_back({Severity::note,
                            fmt::format("only rank {} of {} grows: look for what it does and the others do not",
                                        *alone.origin.rank, peaks.size()),
                            alone.last_evidence});
}

/// Notes a few ranks whose log ends many steps before the others. They failed or hang, and the others wait for them.
void emit_stragglers(const std::vector<RankRow>& ranks, std::vector<Note>& notes) {
  std::vector<double> ends;
  for (const RankRow& row : ranks)
    if (row.last_step) ends.push_back(static_cast<double>(*row.last_step));
  if (ends.size() < 2) return;
  const double usual = compute_median(ends);
  const double limit = usual - std::max(straggler_steps, straggler_share * std::abs(usual));
  std::vector<const RankRow*> late;
  for (const RankRow& row : ranks)
    if (row.last_step && static_cast<double>(*row.last_step) < limit) late.push_back(&row);
  if (late.empty() || static_cast<double>(late.size()) > max_straggler_share * static_cast<double>(ends.size())) return;
  std::string who;
  for (std::size_t i = 0; i < std::min(late.size(), max_named_ranks); ++i)
    who += fmt::format("{}{} (step {}{})", i == 0 ? "" : ", ", late[i]->rank, *late[i]->last_step,
                       late[i]->failed ? ", out of memory" : "");
  if (late.size() > max_named_ranks) who += fmt::format(" and {} more", late.size() - max_named_ranks);
  notes.push_back({Severity::note,
                   fmt::format("{} {} stopped before the others, which reached step {:.0f}: a rank that waits for "
                               "another fails later and for another reason",
                               late.size() == 1 ? "rank" : "ranks", who, usual),
                   {}});
}

/// Reads a monitor's series of the GPU at the time of the failure, for the memory outside this process that the message
/// does not contain.
void set_join_facts(const ScanResult& scan, const Incident* incident, Analysis& analysis) {
  constexpr double max_distance = 90;  // in seconds; monitors usually sample every 1 to 60
  if (incident == nullptr || incident->when.time.value_or(0) < first_dated_time) return;
  const auto own = incident->oom.process    ? incident->oom.process
                   : incident->oom.reserved ? incident->oom.reserved
                                            : incident->oom.allocated;
  for (const Series& device : scan.series) {
    if (device.metric != Metric::used || !belongs(device, incident)) continue;
    const Bucket* then = nullptr;
    for (const Bucket& bucket : device.buckets())
      if (bucket.t > first_dated_time &&
          (then == nullptr || std::abs(bucket.t - *incident->when.time) < std::abs(then->t - *incident->when.time)))
        then = &bucket;
    if (then == nullptr || std::abs(then->t - *incident->when.time) > max_distance) continue;
    // A device has no less in use than one of its processes: the reading is of another moment, or of another device.
    constexpr double at_least = 0.9;  // of the process
    if (own && then->high < at_least * static_cast<double>(own->count)) continue;
    const std::vector<Evidence> both{incident->evidence, device.last_evidence};
    analysis.facts.set("join.device_used", Value{Number{then->high, 0}}, both);
    if (!own) return;
    const double beyond = std::max(0.0, then->high - static_cast<double>(own->count));
    analysis.facts.set("join.external", Value{Number{beyond, 0}}, both);
    if (beyond > 0)
      analysis.notes.push_back(
          {Severity::note,
           fmt::format("when it failed the monitor saw {} in use on this device: {} beyond the {} of "
                       "the message",
                       bytes_text(then->high), bytes_text(beyond), bytes_text(own->count)),
           device.last_evidence});
    return;
  }
}

}  // namespace

void compare_ranks(const ScanResult& scan, Analysis& analysis) {
  std::map<int, RankRow> rows;
  for (const auto& [rank, known] : scan.ranks) rows[rank] = {rank, std::nullopt, known.last_step, known.failed};
  for (std::size_t i = 0; i < scan.series.size(); ++i) {
    const Series& s = scan.series[i];
    if (!s.origin.rank) continue;
    RankRow& row = rows.try_emplace(*s.origin.rank, RankRow{*s.origin.rank, {}, {}, false}).first->second;
    if (!analysis.main_series || !is_comparable(s, scan.series[*analysis.main_series])) continue;
    if (!row.series || s.max_value > scan.series[*row.series].max_value) row.series = i;
  }
  if (rows.size() < 2) return;
  for (const auto& [rank, row] : rows) analysis.ranks.push_back(row);
  emit_stragglers(analysis.ranks, analysis.notes);
}

void comparison_facts(const ScanResult& scan, const Incident* incident, std::optional<i64> capacity,
                      Analysis& analysis) {
  set_gap_facts(scan, analysis.trends, incident, capacity, analysis.facts);
  set_outside_fact(scan, incident, analysis);
  set_rank_facts(scan, analysis);
  set_join_facts(scan, incident, analysis);
}

}  // namespace oomdoctor
