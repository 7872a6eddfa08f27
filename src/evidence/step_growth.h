// The steps of a program in its trace, and the lines of code whose memory grows from step to step.
#pragma once

#include <optional>
#include <vector>

#include "evidence/code_lines.h"
#include "evidence/moment.h"

namespace oomdoctor {

/// Where steps begin, as events; the last one may be unfinished. Steps come from the annotations of the optimizer, else
/// from a request that comes back regularly.
struct ProgramSteps {
  std::vector<u32> begins;

  std::size_t whole() const { return begins.empty() ? 0 : begins.size() - 1; }
  /// The number of the step with this event, from 0; nullopt before the first and from the last beginning on.
  std::optional<std::size_t> whole_step_of(u32 event) const;
};

ProgramSteps find_steps(const DeviceSnapshot& device, const MemoryMoment& moment);

struct GrowingLine {
  u32 frame = 0;  ///< of the stack table
  i64 bytes_per_step = 0;
  double blocks_per_step = 0;
  std::size_t first_step = 0;  ///< from 0
};

/// Lines that keep more and more without a sign of an end, most bytes first. Layers of one pass, the first step of an
/// optimizer, a cache that filled and a buffer that turns over are none.
std::vector<GrowingLine> find_growing_lines(const DeviceSnapshot& device, const MemoryMoment& moment,
                                            const ProgramSteps& steps, const CodeLines& lines);

/// The requests of the unfinished last step by what the same stacks requested in the steps before; nullopt if there are
/// too few.
std::optional<double> last_step_ratio(const DeviceSnapshot& device, const MemoryMoment& moment,
                                      const ProgramSteps& steps);

}  // namespace oomdoctor
