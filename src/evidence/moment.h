// The state of a device's memory at the moment that matters: at the last refused request that ended the work, or else
// at the end of the file.
//
//   events ──► lives (each allocation with its free) ──┐
//   segments, blocks: the state at the end of the file ├─► the state at the moment
//   what happened after the moment, undone ────────────┘
#pragma once

#include <optional>
#include <vector>

#include "evidence/snapshot.h"

namespace oomdoctor {

enum class MomentKind { oom, after_unwind, end };
template <>
inline constexpr auto enum_names<MomentKind> = names_up_to<MomentKind::end>("oom", "after_unwind", "end");

enum class TraceHistory { cut, full, state, none };
template <>
inline constexpr auto enum_names<TraceHistory> = names_up_to<TraceHistory::none>("cut", "full", "state", "none");

/// One allocation of the trace. Indices of events.
struct BlockLife {
  static constexpr u32 open = std::numeric_limits<u32>::max();
  u32 alloc = 0;
  u32 free = open;  ///< when the program freed it
};

/// A block that is not free, at the moment.
struct LiveBlock {
  u64 address = 0;
  u64 size = 0;  ///< 0 if unknown: freed after the moment
  u64 requested = 0;
  bool has_requested = true;  ///< else `requested` is its size
  bool pending = false;       ///< freed by the program, and a stream still uses it
  StackId stack = no_stack;
  std::optional<u32> alloc;  ///< its event
};

/// True for a block from before the recording: neither its frames nor its event are in the file.
inline bool is_unrecorded(const LiveBlock& block) {
  return (block.stack == no_stack || block.stack == empty_stack) && !block.alloc;
}

/// A list of free blocks: a request takes a block of its own list only.
struct BlockListName {
  u64 stream = 0;
  PoolName pool;
  bool small = false;  ///< for requests up to 1 MiB

  friend auto operator<=>(const BlockListName&, const BlockListName&) = default;
};

/// A free block at the moment.
struct UnusedBlock {
  u64 address = 0, size = 0;
  BlockListName list;
};

/// A segment, or a mapped range.
struct MomentSegment {
  u64 address = 0, size = 0;
  BlockListName list;
};

struct MemoryMoment {
  MomentKind kind = MomentKind::end;
  TraceHistory history = TraceHistory::none;
  std::optional<u32> oom;        ///< the last one, also one that the program survived
  u32 events = 0;                ///< those before the moment
  std::vector<BlockLife> lives;  ///< of the events before the moment, by their allocation
  std::vector<LiveBlock> live;   ///< by address
  u64 reserved = 0;
  bool has_layout = false;  ///< the next two are known
  std::vector<MomentSegment> segments;
  std::vector<UnusedBlock> free;  ///< by address

  /// The failure that ended the work.
  bool failed() const { return kind != MomentKind::end; }
};

/// The stack of each life; of those that are live, that of the block where the event has none.
std::vector<StackId> stacks_of_lives(const DeviceSnapshot& device, const MemoryMoment& moment);

/// Reconstructs it. Takes time in proportion to the events.
MemoryMoment find_memory_moment(const DeviceSnapshot& device, const SnapshotFile& file);

}  // namespace oomdoctor
