// The segments and free blocks at an event, by following the trace from an empty allocator: the addresses say which
// free block each request took, and the allocator's rules how much of it. The result counts only if the same walk to
// the end of the trace gives the blocks of the file.
#pragma once

#include "evidence/moment.h"

namespace oomdoctor {

/// Fills the layout of the moment, and the sizes of its live blocks; leaves it unknown if the trace began later, or
/// does not lead to the blocks of the file.
void follow_layout(const DeviceSnapshot& device, const SnapshotFile& file, MemoryMoment& moment);

}  // namespace oomdoctor
