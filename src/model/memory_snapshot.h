// What an allocator snapshot shows of one device, and what other stages need to join it with logs and other snapshots.
// A snapshot of a gigabyte becomes a row for each line of code that holds memory; without a trace, also its live
// blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/enum_names.h"
#include "model/event.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

template <>
inline constexpr auto enum_names<DrawnBlock> = names_up_to<DrawnBlock::pinner>("live", "pending", "free", "pinner");
template <>
inline constexpr auto enum_names<SnapshotFailure> = snapshot_failure_names;

/// A request that the allocator refused, as the trace records it.
struct RefusedRequest {
  i64 event = 0;
  std::optional<double> time;  ///< seconds since 1970
  i64 size = 0;                ///< rounded up, as the trace has it
  i64 segment = 0;             ///< what the allocator asked the driver for: logs print this size
  std::optional<i64> device_free;
  std::vector<Frame> frames;  ///< of Python, outermost first
  bool in_backward = false;   ///< the autograd engine asked, in a thread without Python frames
  bool in_load = false;       ///< a module was moved or loaded
  bool in_optimizer_init = false;
  bool loads_checkpoint = false;
  bool handled = false;  ///< the program continued
};

/// Shares of the live bytes and the refused request together, from 0 to 1.
struct SnapshotShares {
  double states = 0;      ///< parameters, gradients, optimizer states: of the live bytes alone
  double cache = 0;       ///< key-value cache
  double evaluation = 0;  ///< requested below a function that evaluates
  double logits = 0;      ///< requested by the loss or for the logits
  double request = 0;
};

/// The bounds of what a report keeps for its pictures.
struct SnapshotPictures {
  static constexpr std::size_t points = 600;      ///< of a curve: two for three pixels of a page
  static constexpr std::size_t curves = 9;        ///< that a reader can tell apart
  static constexpr std::size_t rows = 16;         ///< of the map
  static constexpr std::size_t dots = 360;        ///< of a row: one pixel on a phone, two on a screen
  static constexpr std::size_t lists = 4;         ///< of blocks; the others are some megabytes
  static constexpr std::size_t pieces = 1 << 15;  ///< more than all dots, borders of segments and large blocks
};

/// Far more lines of code than a program has that allocate.
inline constexpr std::size_t most_code_lines = 1 << 20;

/// A live block of a snapshot without a trace, to find it again in a later one.
struct KeptBlock {
  std::uint64_t address = 0, size = 0;
  std::size_t holder = 0;  ///< index into ReportSnapshot::holders

  friend auto operator<=>(const KeptBlock&, const KeptBlock&) = default;
};

struct MemorySnapshot {
  int source = 0;  ///< index into ScanResult::inputs
  ReportSnapshot report;
  std::optional<RefusedRequest> refused;
  SnapshotShares shares;
  i64 usable_bytes = 0;   ///< free blocks of the list of the refused request
  i64 private_bytes = 0;  ///< free blocks of all pools but the default one
  i64 grown_bytes =
      0;  ///< live bytes of the lines that grow; without a trace, what they gained since the snapshot before
  bool grows_in_evaluation = false;  ///< most of them were requested below a function that evaluates
  std::optional<double>
      step_ratio;              ///< requested bytes of the last step by the mean of the same lines in the earlier ones
  std::optional<double> time;  ///< of its last event, seconds since 1970
  std::vector<KeptBlock> blocks;  ///< only if there is no trace
  // Set when all inputs are together: indices into ScanResult::incidents.
  std::optional<std::size_t> joined;  ///< the failure that a log prints
  std::optional<std::size_t> own;     ///< the failure that only the snapshot shows
};

/// What the line that grows fastest keeps, each step or since the snapshot before; 0 if no line grows. The snapshot of
/// a report without a failure is the one with the most.
inline i64 fastest_growth(const ReportSnapshot& of) {
  return of.growth && !of.growth->empty() ? of.growth->front().bytes_per_step : 0;
}

}  // namespace oomdoctor
