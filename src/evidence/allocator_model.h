// PyTorch's caching allocator (its native backend) as a model: it places blocks, splits and merges them, and returns
// cached memory as the allocator does, but has no memory. c10/cuda/CUDACachingAllocator.cpp is the source of every
// rule here. The model leaves out what a snapshot cannot show: garbage collection by age, events of streams (the caller
// completes a free), and allocators of a user's own.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "evidence/snapshot.h"

namespace oomdoctor {

/// The settings that change where the allocator places a block. As declared here, everything is off.
struct PlacementRules {
  static constexpr u64 unlimited = std::numeric_limits<u64>::max();

  u64 max_split_size = unlimited;
  std::array<u64, 16> roundup_divisions{};  ///< of requests from 1, 2, 4, … 32768 MiB; 0 or 1 is off
  bool expandable = false;
  bool expandable_private_pools = true;  ///< older releases use plain segments there
};

/// The side of the driver: it grants memory or refuses it.
class MemoryDriver {
 public:
  MemoryDriver() = default;
  MemoryDriver(const MemoryDriver&) = delete;
  MemoryDriver& operator=(const MemoryDriver&) = delete;
  virtual ~MemoryDriver() = default;

  /// The address of a new segment; nullopt if the driver refuses.
  virtual std::optional<u64> allocate(u64 size) = 0;
  virtual void free(u64 address, u64 size) = 0;
  /// The first address of a new expandable range, which has no memory yet; nullopt if there is no room.
  virtual std::optional<u64> reserve_range() = 0;
  /// Whether the driver puts memory after this part of a range.
  virtual bool map(u64 address, u64 size) = 0;
  virtual void unmap(u64 address, u64 size) = 0;
};

/// One device's allocator. The caller numbers the allocations from 0; a request that fails has a number as well.
class AllocatorModel {
 public:
  static constexpr u32 default_pool = 0;  ///< other pools are private: a graph's, or a torch.cuda.MemPool's
  /// The addresses of an expandable range, far beyond the memory of any device.
  static constexpr u64 range_size = u64{1} << 44;

  AllocatorModel(const PlacementRules& rules, MemoryDriver& driver) : rules_(rules), driver_(driver) {}

  /// malloc. False: the driver refused, also after the allocator released what it could.
  bool allocate(u32 id, u64 bytes, u64 stream, u32 pool);
  /// free() by the program, while other streams still use the block. Nothing of it is free before complete_free() or a
  /// release of the cache, which waits for the streams.
  void request_free(u32 id) { pending_.push_back(id); }
  /// The end of a free. Does nothing if a release of the cache completed it before.
  void complete_free(u32 id);
  /// torch.cuda.empty_cache(), which the allocator also does before a request fails.
  void release_cached();
  /// The graph of a private pool is gone: release_cached() includes the pool from now on.
  void allow_release(u32 pool) { released_pools_.push_back(pool); }

  /// The address and size of a live block.
  std::optional<std::pair<u64, u64>> place_of(u32 id) const;
  /// Whether a search for addresses took so long that the model stopped: every request fails from then on.
  bool gave_up() const { return visits_ > max_visits; }

 private:
  struct FreeList;
  struct CacheBlock {
    u64 address = 0, size = 0;
    CacheBlock *before = nullptr, *after = nullptr;  ///< the neighbours in its segment or range
    FreeList* list = nullptr;                        ///< where it is while it is free
    std::optional<u64> range = {};                   ///< the start of its expandable range
    bool mapped = true, in_use = false;
    bool releasable = false;  ///< it is in that set of its list
  };
  struct BySize {
    using is_transparent = void;
    bool operator()(const CacheBlock* a, const CacheBlock* b) const {
      return a->size != b->size ? a->size < b->size : a->address < b->address;
    }
    bool operator()(const CacheBlock* a, u64 size) const { return a->size < size; }
  };
  struct ByAddress {
    bool operator()(const CacheBlock* a, const CacheBlock* b) const { return a->address < b->address; }
  };
  /// The free blocks that may serve each other's requests.
  struct FreeList {
    u64 page = 0;  ///< what an expandable range grows by
    bool small = false, is_private = false;
    std::set<CacheBlock*, BySize> blocks;
    std::set<CacheBlock*, BySize> releasable;  ///< those of them with memory that can return to the driver
    std::set<CacheBlock*, ByAddress> unmapped;
    std::set<u64> ranges;  ///< their starts
  };
  /// The part of an expandable block that can return to the driver: whole pages.
  struct WholePages {
    u64 begin = 0, end = 0;
  };

  u64 rounded(u64 bytes) const;
  FreeList& list_of(u32 pool, bool small, u64 stream);
  CacheBlock* make_block(const CacheBlock& block);
  void drop_block(CacheBlock* block);
  CacheBlock* cut(CacheBlock* block, u64 size);
  static WholePages whole_pages(const CacheBlock& block);
  static bool is_releasable(const CacheBlock& block);
  void add(CacheBlock* block);
  void take(CacheBlock* block);
  void add_merged(CacheBlock* block);

  CacheBlock* find_best_fit(FreeList& list, u64 size);
  CacheBlock* grow(FreeList& list, u64 size);
  CacheBlock* grow_range(FreeList& list, u64 size);
  CacheBlock* find_growing_block(FreeList& list, u64 size);
  CacheBlock* make_range(FreeList& list);
  CacheBlock* map(CacheBlock* block, u64 size);
  bool should_split(const CacheBlock& block, u64 size) const;

  bool release_oversized(FreeList& list, u64 size);
  void release_segment(CacheBlock* block);
  void release_pool(u32 pool, bool small);
  void unmap(CacheBlock* block);
  void drop_empty_range(CacheBlock* block);

  struct ListKey {
    u32 pool = 0;
    bool small = false;
    u64 stream = 0;
    friend auto operator<=>(const ListKey&, const ListKey&) = default;
  };

  /// Real programs need some thousand visits; a made-up trace may ask for 10^12 of them.
  static constexpr u64 max_visits = 100'000'000;

  PlacementRules rules_;
  MemoryDriver& driver_;
  std::map<ListKey, FreeList> lists_;
  std::deque<CacheBlock> blocks_;
  std::vector<CacheBlock*> spare_;  ///< of blocks_, not in use
  std::vector<CacheBlock*> live_;   ///< by the number of the allocation
  std::vector<u32> pending_;        ///< requested frees, in their order; some are complete
  std::vector<u32> released_pools_;
  u64 visits_ = 0;  ///< of blocks and lists, in searches that are longer than O(log n)
};

}  // namespace oomdoctor
