// Joins allocator snapshots with the failures that logs print, and with each other.
#pragma once

#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// Sets MemorySnapshot::joined of each snapshot whose refused request a log prints: the size that PyTorch prints is
/// that of the request's segment. A request of another device or time is another one.
void join_snapshots(ScanResult& result);

/// The failure that a snapshot shows, which no log prints.
Incident make_incident(const MemorySnapshot& snapshot);

/// Sets the growth from each snapshot without a trace to the next one of the same device: a line grows if all its
/// blocks of the earlier one are still there, and more.
void compare_snapshots(std::vector<MemorySnapshot>& snapshots);

}  // namespace oomdoctor
