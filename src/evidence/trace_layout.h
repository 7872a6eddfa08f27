// The segments and free blocks at an event, by following the trace from an empty allocator: the addresses say which
// free block each request took, and the allocator's rules how much of it. The result counts only if the same walk to
// the end of the trace gives the blocks of the file.
#pragma once

#include "evidence/moment.h"

namespace oomdoctor {

/// Fills the layout of the moment, and the sizes of its live blocks; leaves it unknown if the trace began later, or
/// does not lead to the blocks of the file.
void follow_layout(const DeviceSnapshot& device, const SnapshotFile& file, MemoryMoment& moment);

/// The size of the block that the allocator makes of a request.
u64 rounded_request(u64 request, const AllocatorSettings& settings);
/// What it asks the driver for when no block fits; logs print this size.
u64 segment_of_request(u64 rounded);
/// Up to this rounded size a request is served by the small pool.
inline constexpr u64 largest_small_request = u64{1} << 20;

}  // namespace oomdoctor
