#include "evidence/allocator_model.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "evidence/allocator_sizes.h"

namespace oomdoctor {
namespace {

using namespace allocator_sizes;

// No device has as much memory. A request always finds room in a range.
constexpr u64 max_request = AllocatorModel::range_size / 2;

}  // namespace

u64 AllocatorModel::rounded(u64 bytes) const {
  const int megabyte_class = static_cast<int>(std::bit_width(bytes)) - 21;  // 0: from 1 MiB on
  const int last_class = static_cast<int>(rules_.roundup_divisions.size()) - 1;
  return rounded_request(bytes,
                         rules_.roundup_divisions[static_cast<std::size_t>(std::clamp(megabyte_class, 0, last_class))]);
}

bool AllocatorModel::allocate(u32 id, u64 bytes, u64 stream, u32 pool) {
  if (bytes > max_request || gave_up()) return false;
  const u64 size = rounded(bytes);
  FreeList& list = list_of(pool, size <= small_size, stream);
  CacheBlock* block = find_best_fit(list, size);
  if (block == nullptr) block = grow(list, size);
  if (block == nullptr && release_oversized(list, size)) block = grow(list, size);
  if (block == nullptr && !list.is_private) {  // a private pool serves a capture, which may not wait for the device
    release_cached();
    block = grow(list, size);
  }
  if (block == nullptr) return false;

  if (should_split(*block, size)) add(cut(block, size));
  block->in_use = true;
  if (id >= live_.size()) live_.resize(id + std::size_t{1});
  live_[id] = block;
  return true;
}

void AllocatorModel::complete_free(u32 id) {
  CacheBlock* block = id < live_.size() ? std::exchange(live_[id], nullptr) : nullptr;
  if (block == nullptr) return;
  block->in_use = false;
  add_merged(block);
}

std::optional<std::pair<u64, u64>> AllocatorModel::place_of(u32 id) const {
  if (id >= live_.size() || live_[id] == nullptr) return std::nullopt;
  return std::pair(live_[id]->address, live_[id]->size);
}

// --- blocks and lists -----------------------------------------------------------------------------------------------

AllocatorModel::FreeList& AllocatorModel::list_of(u32 pool, bool small, u64 stream) {
  const auto [it, added] = lists_.try_emplace({pool, small, stream});
  FreeList& list = it->second;
  if (added) {
    list.page = small ? small_segment : large_segment;
    list.small = small;
    list.is_private = pool != default_pool;
  }
  return list;
}

AllocatorModel::CacheBlock* AllocatorModel::make_block(const CacheBlock& block) {
  if (spare_.empty()) return &blocks_.emplace_back(block);
  CacheBlock* place = spare_.back();
  spare_.pop_back();
  *place = block;
  return place;
}

/// Forgets a block, whose neighbours then are each other's.
void AllocatorModel::drop_block(CacheBlock* block) {
  if (block->before != nullptr) block->before->after = block->after;
  if (block->after != nullptr) block->after->before = block->before;
  spare_.push_back(block);
}

/// Cuts a block after `size` bytes and returns the rear part. The caller adds it to its list.
AllocatorModel::CacheBlock* AllocatorModel::cut(CacheBlock* block, u64 size) {
  CacheBlock* rear = make_block(*block);
  rear->address += size;
  rear->size -= size;
  rear->before = block;
  if (rear->after != nullptr) rear->after->before = rear;
  block->size = size;
  block->after = rear;
  return rear;
}

AllocatorModel::WholePages AllocatorModel::whole_pages(const CacheBlock& block) {
  const u64 page = block.list->page, offset = block.address - *block.range;
  return {*block.range + rounded_up(offset, page), *block.range + (offset + block.size) / page * page};
}

bool AllocatorModel::is_releasable(const CacheBlock& block) {
  if (!block.range) return block.before == nullptr && block.after == nullptr;
  const auto [begin, end] = whole_pages(block);
  return begin < end;
}

void AllocatorModel::add(CacheBlock* block) {
  FreeList& list = *block->list;
  if (!block->mapped) {
    list.unmapped.insert(block);
    return;
  }
  list.blocks.insert(block);
  block->releasable = is_releasable(*block);
  if (block->releasable) list.releasable.insert(block);
}

void AllocatorModel::take(CacheBlock* block) {
  FreeList& list = *block->list;
  if (!block->mapped) {
    list.unmapped.erase(block);
    return;
  }
  list.blocks.erase(block);
  if (block->releasable) list.releasable.erase(block);
}

/// Adds a block to its list, as one with its free neighbours.
void AllocatorModel::add_merged(CacheBlock* block) {
  for (CacheBlock* other : {block->before, block->after}) {
    if (other == nullptr || other->in_use || other->mapped != block->mapped) continue;
    take(other);
    block->address = std::min(block->address, other->address);
    block->size += other->size;
    drop_block(other);
  }
  add(block);
}

// --- malloc ---------------------------------------------------------------------------------------------------------

/// Takes the smallest free block of sufficient size off its list, of equal ones the one of the lowest address.
AllocatorModel::CacheBlock* AllocatorModel::find_best_fit(FreeList& list, u64 size) {
  auto it = list.blocks.lower_bound(size);
  if (it == list.blocks.end()) return nullptr;
  if (rules_.expandable) {
    // A block at the end of a range counts as large as it could grow, so that requests prefer the holes inside.
    const auto room = [](const CacheBlock& b) {
      return b.size + (b.after != nullptr && !b.after->mapped ? b.after->size : 0);
    };
    for (auto next = std::next(it); (*it)->range && next != list.blocks.end() && room(**next) < room(**it);
         ++next, ++visits_)
      it = next;
  }
  CacheBlock* block = *it;
  const u64 limit = rules_.max_split_size;
  if (size < limit ? block->size >= limit : block->size >= size + large_segment) return nullptr;
  take(block);
  return block;
}

AllocatorModel::CacheBlock* AllocatorModel::grow(FreeList& list, u64 size) {
  if (rules_.expandable && (!list.is_private || rules_.expandable_private_pools)) return grow_range(list, size);
  const u64 segment = segment_size(size);
  const std::optional<u64> address = driver_.allocate(segment);
  return address ? make_block({.address = *address, .size = segment, .list = &list}) : nullptr;
}

/// Maps memory after a range until its last free block is large enough. What was mapped before the driver refuses
/// stays in the list.
AllocatorModel::CacheBlock* AllocatorModel::grow_range(FreeList& list, u64 size) {
  CacheBlock* block = find_growing_block(list, size);
  if (block != nullptr && !block->mapped) {
    CacheBlock* start = std::exchange(block, map(block, std::min(block->size, size)));
    if (block == nullptr) drop_empty_range(start);
  }
  while (block != nullptr && block->size < size)
    block = map(block->after, std::min(size - block->size, block->after->size));
  if (block != nullptr) take(block);
  return block;
}

/// The place of the lowest address where mapped free memory and unmapped addresses together have the size.
AllocatorModel::CacheBlock* AllocatorModel::find_growing_block(FreeList& list, u64 size) {
  for (CacheBlock* unmapped : list.unmapped) {
    CacheBlock* first = unmapped->before != nullptr && !unmapped->before->in_use ? unmapped->before : unmapped;
    u64 room = 0;
    for (const CacheBlock* b = first; b != nullptr && !b->in_use && room < size; b = b->after, ++visits_)
      room += b->size;
    if (room >= size) return first;
    if (++visits_ > max_visits) return nullptr;
  }
  return make_range(list);
}

AllocatorModel::CacheBlock* AllocatorModel::make_range(FreeList& list) {
  const std::optional<u64> start = driver_.reserve_range();
  if (!start || *start > std::numeric_limits<u64>::max() - range_size) return nullptr;
  // Ranges of one list do not overlap: the model orders its blocks by their addresses.
  const auto next = list.ranges.lower_bound(*start);
  if (next != list.ranges.end() && *next - *start < range_size) return nullptr;
  if (next != list.ranges.begin() && *start - *std::prev(next) < range_size) return nullptr;
  list.ranges.insert(*start);
  CacheBlock* block =
      make_block({.address = *start, .size = range_size, .list = &list, .range = *start, .mapped = false});
  add(block);
  return block;
}

/// Maps whole pages at the start of an unmapped block, and returns the free block that they are part of.
AllocatorModel::CacheBlock* AllocatorModel::map(CacheBlock* block, u64 size) {
  size = std::min(rounded_up(size, block->list->page), block->size);
  if (!driver_.map(block->address, size)) return nullptr;
  take(block);
  if (size < block->size) add(cut(block, size));
  block->mapped = true;
  add_merged(block);
  return block;
}

bool AllocatorModel::should_split(const CacheBlock& block, u64 size) const {
  const u64 rest = block.size - size;
  if (block.list->small || rules_.expandable) return rest >= min_block;
  return size < rules_.max_split_size && rest > small_size;
}

// --- releases -------------------------------------------------------------------------------------------------------

/// With max_split_size: releases one block that is large enough, or several from the largest on. False if they are not
/// enough together.
bool AllocatorModel::release_oversized(FreeList& list, u64 size) {
  if (rules_.max_split_size == PlacementRules::unlimited) return false;
  const u64 wanted = std::max(size, rules_.max_split_size);
  if (const auto it = list.blocks.lower_bound(wanted); it != list.blocks.end()) {
    if (!is_releasable(**it) || (*it)->range) return false;
    release_segment(*it);
    return true;
  }
  u64 released = 0;
  auto it = list.releasable.end();
  while (released < wanted && it != list.releasable.begin()) {
    CacheBlock* block = *--it;
    if (block->size < rules_.max_split_size) break;
    if (block->range) continue;
    ++it;  // outlives the block
    released += block->size;
    release_segment(block);
  }
  return released >= wanted;
}

void AllocatorModel::release_cached() {
  for (const u32 id : std::exchange(pending_, {})) complete_free(id);
  release_pool(default_pool, false);
  release_pool(default_pool, true);
  for (const u32 pool : released_pools_) {
    release_pool(pool, true);
    release_pool(pool, false);
  }
}

void AllocatorModel::release_segment(CacheBlock* block) {
  take(block);
  driver_.free(block->address, block->size);
  drop_block(block);
}

/// Whole segments of all streams first, then the whole pages of expandable ranges.
void AllocatorModel::release_pool(u32 pool, bool small) {
  std::vector<CacheBlock*> segments, pages;
  for (auto it = lists_.lower_bound({pool, small, 0});
       it != lists_.end() && it->first.pool == pool && it->first.small == small; ++it, ++visits_) {
    for (CacheBlock* block : it->second.releasable) (block->range ? pages : segments).push_back(block);
  }
  for (CacheBlock* block : segments) release_segment(block);
  for (CacheBlock* block : pages) unmap(block);
}

void AllocatorModel::unmap(CacheBlock* block) {
  const auto [begin, end] = whole_pages(*block);
  take(block);
  if (block->address < begin) {
    CacheBlock* front = block;
    block = cut(front, begin - front->address);
    add(front);
  }
  if (end < block->address + block->size) add(cut(block, end - begin));
  block->mapped = false;
  driver_.unmap(block->address, block->size);
  add_merged(block);
  drop_empty_range(block);
}

/// An expandable range without memory is of no more use: the next request gets a new one.
void AllocatorModel::drop_empty_range(CacheBlock* block) {
  if (block->before != nullptr || block->after != nullptr) return;
  take(block);
  block->list->ranges.erase(*block->range);
  drop_block(block);
}

}  // namespace oomdoctor
