// The content of a PyTorch allocator snapshot as plain data: the segments and blocks of each device, the trace of its
// allocator, and the stacks of both. Readers of all forms (pickle, JSON, HTML) fill it, and it is constant afterwards.
// What a later stage must tell from 0 is absent where the file does not say it.
//
// A large file has a million events with forty frames each, but only some thousand different stacks. So a stack is a
// number, and an event is 48 bytes.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/enum_names.h"

namespace oomdoctor {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

/// A text of the file: a file name, a function.
using TextId = u32;
/// A list of frames, innermost first.
using StackId = u32;
inline constexpr StackId no_stack = std::numeric_limits<StackId>::max();  ///< the file gives no frames here
inline constexpr StackId empty_stack = 0;                                 ///< the file gives an empty list of frames

struct StackFrame {
  TextId file = 0, function = 0;
  int line = 0;

  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

/// The texts, frames and stacks of a file, each once. All ids are dense and count from 0.
class StackTable {
 public:
  StackTable();

  TextId add_text(std::string_view text);
  u32 add_frame(const StackFrame& frame);
  StackId add_stack(std::span<const u32> frames);

  std::string_view text(TextId id) const { return texts_[id]; }
  const StackFrame& frame(u32 id) const { return frames_[id]; }
  /// The ids of the frames, innermost first; empty for no_stack.
  std::span<const u32> stack(StackId id) const;
  std::size_t frames() const { return frames_.size(); }
  std::size_t stacks() const { return ends_.size(); }

 private:
  /// An open hash table of ids; the owner compares the values with these ids.
  class IdIndex {
   public:
    template <class IsSame>
    u32 find_or_add(u64 hash, u32 next, const IsSame& is_same);

   private:
    void grow();
    struct IndexSlot {
      u64 hash = 0;
      u32 id = std::numeric_limits<u32>::max();
    };
    std::vector<IndexSlot> slots_;
    std::size_t used_ = 0;
  };

  std::vector<std::string> texts_;
  std::vector<StackFrame> frames_;
  std::vector<u32> members_;       ///< the frames of all stacks, one after the other
  std::vector<std::size_t> ends_;  ///< where each stack ends in members_
  IdIndex text_index_, frame_index_, stack_index_;
};

/// (0, 0) is the default pool; others belong to CUDA graphs and to torch.cuda.MemPool.
struct PoolName {
  u64 first = 0, second = 0;

  friend auto operator<=>(const PoolName&, const PoolName&) = default;
};

enum class BlockState { inactive, active_allocated, active_pending_free };
template <>
inline constexpr auto enum_names<BlockState> = names_up_to<BlockState::active_pending_free>("inactive",
                                                                                            "active_allocated",
                                                                                            "active_pending_free");

/// A part of a segment: free, or one allocation.
struct DeviceBlock {
  u64 address = 0;
  u64 size = 0;
  std::optional<u64> requested;  ///< what the program asked for; of an active block only
  BlockState state = BlockState::inactive;
  StackId stack = no_stack;
};

/// A piece of memory from the driver, or one mapped range of an expandable segment.
struct DeviceSegment {
  u64 address = 0;
  u64 size = 0;
  u64 stream = 0;
  bool small = false;  ///< of the pool for requests up to 1 MiB
  bool expandable = false;
  std::optional<PoolName> pool;  ///< absent before 2.1
  StackId stack = no_stack;
  u32 first_block = 0, blocks = 0;  ///< in DeviceSnapshot::blocks, by address, without a gap
};

enum class TraceAction : unsigned char {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  snapshot,
  other  ///< an action of a later release: it counts as an event and changes nothing
};
template <>
inline constexpr auto enum_names<TraceAction> = names_up_to<TraceAction::other>("alloc", "free_requested",
                                                                                "free_completed", "segment_alloc",
                                                                                "segment_free", "segment_map",
                                                                                "segment_unmap", "oom", "snapshot",
                                                                                "other");

/// One entry of the trace.
struct TraceEvent {
  static constexpr u32 no_pool = std::numeric_limits<u32>::max();
  static constexpr i64 no_time = std::numeric_limits<i64>::min();
  static constexpr u64 unknown = std::numeric_limits<u64>::max();

  u64 address = unknown;  ///< of an oom the free bytes of the whole device, unknown if the file does not say so
  u64 size = 0;  ///< alloc and free: what the program asked for; segment_*: real bytes; oom: the rounded request
  u64 stream = 0;
  i64 time_us = no_time;  ///< since the Unix epoch
  StackId stack = no_stack;
  u32 pool = no_pool;  ///< index into SnapshotFile::pools; no_pool before 2.12
  TraceAction action = TraceAction::other;

  std::optional<u64> device_free() const {
    return action == TraceAction::oom && address != unknown ? std::optional(address) : std::nullopt;
  }
};

/// A phase of the program, which every optimizer of torch and its profiler record.
struct TraceAnnotation {
  bool start = false;  ///< else its end
  std::string name;
  i64 time_us = 0;
};

/// One device of a file.
struct DeviceSnapshot {
  int device = 0;
  std::vector<DeviceSegment> segments;  ///< by address
  std::vector<DeviceBlock> blocks;
  std::vector<TraceEvent> events;  ///< oldest first
  std::vector<TraceAnnotation> annotations;
  std::optional<bool> overflowed;  ///< the ring of the trace lost events
};

/// PYTORCH_CUDA_ALLOC_CONF as the allocator understood it.
struct AllocatorSettings {
  std::optional<std::string> text;    ///< as given
  std::optional<u64> max_split_size;  ///< absent if unlimited
  std::optional<double> garbage_collection_threshold;
  bool expandable_segments = false;
  std::map<u64, u64> roundup_power2_divisions;  ///< MiB of the class → divisions, 0 or 1 is off; empty if unknown
};

enum class SnapshotForm { pickle, json, html };
template <>
inline constexpr auto enum_names<SnapshotForm> = names_up_to<SnapshotForm::html>("pickle", "json", "html");

/// One file.
struct SnapshotFile {
  std::string path;
  SnapshotForm form = SnapshotForm::pickle;
  std::optional<int> protocol;  ///< of the pickle
  std::string torch;            ///< the oldest release whose keys account for the file
  bool cut = false;             ///< the file ends early
  std::optional<AllocatorSettings> settings;
  std::vector<PoolName> pools;  ///< of the events
  StackTable stacks;
  std::vector<DeviceSnapshot> devices;  ///< that have segments or events, in their order
};

}  // namespace oomdoctor
