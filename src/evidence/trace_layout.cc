#include "evidence/trace_layout.h"

#include <map>

#include "evidence/allocator_sizes.h"

namespace oomdoctor {
namespace {

using namespace allocator_sizes;

/// Follows the events. Throws nothing: false once an event contradicts the state.
class LayoutWalk {
 public:
  LayoutWalk(const DeviceSnapshot& device, const SnapshotFile& file, u64 padding)
      : device_(device), file_(file), settings_(file.settings.value_or(AllocatorSettings{})), padding_(padding) {}

  bool step(u32 index) {
    const TraceEvent& event = device_.events[index];
    switch (event.action) {
      case TraceAction::segment_alloc:
        return add_segment(event, index, false);
      case TraceAction::segment_map:
        return add_segment(event, index, true);
      case TraceAction::segment_free:
        return remove_segment(event);
      case TraceAction::segment_unmap:
        return unmap(event);
      case TraceAction::alloc:
        return allocate(event);
      case TraceAction::free_completed:
        return release(event);
      default:
        return true;
    }
  }

  /// True if the state is that of the file's segments and blocks.
  bool is_at_end() const {
    std::size_t live = 0;
    for (const DeviceBlock& block : device_.blocks) {
      const auto at = blocks_.find(block.address);
      if (at == blocks_.end() || at->second.size != block.size ||
          at->second.live != (block.state != BlockState::inactive))
        return false;
      ++live;
    }
    return live == blocks_.size();
  }

  void describe(MemoryMoment& moment) const {
    moment.has_layout = true;
    for (const auto& [address, block] : blocks_) {
      const bool joins = !moment.segments.empty() &&
                         block.segment == blocks_.find(moment.segments.back().address)->second.segment &&
                         moment.segments.back().address + moment.segments.back().size == address;
      if (joins)
        moment.segments.back().size += block.size;
      else
        moment.segments.push_back({address, block.size, block.list.name});
      if (!block.live) moment.free.push_back({address, block.size, block.list.name});
    }
    for (LiveBlock& block : moment.live)
      if (const auto at = blocks_.find(block.address); at != blocks_.end()) block.size = at->second.size;
  }

 private:
  struct BlockList {
    BlockListName name;
    bool expandable = false;

    friend bool operator==(const BlockList&, const BlockList&) = default;
  };
  struct WalkBlock {
    u64 size = 0;
    u64 segment = 0;  ///< the address of its segment; blocks of two segments never join
    BlockList list;
    bool live = false;
  };
  using Blocks = std::map<u64, WalkBlock>;

  PoolName pool_of(const TraceEvent& event) const {
    return event.pool == TraceEvent::no_pool ? PoolName{} : file_.pools[event.pool];
  }

  /// The pool of a segment: that of the file's segment there, else that of the event.
  PoolName pool_at(const TraceEvent& event) const {
    for (const DeviceSegment& segment : device_.segments)
      if (segment.pool && segment.address <= event.address && event.address - segment.address < segment.size)
        return *segment.pool;
    return pool_of(event);
  }

  bool add_segment(const TraceEvent& event, u32 index, bool expandable) {
    // The request that needed it follows.
    bool small = event.size == small_segment;
    for (u32 next = index + 1; next < device_.events.size() && next <= index + 4; ++next)
      if (device_.events[next].action == TraceAction::alloc) {
        small = rounded_request(device_.events[next].size + padding_, settings_) <= small_size;
        break;
      }
    const auto next = blocks_.lower_bound(event.address);
    if (next != blocks_.end() && next->first < event.address + event.size) return false;
    const BlockList list{{event.stream, pool_at(event), small}, expandable};
    // An expandable range has no address of its own in the trace: what touches belongs together.
    u64 segment = event.address;
    if (expandable) {
      if (next != blocks_.begin()) {
        const auto& [address, before] = *std::prev(next);
        if (address + before.size == event.address && before.list == list) segment = before.segment;
      }
      if (segment == event.address && next != blocks_.end() && next->first == event.address + event.size &&
          next->second.list == list)
        segment = next->second.segment;
    }
    join(blocks_.insert({event.address, {event.size, segment, list, false}}).first);
    return true;
  }

  bool remove_segment(const TraceEvent& event) {
    const auto at = blocks_.find(event.address);
    if (at == blocks_.end() || at->second.live || at->second.size != event.size) return false;
    blocks_.erase(at);
    return true;
  }

  bool unmap(const TraceEvent& event) {
    auto at = blocks_.upper_bound(event.address);
    if (at == blocks_.begin()) return false;
    --at;
    const u64 begin = at->first, end = begin + at->second.size, unmapped_end = event.address + event.size;
    if (at->second.live || unmapped_end > end) return false;
    const WalkBlock whole = at->second;
    blocks_.erase(at);
    if (begin < event.address) blocks_[begin] = {event.address - begin, whole.segment, whole.list, false};
    if (unmapped_end < end) blocks_[unmapped_end] = {end - unmapped_end, whole.segment, whole.list, false};
    return true;
  }

  bool allocate(const TraceEvent& event) {
    const auto at = blocks_.find(event.address);
    const u64 size = rounded_request(event.size + padding_, settings_);
    if (at == blocks_.end() || at->second.live || at->second.size < size) return false;
    const u64 rest = at->second.size - size;
    const BlockList& list = at->second.list;
    const bool splits = list.name.small || list.expandable
                            ? rest >= min_block
                            : rest > small_size && size < settings_.max_split_size.value_or(~u64{0});
    if (splits) {
      blocks_[event.address + size] = {rest, at->second.segment, list, false};
      at->second.size = size;
    }
    at->second.live = true;
    return true;
  }

  bool release(const TraceEvent& event) {
    const auto at = blocks_.find(event.address);
    if (at == blocks_.end() || !at->second.live) return false;
    at->second.live = false;
    join(at);
    return true;
  }

  /// Joins a free block with its free neighbours.
  void join(Blocks::iterator at) {
    const auto touch = [](Blocks::iterator a, Blocks::iterator b) {
      return !a->second.live && !b->second.live && a->second.segment == b->second.segment &&
             a->first + a->second.size == b->first;
    };
    if (const auto next = std::next(at); next != blocks_.end() && touch(at, next)) {
      at->second.size += next->second.size;
      blocks_.erase(next);
    }
    if (at == blocks_.begin()) return;
    if (const auto before = std::prev(at); touch(before, at)) {
      before->second.size += at->second.size;
      blocks_.erase(at);
    }
  }

  const DeviceSnapshot& device_;
  const SnapshotFile& file_;
  AllocatorSettings settings_;
  u64 padding_;
  Blocks blocks_;
};

bool follow_with_padding(u64 padding, const DeviceSnapshot& device, const SnapshotFile& file, MemoryMoment& moment) {
  LayoutWalk walk(device, file, padding);
  for (u32 i = 0; i < moment.events; ++i)
    if (!walk.step(i)) return false;
  LayoutWalk rest = walk;
  for (u32 i = moment.events; i < device.events.size(); ++i)
    if (!rest.step(i)) return false;
  if (!rest.is_at_end()) return false;
  walk.describe(moment);
  return true;
}

}  // namespace

void follow_layout(const DeviceSnapshot& device, const SnapshotFile& file, MemoryMoment& moment) {
  constexpr u64 npu_padding = 32;  // torch_npu adds it to each request
  if (!follow_with_padding(0, device, file, moment)) follow_with_padding(npu_padding, device, file, moment);
}

}  // namespace oomdoctor
