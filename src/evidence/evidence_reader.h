// Inputs that are evidence and no text: allocator snapshots. Their content decides, not their name.
#pragma once

#include <optional>
#include <string_view>

#include "model/scan_result.h"
#include "text/source.h"

namespace oomdoctor {

/// True if the first bytes of an unpacked input are those of a snapshot, or of another pickle or checkpoint that
/// someone may take for one.
bool is_evidence(std::string_view first);
/// True only for those that look like a snapshot: in a folder, other pickles are not evidence.
bool is_snapshot(std::string_view first);

/// Reads such an input to its end. What is not a snapshot, or a damaged one, gives a note and nothing else. Throws
/// Error if reading itself fails.
ScanResult read_evidence(Source& source);

}  // namespace oomdoctor
