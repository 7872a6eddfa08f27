// A simulator of PyTorch's caching allocator for one device, which records what it does as a snapshot. It is the truth
// for tests of everything that reads snapshots, so it shares nothing with src/evidence/allocator_model.h: segments are
// plain vectors of blocks, and every search looks at all of them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "evidence/snapshot.h"

namespace oomdoctor::testing {

struct SimulatedSettings {
  u64 max_split = 0;  ///< 0: unlimited
  u64 roundup = 0;    ///< divisions of every class
  bool expandable = false;
};

/// A call of the program, by the number of the allocation.
struct SimulatedCall {
  enum class What { allocate, fail, free, start_free, finish_free, empty_cache, abandon } what = What::allocate;
  std::size_t id = 0;
  u64 bytes = 0, stream = 0;
  PoolName pool = {};
};

class SimulatedAllocator {
 public:
  static constexpr u64 MB = 1 << 20, unlimited = u64{1} << 60;
  static constexpr PoolName default_pool = {0, 0};

  /// `capacity`: what this process may take of the device.
  explicit SimulatedAllocator(SimulatedSettings settings = {}, u64 capacity = unlimited, bool reuse_addresses = true)
      : settings_(settings), capacity_(capacity), reuse_(reuse_addresses) {}

  /// False: out of memory, which is recorded. `id`: a new number for each allocation.
  bool allocate(std::size_t id, u64 bytes, u64 stream = 0, PoolName pool = default_pool, StackId stack = 1) {
    const u64 size = rounded(bytes);
    const bool small = size <= MB;
    finished_.clear();
    std::optional<Place> place = best_fit(pool, small, stream, size);
    if (!place) place = grow(pool, small, stream, size, stack);
    if (!place && settings_.max_split != 0 && release_oversized(pool, small, stream, size, stack))
      place = grow(pool, small, stream, size, stack);
    if (!place && pool == default_pool) {
      release_all(stack);
      place = grow(pool, small, stream, size, stack);
    }
    if (!place) {
      calls_.push_back({SimulatedCall::What::fail, id, size, stream, pool});
      log_finished();
      record(TraceAction::oom, capacity_ - reserved_, size, stream, stack, pool);
      return false;
    }
    SimulatedSegment& segment = segments_[place->segment];
    SimulatedBlock& block = segment.blocks[place->block];
    const u64 rest = block.size - size;
    const bool splits = small || settings_.expandable
                            ? rest >= 512
                            : rest > MB && (settings_.max_split == 0 || size < settings_.max_split);
    const u64 address = block.address;
    block.state = State::used;
    block.id = id;
    block.requested = bytes;
    block.stack = stack;
    if (splits) {
      block.size = size;
      segment.blocks.insert(segment.blocks.begin() + static_cast<std::ptrdiff_t>(place->block) + 1,
                            SimulatedBlock{address + size, rest});
    }
    record(TraceAction::alloc, address, bytes, stream, stack, pool);
    calls_.push_back({SimulatedCall::What::allocate, id, bytes, stream, pool});
    log_finished();
    return true;
  }

  void free(std::size_t id, StackId stack = 2) {
    request_free(id, stack);
    complete_free(id, stack);
    calls_.push_back({SimulatedCall::What::free, id});
  }

  /// free() of memory that another stream still uses.
  void start_free(std::size_t id, StackId stack = 2) {
    request_free(id, stack);
    pending_.push_back(id);
    calls_.push_back({SimulatedCall::What::start_free, id});
  }

  /// The other stream is done with it, unless the allocator waited for it before.
  void finish_free(std::size_t id) {
    const auto it = std::find(pending_.begin(), pending_.end(), id);
    if (it == pending_.end()) return;
    pending_.erase(it);
    complete_free(id, 2);
    calls_.push_back({SimulatedCall::What::finish_free, id});
  }

  void empty_cache(StackId stack = no_stack) {
    const u64 before = reserved_;
    finished_.clear();
    release_all(stack);
    log_finished();
    if (reserved_ != before) calls_.push_back({SimulatedCall::What::empty_cache});  // else it leaves no trace
  }

  /// The graph of a private pool is gone.
  void abandon(PoolName pool) {
    if (std::find(abandoned_.begin(), abandoned_.end(), pool) == abandoned_.end()) abandoned_.push_back(pool);
  }

  u64 peak() const { return peak_; }
  const std::vector<SimulatedCall>& calls() const { return calls_; }

  /// `names_pools`: events name their pool, as from torch 2.12 on.
  SnapshotFile snapshot(bool names_pools = false) const {
    SnapshotFile file;
    file.settings.emplace();
    if (settings_.max_split != 0) file.settings->max_split_size = settings_.max_split;
    file.settings->expandable_segments = settings_.expandable;
    for (u64 megabytes = 1; megabytes <= 32768; megabytes *= 2)
      file.settings->roundup_power2_divisions[megabytes] = settings_.roundup;
    file.pools = pools_;
    DeviceSnapshot& device = file.devices.emplace_back();
    device.events = events_;
    if (!names_pools) {
      for (TraceEvent& e : device.events) e.pool = TraceEvent::no_pool;
    }
    for (const SimulatedSegment& segment : segments_) {
      bool open = false;  // an expandable range gives one segment for each part with memory
      for (const SimulatedBlock& block : segment.blocks) {
        if (block.state == State::unmapped) {
          open = false;
          continue;
        }
        if (!open) {
          DeviceSegment& s = device.segments.emplace_back();
          s.address = block.address;
          s.stream = segment.stream;
          s.small = segment.small;
          s.expandable = segment.page != 0;
          s.pool = segment.pool;
          s.first_block = static_cast<u32>(device.blocks.size());
          open = true;
        }
        DeviceBlock& b = device.blocks.emplace_back();
        b.address = block.address;
        b.size = block.size;
        b.state = block.state == State::free ? BlockState::inactive
                  : std::find(pending_.begin(), pending_.end(), block.id) != pending_.end()
                      ? BlockState::active_pending_free
                      : BlockState::active_allocated;
        if (block.state != State::free) {
          b.requested = block.requested;
          b.stack = block.stack;
        }
        device.segments.back().size += block.size;
        ++device.segments.back().blocks;
      }
    }
    std::sort(device.segments.begin(), device.segments.end(),
              [](const DeviceSegment& a, const DeviceSegment& b) { return a.address < b.address; });
    return file;
  }

 private:
  enum class State { free, used, unmapped };
  struct SimulatedBlock {
    u64 address = 0, size = 0, requested = 0;
    State state = State::free;
    std::size_t id = 0;
    StackId stack = no_stack;
  };
  /// A segment of the driver, or with a page size an expandable range.
  struct SimulatedSegment {
    PoolName pool;
    bool small = false;
    u64 stream = 0, page = 0;
    std::vector<SimulatedBlock> blocks;  ///< by address, without gaps; no two free or unmapped ones in a row
  };
  struct Place {
    std::size_t segment = 0, block = 0;
  };

  u64 rounded(u64 bytes) const {
    if (bytes < 512) return 512;
    if (settings_.roundup > 1 && bytes > 512 * settings_.roundup) {
      u64 power = 512;
      while (power * 2 <= bytes) power *= 2;
      u64 size = power;
      while (size < bytes) size += power / settings_.roundup;
      return size;
    }
    return (bytes + 511) / 512 * 512;
  }

  void record(TraceAction action, u64 address, u64 size, u64 stream, StackId stack, PoolName pool) {
    TraceEvent e;
    e.action = action;
    e.address = address;
    e.size = size;
    e.stream = stream;
    e.stack = stack;
    auto it = std::find(pools_.begin(), pools_.end(), pool);
    if (it == pools_.end()) it = pools_.insert(it, pool);
    e.pool = static_cast<u32>(it - pools_.begin());
    events_.push_back(e);
  }

  /// All free blocks of a pool, by stream, size and address.
  std::vector<Place> free_blocks(PoolName pool, bool small, std::optional<u64> stream = {}) const {
    std::vector<Place> places;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      if (segments_[s].pool != pool || segments_[s].small != small || (stream && segments_[s].stream != *stream))
        continue;
      for (std::size_t b = 0; b < segments_[s].blocks.size(); ++b)
        if (segments_[s].blocks[b].state == State::free) places.push_back({s, b});
    }
    const auto key = [&](Place p) {
      const SimulatedBlock& b = segments_[p.segment].blocks[p.block];
      return std::tuple(segments_[p.segment].stream, b.size, b.address);
    };
    std::sort(places.begin(), places.end(), [&](Place a, Place b) { return key(a) < key(b); });
    return places;
  }

  u64 room(Place p) const {
    const std::vector<SimulatedBlock>& blocks = segments_[p.segment].blocks;
    const bool grows = p.block + 1 < blocks.size() && blocks[p.block + 1].state == State::unmapped;
    return blocks[p.block].size + (grows ? blocks[p.block + 1].size : 0);
  }

  std::optional<Place> best_fit(PoolName pool, bool small, u64 stream, u64 size) const {
    std::vector<Place> places = free_blocks(pool, small, stream);
    const auto size_at = [&](Place p) { return segments_[p.segment].blocks[p.block].size; };
    std::erase_if(places, [&](Place p) { return size_at(p) < size; });
    if (places.empty()) return std::nullopt;
    std::size_t best = 0;
    while (settings_.expandable && best + 1 < places.size() && room(places[best + 1]) < room(places[best])) ++best;
    const u64 found = size_at(places[best]), limit = settings_.max_split;
    if (limit != 0 && (size < limit ? found >= limit : found >= size + 20 * MB)) return std::nullopt;
    return places[best];
  }

  bool take(u64 size) {
    if (reserved_ + size > capacity_) return false;
    reserved_ += size;
    peak_ = std::max(peak_, reserved_);
    return true;
  }

  std::optional<Place> grow(PoolName pool, bool small, u64 stream, u64 size, StackId stack) {
    if (settings_.expandable) return grow_range(pool, small, stream, size, stack);
    const u64 bytes = small ? 2 * MB : size < 10 * MB ? 20 * MB : (size + 2 * MB - 1) / (2 * MB) * (2 * MB);
    if (!take(bytes)) return std::nullopt;
    u64 address = top_;
    std::vector<u64>& holes = holes_[bytes];
    if (reuse_ && !holes.empty()) {
      address = holes.back();
      holes.pop_back();
    } else {
      top_ += bytes;
    }
    segments_.push_back({pool, small, stream, 0, {{address, bytes}}});
    record(TraceAction::segment_alloc, address, bytes, stream, stack, pool);
    return Place{segments_.size() - 1, 0};
  }

  std::optional<Place> grow_range(PoolName pool, bool small, u64 stream, u64 size, StackId stack) {
    std::optional<Place> start;
    for (std::size_t s = 0; s < segments_.size() && !start; ++s) {
      const std::vector<SimulatedBlock>& blocks = segments_[s].blocks;
      if (segments_[s].pool != pool || segments_[s].small != small || segments_[s].stream != stream) continue;
      for (std::size_t b = 0; b < blocks.size() && !start; ++b) {
        if (blocks[b].state != State::unmapped) continue;
        const std::size_t first = b > 0 && blocks[b - 1].state == State::free ? b - 1 : b;
        u64 found = 0;
        for (std::size_t i = first; i < blocks.size() && blocks[i].state != State::used; ++i) found += blocks[i].size;
        if (found >= size) start = Place{s, first};
      }
    }
    if (!start) {
      segments_.push_back({pool, small, stream, small ? 2 * MB : 20 * MB, {{top_, range}}});
      segments_.back().blocks[0].state = State::unmapped;
      top_ += 2 * range;
      start = Place{segments_.size() - 1, 0};
    }
    SimulatedSegment& segment = segments_[start->segment];
    const u64 address = segment.blocks[start->block].address;
    const auto is_enough = [&](std::size_t b) {
      return segment.blocks[b].state == State::free && segment.blocks[b].size >= size;
    };
    std::size_t at = start->block;
    while (!is_enough(at)) {
      const bool is_free = segment.blocks[at].state == State::free;
      const std::size_t next = is_free ? at + 1 : at;
      const u64 missing = is_free ? size - segment.blocks[at].size : size;
      if (!map(segment, next, std::min(missing, segment.blocks[next].size), stack)) {
        drop_if_unmapped(start->segment);
        return std::nullopt;
      }
      at = 0;
      while (segment.blocks[at].address + segment.blocks[at].size <= address) ++at;
    }
    return Place{start->segment, at};
  }

  bool map(SimulatedSegment& segment, std::size_t b, u64 wanted, StackId stack) {
    const u64 size = std::min((wanted + segment.page - 1) / segment.page * segment.page, segment.blocks[b].size);
    if (!take(size)) return false;
    record(TraceAction::segment_map, segment.blocks[b].address, size, segment.stream, stack, segment.pool);
    set_state(segment, segment.blocks[b].address, size, State::free);
    return true;
  }

  /// Sets the state of a part of one block.
  static void set_state(SimulatedSegment& segment, u64 address, u64 size, State state) {
    std::vector<SimulatedBlock> blocks;
    for (const SimulatedBlock& b : segment.blocks) {
      if (address < b.address || address >= b.address + b.size) {
        blocks.push_back(b);
        continue;
      }
      SimulatedBlock front = b, part = b, rear = b;
      front.size = address - b.address;
      part.address = address;
      part.size = size;
      part.state = state;
      rear.address = address + size;
      rear.size = b.size - front.size - size;
      for (const SimulatedBlock& piece : {front, part, rear})
        if (piece.size > 0) blocks.push_back(piece);
    }
    segment.blocks = blocks;
    merge(segment);
  }

  static void merge(SimulatedSegment& segment) {
    std::vector<SimulatedBlock> blocks;
    for (const SimulatedBlock& b : segment.blocks) {
      if (!blocks.empty() && blocks.back().state == b.state && b.state != State::used)
        blocks.back().size += b.size;
      else
        blocks.push_back(b);
    }
    segment.blocks = blocks;
  }

  void drop_if_unmapped(std::size_t s) {
    if (segments_[s].page != 0 && segments_[s].blocks.size() == 1 && segments_[s].blocks[0].state == State::unmapped)
      segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(s));
  }

  const SimulatedBlock& found(std::size_t id) const {
    for (const SimulatedSegment& s : segments_)
      for (const SimulatedBlock& b : s.blocks)
        if (b.state == State::used && b.id == id) return b;
    throw std::logic_error("no such allocation");
  }

  SimulatedSegment& segment_of(std::size_t id) {
    const u64 address = found(id).address;
    for (SimulatedSegment& s : segments_)
      if (s.blocks.front().address <= address && address < s.blocks.back().address + s.blocks.back().size) return s;
    throw std::logic_error("no such allocation");
  }

  void request_free(std::size_t id, StackId stack) {
    const SimulatedBlock block = found(id);
    const SimulatedSegment& segment = segment_of(id);
    record(TraceAction::free_requested, block.address, block.requested, segment.stream, stack, segment.pool);
  }

  void complete_free(std::size_t id, StackId stack) {
    SimulatedSegment& segment = segment_of(id);
    for (SimulatedBlock& b : segment.blocks) {
      if (b.state != State::used || b.id != id) continue;
      record(TraceAction::free_completed, b.address, b.requested, segment.stream, stack, segment.pool);
      b.state = State::free;
    }
    merge(segment);
  }

  void log_finished() {
    for (const std::size_t id : finished_) calls_.push_back({SimulatedCall::What::finish_free, id});
    finished_.clear();
  }

  void release(std::size_t s, StackId stack) {
    const SimulatedSegment segment = segments_[s];
    const SimulatedBlock& block = segment.blocks[0];
    record(TraceAction::segment_free, block.address, block.size, segment.stream, stack, segment.pool);
    reserved_ -= block.size;
    holes_[block.size].push_back(block.address);
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(s));
  }

  bool is_whole(Place p) const { return segments_[p.segment].page == 0 && segments_[p.segment].blocks.size() == 1; }

  bool release_oversized(PoolName pool, bool small, u64 stream, u64 size, StackId stack) {
    const u64 wanted = std::max(size, settings_.max_split);
    const std::vector<Place> places = free_blocks(pool, small, stream);
    const auto size_at = [&](Place p) { return segments_[p.segment].blocks[p.block].size; };
    for (const Place p : places) {
      if (size_at(p) < wanted) continue;
      if (!is_whole(p)) return false;
      release(p.segment, stack);
      return true;
    }
    u64 released = 0;
    std::vector<u64> addresses;
    for (auto it = places.rbegin(); it != places.rend() && released < wanted; ++it) {
      if (size_at(*it) < settings_.max_split) break;
      if (segments_[it->segment].page != 0) continue;
      released += size_at(*it);
      addresses.push_back(segments_[it->segment].blocks[0].address);
    }
    for (const u64 address : addresses) release(segment_at(address), stack);
    return released >= wanted;
  }

  std::size_t segment_at(u64 address) const {
    for (std::size_t s = 0; s < segments_.size(); ++s)
      for (const SimulatedBlock& b : segments_[s].blocks)
        if (b.address == address) return s;
    throw std::logic_error("no such block");
  }

  void release_all(StackId stack) {
    for (const std::size_t id : pending_) {
      complete_free(id, 2);
      finished_.push_back(id);
    }
    pending_.clear();
    release_pool(default_pool, false, stack);
    release_pool(default_pool, true, stack);
    for (const PoolName& pool : abandoned_) {
      const u64 before = reserved_;
      release_pool(pool, true, stack);
      release_pool(pool, false, stack);
      if (reserved_ != before) calls_.push_back({SimulatedCall::What::abandon, 0, 0, 0, pool});  // a trace shows it now
    }
  }

  void release_pool(PoolName pool, bool small, StackId stack) {
    std::vector<u64> whole, ranges;
    for (const Place p : free_blocks(pool, small)) {
      const u64 address = segments_[p.segment].blocks[p.block].address;
      if (segments_[p.segment].page != 0)
        ranges.push_back(address);
      else if (is_whole(p))
        whole.push_back(address);
    }
    for (const u64 address : whole) release(segment_at(address), stack);
    for (const u64 address : ranges) unmap(segment_at(address), address, stack);
  }

  void unmap(std::size_t s, u64 address, StackId stack) {
    SimulatedSegment& segment = segments_[s];
    const u64 base = segment.blocks[0].address, page = segment.page;
    const auto block = std::find_if(segment.blocks.begin(), segment.blocks.end(),
                                    [&](const SimulatedBlock& b) { return b.address == address; });
    const u64 begin = base + (address - base + page - 1) / page * page;
    const u64 end = base + (address + block->size - base) / page * page;
    if (begin >= end) return;
    reserved_ -= end - begin;
    record(TraceAction::segment_unmap, begin, end - begin, segment.stream, stack, segment.pool);
    set_state(segment, begin, end - begin, State::unmapped);
    drop_if_unmapped(s);
  }

  static constexpr u64 range = u64{1} << 42;

  SimulatedSettings settings_;
  u64 capacity_;
  bool reuse_;
  std::vector<SimulatedSegment> segments_;
  std::vector<TraceEvent> events_;
  std::vector<PoolName> pools_;
  std::vector<SimulatedCall> calls_;
  std::vector<std::size_t> pending_, finished_;
  std::vector<PoolName> abandoned_;
  std::map<u64, std::vector<u64>> holes_;
  u64 reserved_ = 0, peak_ = 0, top_ = u64{1} << 40;
};

}  // namespace oomdoctor::testing
