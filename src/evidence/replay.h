// The trace of a snapshot, replayed in a model of the allocator: would the failed request have fit under other
// settings? The answer is worth something only if the model is right about this program. So the trace is first replayed
// under its own settings, and must give its own addresses, segments and final blocks. One difference, and there is no
// answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/snapshot.h"

namespace oomdoctor {

/// The settings that are tried, as PYTORCH_CUDA_ALLOC_CONF has them.
namespace what_if {
inline constexpr std::string_view expandable = "expandable_segments:True", max_split = "max_split_size_mb:128",
                                  roundup = "roundup_power2_divisions:4";
}

/// The same requests under one setting, with everything else off.
struct WhatIf {
  std::string_view setting;  ///< "default", or one of what_if
  std::optional<bool> fits;  ///< the trace and the failed request succeed; absent without a failed request
  u64 peak_reserved = 0;     ///< the largest sum of all segments, those of a failed try included
};

struct WhatIfs {
  std::vector<WhatIf> settings;  ///< empty if unavailable
  std::string unavailable;       ///< why, as a clause
};

/// Replays the trace of a device up to its event `oom`, in the memory that was then there for the allocator: what it
/// had reserved and what the device had free. Without `oom` it replays the whole trace, in unlimited memory. New
/// segments get ever higher addresses. A request that failed earlier in the trace is tried, and freed if it fits.
WhatIfs replay_other_settings(const SnapshotFile& file, const DeviceSnapshot& device, std::optional<std::size_t> oom);

}  // namespace oomdoctor
