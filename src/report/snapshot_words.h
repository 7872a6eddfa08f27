// An allocator snapshot in a few lines: who has the memory, what failed, what keeps free memory apart, what grows, and
// whether another setting of the allocator would have helped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct SnapshotLine {
  std::string label, text;
};

/// The snapshot that the verdict is about, else the one that grows most, else the first; nullptr if there is none.
const ReportSnapshot* main_snapshot(const Report& report);

/// Alone, or above tables of who has the memory and of other settings.
enum class SnapshotLines { alone, above_tables };

/// The lines about one snapshot; the texts of the file are not escaped.
std::vector<SnapshotLine> snapshot_lines(const ReportSnapshot& of, SnapshotLines which = SnapshotLines::alone);

/// The most that differs between the snapshot of main_snapshot() and another one: an earlier one of its device, or that
/// of another rank or device. nullopt if nothing differs.
std::optional<SnapshotLine> snapshot_difference(const Report& report);

/// For example "train.py:412 in log_outputs"; "no line of the user's code (gradient)".
std::string owner_words(const CodeLine& at, std::string_view category);
std::string holder_words(const ReportHolder& of);
std::string category_words(std::string_view category);  ///< for example "optimizer state"
std::string when_words(const ReportSnapshot& of);       ///< "at the failure", "at the end of the file"

}  // namespace oomdoctor
