#include "evidence/moment.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "evidence/trace_layout.h"

namespace oomdoctor {
namespace {

bool changes_memory(TraceAction action) {
  return action != TraceAction::oom && action != TraceAction::snapshot && action != TraceAction::other;
}

bool has_frames(StackId stack) { return stack != no_stack && stack != empty_stack; }

/// A program that unwinds its stack after the error allocates next to nothing; one that goes on makes a step.
constexpr std::size_t most_allocs_of_unwinding = 8;

void find_kind(const std::vector<TraceEvent>& events, MemoryMoment& moment) {
  moment.events = static_cast<u32>(events.size());
  for (std::size_t i = events.size(); i-- > 0;)
    if (events[i].action == TraceAction::oom) {
      moment.oom = static_cast<u32>(i);
      break;
    }
  if (!moment.oom) return;
  const auto behind = events.begin() + static_cast<std::ptrdiff_t>(*moment.oom) + 1;
  const auto allocs =
      std::count_if(behind, events.end(), [](const TraceEvent& e) { return e.action == TraceAction::alloc; });
  if (static_cast<std::size_t>(allocs) > most_allocs_of_unwinding) return;
  const bool any = std::any_of(behind, events.end(), [](const TraceEvent& e) { return changes_memory(e.action); });
  moment.kind = any ? MomentKind::after_unwind : MomentKind::oom;
  moment.events = *moment.oom;
}

/// The open lives by their address: the last element of each.
using OpenLives = std::unordered_map<u64, u32>;

OpenLives find_lives(const std::vector<TraceEvent>& events, MemoryMoment& moment) {
  OpenLives open;
  for (u32 i = 0; i < moment.events; ++i) {
    const TraceEvent& event = events[i];
    if (event.action == TraceAction::alloc) {
      open[event.address] = static_cast<u32>(moment.lives.size());
      moment.lives.push_back({i});
    } else if (event.action == TraceAction::free_requested || event.action == TraceAction::free_completed) {
      // Either may be left out of the trace: the first one ends the life.
      const auto at = open.find(event.address);
      if (at != open.end() && moment.lives[at->second].free == BlockLife::open) moment.lives[at->second].free = i;
      if (at != open.end() && event.action == TraceAction::free_completed) open.erase(at);
    }
  }
  return open;
}

/// Undoes what happened after the moment. Sizes of blocks that were freed there stay unknown.
void undo(const std::vector<TraceEvent>& events, std::unordered_map<u64, LiveBlock>& live, MemoryMoment& moment) {
  const bool has_requests = std::any_of(events.begin(), events.end(),
                                        [](const TraceEvent& e) { return e.action == TraceAction::free_requested; });
  for (std::size_t i = events.size(); i-- > moment.events;) {
    const TraceEvent& event = events[i];
    switch (event.action) {
      case TraceAction::alloc:
        live.erase(event.address);
        break;
      case TraceAction::free_completed:
        live.try_emplace(event.address,
                         LiveBlock{event.address, 0, event.size, true, has_requests, no_stack, std::nullopt});
        break;
      case TraceAction::free_requested:
        live.try_emplace(event.address, LiveBlock{event.address, 0, event.size, true, false, no_stack, std::nullopt})
            .first->second.pending = false;
        break;
      case TraceAction::segment_alloc:
      case TraceAction::segment_map:
        moment.reserved -= event.size;
        break;
      case TraceAction::segment_free:
      case TraceAction::segment_unmap:
        moment.reserved += event.size;
        break;
      default:
        break;
    }
  }
}

/// The segments and free blocks of the file itself.
void take_layout(const DeviceSnapshot& device, MemoryMoment& moment) {
  moment.has_layout = true;
  for (const DeviceSegment& segment : device.segments) {
    const BlockListName list{segment.stream, segment.pool.value_or(PoolName{}), segment.small};
    moment.segments.push_back({segment.address, segment.size, list});
    for (const DeviceBlock& block : std::span(device.blocks).subspan(segment.first_block, segment.blocks))
      if (block.state == BlockState::inactive) moment.free.push_back({block.address, block.size, list});
  }
}

TraceHistory find_history(const DeviceSnapshot& device, bool lost_an_event) {
  if (device.overflowed.value_or(false)) return TraceHistory::cut;
  if (device.events.size() >= 2) return lost_an_event ? TraceHistory::cut : TraceHistory::full;
  const auto any = [&](StackId stack) { return has_frames(stack); };
  const bool frames =
      std::any_of(device.blocks.begin(), device.blocks.end(), [&](const DeviceBlock& b) { return any(b.stack); }) ||
      std::any_of(device.events.begin(), device.events.end(), [&](const TraceEvent& e) { return any(e.stack); });
  return frames ? TraceHistory::state : TraceHistory::none;
}

}  // namespace

std::vector<StackId> stacks_of_lives(const DeviceSnapshot& device, const MemoryMoment& moment) {
  std::vector<StackId> stacks(moment.lives.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) stacks[i] = device.events[moment.lives[i].alloc].stack;
  for (const LiveBlock& block : moment.live) {
    if (!block.alloc) continue;
    const auto life = std::lower_bound(moment.lives.begin(), moment.lives.end(), *block.alloc,
                                       [](const BlockLife& one, u32 event) { return one.alloc < event; });
    stacks[static_cast<std::size_t>(life - moment.lives.begin())] = block.stack;
  }
  return stacks;
}

MemoryMoment find_memory_moment(const DeviceSnapshot& device, const SnapshotFile& file) {
  MemoryMoment moment;
  const std::vector<TraceEvent>& events = device.events;
  find_kind(events, moment);
  const OpenLives open = find_lives(events, moment);
  std::unordered_map<u64, LiveBlock> live;
  bool lost = false;
  std::unordered_set<u64> later;  // addresses of allocations after the moment
  for (u32 i = moment.events; i < events.size(); ++i)
    if (events[i].action == TraceAction::alloc) later.insert(events[i].address);
  for (const DeviceBlock& block : device.blocks) {
    if (block.state == BlockState::inactive) continue;
    live[block.address] = {block.address,
                           block.size,
                           block.requested.value_or(block.size),
                           block.requested.has_value(),
                           block.state == BlockState::active_pending_free,
                           block.stack,
                           std::nullopt};
    lost |= has_frames(block.stack) && !open.contains(block.address) && !later.contains(block.address);
  }
  for (const DeviceSegment& segment : device.segments) moment.reserved += segment.size;
  if (moment.kind == MomentKind::after_unwind) undo(events, live, moment);
  moment.live.reserve(live.size());
  for (auto& [address, block] : live) {
    if (const auto life = open.find(address); life != open.end()) {
      block.alloc = moment.lives[life->second].alloc;
      if (!has_frames(block.stack)) block.stack = events[*block.alloc].stack;
    }
    moment.live.push_back(block);
  }
  std::sort(moment.live.begin(), moment.live.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  moment.history = find_history(device, lost);
  if (moment.kind != MomentKind::after_unwind)
    take_layout(device, moment);
  else if (moment.history == TraceHistory::full)
    follow_layout(device, file, moment);
  return moment;
}

}  // namespace oomdoctor
