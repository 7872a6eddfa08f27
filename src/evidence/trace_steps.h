// The calls of the program that a trace shows, without addresses: what to replay. The segment events between the calls
// are the allocator's own work, except for torch.cuda.empty_cache().
//
// Two things look alike: a free that is complete at once, and one that waits for a stream until the very next request
// is refused and waits for all streams. It counts as the first, which is far more common. Where that is wrong and the
// request would have fit into the freed block, the replay differs from the trace, and so has no answer.
#pragma once

#include <string>
#include <vector>

#include "evidence/snapshot.h"

namespace oomdoctor {

enum class StepKind : unsigned char {
  allocate,
  fail,           ///< an allocation that ran out of memory
  free,           ///< which is complete at once
  request_free,   ///< which waits for other streams
  complete_free,  ///< of such a request
  release_cached,
  allow_release,  ///< the graph of a private pool is gone
};

/// One call of the program, or the end of a free.
struct TraceStep {
  StepKind kind = StepKind::allocate;
  u32 event = 0;  ///< of the trace; of release_cached its last one
  u32 id = 0;     ///< the number of the allocation
  u32 pool = 0;   ///< of allocate, fail and allow_release; 0 is the default pool
};

struct TraceSteps {
  std::vector<TraceStep> steps;
  std::string gap;  ///< what the trace does not show; "" if it shows every allocation from the first one on
};
TraceSteps trace_steps_of(const SnapshotFile& file, const DeviceSnapshot& device);

/// Events that take segments from the driver, or return them.
constexpr bool is_segment_event(TraceAction a) {
  return a == TraceAction::segment_alloc || a == TraceAction::segment_free || a == TraceAction::segment_map ||
         a == TraceAction::segment_unmap;
}
constexpr bool is_release(TraceAction a) { return a == TraceAction::segment_free || a == TraceAction::segment_unmap; }

}  // namespace oomdoctor
