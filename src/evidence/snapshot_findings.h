// What a snapshot shows, device by device: from its data to the numbers of the report.
#pragma once

#include <vector>

#include "evidence/snapshot.h"
#include "model/memory_snapshot.h"

namespace oomdoctor {

/// One for each device of the file, in their order.
std::vector<MemorySnapshot> analyse_snapshot(const SnapshotFile& file);

}  // namespace oomdoctor
