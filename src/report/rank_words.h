// The ranks of a report beside each other: which of them stand out, and what is usual.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "oomdoctor/report.h"

namespace oomdoctor {

inline constexpr std::size_t few_ranks = 3;  ///< of fewer, the series themselves are on the page

/// The one of the verdict, those that failed, then those that grow, then the fullest.
std::vector<const ReportRank*> ranks_by_weight(const Report& report);
/// "5,000 ranks, 126 of them out of memory; at most 29.32 GiB in the usual one"
std::string ranks_summary(const Report& report);

}  // namespace oomdoctor
