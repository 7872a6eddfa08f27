// What the pictures of a snapshot show: live memory over the trace, and where the blocks are. A trace of a million
// events and a map of 10^5 blocks become some thousand numbers.
#pragma once

#include <optional>

#include "evidence/code_lines.h"
#include "evidence/moment.h"
#include "evidence/tensor_kinds.h"

namespace oomdoctor {

/// Live memory by line of code; nullopt if the trace is too short or shows none. Memory that the trace frees but never
/// allocates was there from the beginning.
std::optional<ReportLiveMemory> draw_live_memory(const DeviceSnapshot& device, const MemoryMoment& moment,
                                                 const CodeLines& lines, const TensorKinds& kinds);

/// What the map marks.
struct MapMarks {
  std::optional<BlockListName> list;        ///< of the refused request
  u64 request = 0;                          ///< its size
  u32 pinning_frame = CodeLines::no_frame;  ///< a line whose blocks keep free memory of that list in pieces
};

/// nullopt if the layout is unknown.
std::optional<ReportMemoryMap> draw_memory_map(const MemoryMoment& moment, const CodeLines& lines,
                                               const MapMarks& marks);

}  // namespace oomdoctor
