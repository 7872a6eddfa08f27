// An allocator snapshot in a few lines: who has the memory, what failed, what keeps free memory apart, what grows, and
// whether another setting of the allocator would have helped.
#pragma once

#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

struct SnapshotLine {
  std::string label, text;
};

/// The snapshot that the verdict is about, else the one that grows most, else the first; nullptr if there is none.
const ReportSnapshot* main_snapshot(const Report& report);

/// The lines about one snapshot; the texts of the file are not escaped.
std::vector<SnapshotLine> snapshot_lines(const ReportSnapshot& of);

/// For example "train.py:412 in log_outputs"; "no line of the user's code (gradient)".
std::string holder_words(const ReportHolder& of);

}  // namespace oomdoctor
