// What an allocator snapshot shows of the failure: of the snapshot that has the failure of the diagnosis, or without a
// failure of the one that grows most.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "evidence/replay.h"
#include "facts/analysis.h"

namespace oomdoctor {
namespace {

/// Growth of a run that goes on, as a share of the reserved memory within the trace. A trace covers minutes of a run:
/// at a hundredth in that time the card is full within hours; below, counters and buffers of a loop look alike.
constexpr double least_growth = 0.01;

const MemorySnapshot* find_snapshot(const ScanResult& scan, std::optional<std::size_t> primary) {
  if (primary) {
    const auto found = std::find_if(scan.snapshots.begin(), scan.snapshots.end(), [&](const MemorySnapshot& one) {
      return one.joined == primary || one.own == primary;
    });
    return found == scan.snapshots.end() ? nullptr : &*found;
  }
  const auto most = std::max_element(scan.snapshots.begin(), scan.snapshots.end(), [](const auto& a, const auto& b) {
    return fastest_growth(a.report) < fastest_growth(b.report);
  });
  return most == scan.snapshots.end() || fastest_growth(most->report) == 0 ? nullptr : &*most;
}

std::string place_text(const CodeLine& at) {
  return at.file ? fmt::format("{}:{}", *at.file, at.line.value_or(0)) : std::string();
}

}  // namespace

void snapshot_facts(const ScanResult& scan, std::optional<std::size_t> primary, Facts& facts) {
  const MemorySnapshot* const snapshot = find_snapshot(scan, primary);
  if (snapshot == nullptr) return;
  const ReportSnapshot& report = snapshot->report;
  Evidence at;
  at.span.source = snapshot->source;
  if (snapshot->refused)
    at.span.event = snapshot->refused->event;
  else if (report.events > 0)
    at.span.event = report.events - 1;
  else
    at.span.offset = 0;  // the whole file
  const std::vector<Evidence> here{at};
  const auto set_share = [&](std::string_view name, double share) { facts.set(name, Value{Number{share, 0}}, here); };
  const auto set_bytes = [&](std::string_view name, std::optional<i64> bytes) {
    if (bytes) facts.set(name, Bytes{*bytes, 0}, here);
  };
  const double reserved = static_cast<double>(std::max<i64>(report.reserved_bytes, 1));
  if (report.growth) {
    const double share = static_cast<double>(snapshot->grown_bytes) / reserved;
    set_share("snapshot.growth_share", share);
    facts.set("snapshot.grows_in_evaluation", Value{snapshot->grows_in_evaluation}, here);
    if (!report.growth->empty()) {
      const ReportGrowth& line = report.growth->front();
      facts.set("snapshot.growth_line", Value{place_text(line.at)}, here);
      facts.set("snapshot.growth",
                Value{fmt::format("{} keeps {} more {}", place_text(line.at), bytes_text(line.bytes_per_step),
                                  line.unit == "step" ? "each step" : "than in the snapshot before")},
                here);
      if (!primary && share >= least_growth) facts.set("run.at_risk", Value{true}, here);
    }
  }
  set_bytes("snapshot.live", report.live_bytes);
  set_bytes("snapshot.reserved", report.reserved_bytes);
  if (!primary || snapshot->refused->handled) return;
  facts.set("snapshot.failure", Value{std::string(to_string(report.failure))}, here);
  set_bytes("snapshot.request", report.request_bytes);
  set_bytes("snapshot.device_free", report.device_free_bytes);
  set_bytes("snapshot.largest_free", report.largest_free_bytes);
  if (report.free_cached_bytes) {
    set_bytes("snapshot.usable", snapshot->usable_bytes);
    set_share("snapshot.usable_share", static_cast<double>(snapshot->usable_bytes) / reserved);
  }
  set_share("snapshot.states_share", snapshot->shares.states);
  set_share("snapshot.cache_share", snapshot->shares.cache);
  set_share("snapshot.evaluation_share", snapshot->shares.evaluation);
  set_share("snapshot.logits_share", snapshot->shares.logits);
  set_share("snapshot.request_share", snapshot->shares.request);
  if (snapshot->step_ratio) set_share("snapshot.step_ratio", *snapshot->step_ratio);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> replays{
      {{what_if::expandable, "snapshot.expandable_fits"},
       {what_if::max_split, "snapshot.max_split_fits"},
       {what_if::roundup, "snapshot.roundup_fits"}}};
  for (const ReportWhatIf& one : report.what_if)
    for (const auto& [setting, name] : replays)
      if (one.setting == setting && one.fits) facts.set(name, Value{*one.fits}, here);
  facts.set("snapshot.loads", Value{snapshot->refused->in_load}, here);
  facts.set("snapshot.makes_states", Value{snapshot->refused->in_optimizer_init}, here);
  facts.set("snapshot.loads_checkpoint", Value{snapshot->refused->loads_checkpoint}, here);
}

}  // namespace oomdoctor
