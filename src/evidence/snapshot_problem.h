// Why a file is not, or not wholly, read as a snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_names.h"

namespace oomdoctor {

/// The codes of the notes about it.
enum class SnapshotProblemKind {
  snapshot_refused,    ///< it holds what no snapshot needs and what could run code
  snapshot_limit,      ///< deeper, longer or larger than any snapshot
  snapshot_cut,        ///< it ends early
  snapshot_malformed,  ///< it contradicts its form
  not_a_snapshot,
};
template <>
inline constexpr auto enum_names<SnapshotProblemKind> = names_up_to<SnapshotProblemKind::not_a_snapshot>(
    "snapshot_refused", "snapshot_limit", "snapshot_cut", "snapshot_malformed", "not_a_snapshot");

/// Thrown by the readers of src/evidence to the function that called them; no error of the program.
struct SnapshotProblem {
  SnapshotProblemKind kind = SnapshotProblemKind::snapshot_malformed;
  std::string text;
  std::optional<std::int64_t> offset = {};  ///< in the unpacked file
};

}  // namespace oomdoctor
