#include "evidence/trace_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "evidence/allocator_model.h"

namespace oomdoctor {
namespace {

/// The pool of each event. A file that uses only the default pool has none of them.
class EventPools {
 public:
  EventPools(const SnapshotFile& file, const DeviceSnapshot& device) {
    const auto is_private = [](const PoolName& pool) { return pool != PoolName{}; };
    if (std::ranges::none_of(file.pools, is_private) &&
        std::ranges::none_of(device.segments, [&](const DeviceSegment& s) { return s.pool && is_private(*s.pool); }))
      return;
    read(file, device);
  }

  u32 of(std::size_t event) const { return pools_.empty() ? 0 : pools_[event]; }

 private:
  /// Events before 2.12 do not name their pool: it is that of the segment at their address. So the trace is read
  /// backwards from the final segments. A segment that is gone by then counts as one of the default pool.
  void read(const SnapshotFile& file, const DeviceSnapshot& device) {
    for (const DeviceSegment& s : device.segments)
      segments_[s.address] = {s.address + s.size, number_of(s.pool.value_or(PoolName{}))};
    pools_.resize(device.events.size());
    for (std::size_t i = device.events.size(); i-- > 0;) {
      const TraceEvent& e = device.events[i];
      if (e.pool != TraceEvent::no_pool)
        pools_[i] = number_of(file.pools[e.pool]);
      else if (e.action != TraceAction::oom)
        pools_[i] = pool_at(e.address);
      if (e.action == TraceAction::segment_alloc) segments_.erase(e.address);
      if (e.action == TraceAction::segment_free) segments_[e.address] = {e.address + e.size, pools_[i]};
    }
  }

  u32 number_of(const PoolName& pool) {
    return pool == PoolName{} ? 0 : numbers_.try_emplace(pool, static_cast<u32>(numbers_.size() + 1)).first->second;
  }

  u32 pool_at(u64 address) const {
    const auto next = segments_.upper_bound(address);
    if (next == segments_.begin()) return 0;
    const auto& [end, pool] = std::prev(next)->second;
    return address < end ? pool : 0;
  }

  std::map<u64, std::pair<u64, u32>> segments_;  ///< start → end, pool
  std::map<PoolName, u32> numbers_;
  std::vector<u32> pools_;
};

struct LiveMemory {
  u32 id = 0;          ///< the number of the allocation
  bool waits = false;  ///< the program freed it, and another stream still uses it
};

/// Reads the events in their order.
class StepReader {
 public:
  StepReader(const SnapshotFile& file, const DeviceSnapshot& device) : events_(device.events), pools_(file, device) {
    completions_ =
        std::ranges::any_of(events_, [](const TraceEvent& e) { return e.action == TraceAction::free_completed; }) ||
        std::ranges::any_of(device.blocks,
                            [](const DeviceBlock& b) { return b.state == BlockState::active_pending_free; });
  }

  TraceSteps read() {
    for (std::size_t i = 0; i < events_.size() && result_.gap.empty(); ++i) step(i);
    return std::move(result_);
  }

 private:
  void step(std::size_t& i) {
    const TraceEvent& e = events_[i];
    switch (e.action) {
      case TraceAction::alloc:
        if (!live_.try_emplace(e.address, LiveMemory{ids_}).second)
          result_.gap = fmt::format("the trace does not show when the memory at event {} became free", i);
        add(StepKind::allocate, i, ids_++);
        add_delayed();
        break;
      case TraceAction::oom:
        add(StepKind::fail, i, ids_++);
        add_delayed();
        break;
      case TraceAction::free_requested:
        free(i);
        break;
      case TraceAction::free_completed:
        i = complete(i);
        break;
      case TraceAction::segment_free:
      case TraceAction::segment_unmap:
        i = release(i);
        break;
      default:
        break;
    }
  }

  void add(StepKind kind, std::size_t event, u32 id) {
    result_.steps.push_back({kind, static_cast<u32>(event), id, pools_.of(event)});
  }

  void free(std::size_t& i) {
    const std::size_t next = next_change(i + 1);
    if (!completions_) {
      end_life(StepKind::free, i);
    } else if (next < events_.size() && events_[next].action == TraceAction::free_completed &&
               events_[next].address == events_[i].address) {
      end_life(StepKind::free, i);
      i = next;
    } else if (const auto it = live_.find(events_[i].address); it != live_.end()) {
      add(StepKind::request_free, i, it->second.id);
      it->second.waits = true;
    } else {
      miss(i);
    }
  }

  void end_life(StepKind kind, std::size_t i, bool delayed = false) {
    const auto it = live_.find(events_[i].address);
    if (it == live_.end()) return miss(i);
    std::vector<TraceStep>& steps = delayed && it->second.waits ? delayed_ : result_.steps;
    steps.push_back({kind, static_cast<u32>(i), it->second.id, 0});
    live_.erase(it);
  }

  void miss(std::size_t i) {
    result_.gap = fmt::format("the trace does not show the allocation of the memory that event {} frees", i);
  }

  /// A run of completions. A request that the driver refused waits for all streams, so the frees that it completes
  /// were not complete when it looked for a free block: they come after it. Returns the last event of the run.
  std::size_t complete(std::size_t first) {
    std::size_t last = first, next = first;
    for (; next < events_.size() && events_[next].action == TraceAction::free_completed; next = next_change(next + 1))
      last = next;
    const bool waited = next < events_.size() && (events_[next].action == TraceAction::oom ||
                                                  (is_release(events_[next].action) && is_retry(end_of_release(next))));
    for (std::size_t i = first; i <= last; i = next_change(i + 1)) end_life(StepKind::complete_free, i, waited);
    return last;
  }

  void add_delayed() {
    result_.steps.insert(result_.steps.end(), delayed_.begin(), delayed_.end());
    delayed_.clear();
  }

  /// The last event of a run of released segments, with one stack.
  std::size_t end_of_release(std::size_t first) const {
    std::size_t last = first;
    for (std::size_t i = first; i < events_.size(); i = next_change(i + 1)) {
      if (!is_release(events_[i].action) || events_[i].stack != events_[first].stack) break;
      last = i;
    }
    return last;
  }

  /// Whether a run of released segments ends so that a request can be tried again: the new segment or the failure comes
  /// next then, with the same stack. Else the program called torch.cuda.empty_cache().
  bool is_retry(std::size_t last) const {
    const std::size_t next = next_change(last + 1);
    return next < events_.size() && events_[next].stack == events_[last].stack &&
           (events_[next].action == TraceAction::segment_alloc || events_[next].action == TraceAction::segment_map ||
            events_[next].action == TraceAction::oom);
  }

  /// A release of a private pool's memory shows that its graph is gone, unless the pool's own request caused it.
  std::size_t release(std::size_t first) {
    const std::size_t last = end_of_release(first);
    const bool retry = is_retry(last);
    if (!retry || pools_.of(next_change(last + 1)) == AllocatorModel::default_pool)
      for (std::size_t i = first; i <= last; i = next_change(i + 1)) allow_release(i);
    if (!retry) add(StepKind::release_cached, last, 0);
    return last;
  }

  void allow_release(std::size_t event) {
    const u32 pool = pools_.of(event);
    if (pool != AllocatorModel::default_pool && released_pools_.insert(pool).second)
      add(StepKind::allow_release, event, 0);
  }

  /// The next event that changes memory.
  std::size_t next_change(std::size_t i) const {
    while (i < events_.size() && events_[i].action >= TraceAction::snapshot) ++i;
    return i;
  }

  std::span<const TraceEvent> events_;
  EventPools pools_;
  bool completions_ = false;        ///< false: the recorder was set to skip them, and each free is complete at once
  std::map<u64, LiveMemory> live_;  ///< by address
  std::set<u32> released_pools_;
  std::vector<TraceStep> delayed_;  ///< frees that a request completed which is not in the steps yet
  u32 ids_ = 0;
  TraceSteps result_;
};

/// The bytes that were reserved before the first event. The sums wrap around, so their order does not matter.
u64 reserved_before(const DeviceSnapshot& device) {
  u64 reserved = 0;
  for (const DeviceSegment& s : device.segments) reserved += s.size;
  for (const TraceEvent& e : device.events) {
    if (is_segment_event(e.action)) reserved += is_release(e.action) ? e.size : 0 - e.size;
  }
  return reserved;
}

}  // namespace

TraceSteps trace_steps_of(const SnapshotFile& file, const DeviceSnapshot& device) {
  if (const u64 before = reserved_before(device); before != 0)
    return {{}, "the trace does not show where all of the reserved memory came from"};
  return StepReader(file, device).read();
}

}  // namespace oomdoctor
