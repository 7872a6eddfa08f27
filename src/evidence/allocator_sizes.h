// The sizes of the caching allocator: what it makes of a request, and what it asks the driver for. Source:
// c10/cuda/CUDACachingAllocator.cpp.
#pragma once

#include "evidence/snapshot.h"

namespace oomdoctor::allocator_sizes {

inline constexpr u64 min_block = 512;
inline constexpr u64 small_size = 1 * MiB;          // requests up to here are of the small pool
inline constexpr u64 small_segment = 2 * MiB;       // its segments, its pages, and the unit of all large segments
inline constexpr u64 large_segment = 20 * MiB;      // segments and pages of the large pool
inline constexpr u64 min_large_request = 10 * MiB;  // from here on a segment is as large as its request

constexpr u64 rounded_up(u64 size, u64 unit) { return (size + unit - 1) / unit * unit; }

/// The size of the block for a request. `divisions` are the steps between two powers of two for requests of this size;
/// with 0 or 1, it is a multiple of min_block.
u64 rounded_request(u64 bytes, u64 divisions);
u64 rounded_request(u64 bytes, const AllocatorSettings& settings);
/// The segment for a rounded request that no block fits; logs print this size.
u64 segment_size(u64 rounded);

}  // namespace oomdoctor::allocator_sizes
