// A summary of the ranks of a report: the typical one, and those that differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

inline constexpr std::size_t min_ranks_for_summary = 3;  ///< reports with fewer ranks show their series instead

/// All ranks: that of the verdict first, then the failed ones, then the growing ones, then by maximum. Points into the
/// report.
std::vector<const ReportRank*> sort_ranks(const Report& report);
/// For example "5,000 ranks, 126 of them out of memory; at most 29.32 GiB in the usual one".
std::string ranks_summary(const Report& report);

}  // namespace oomdoctor
