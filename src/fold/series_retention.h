// Chooses which series keep their values if there are very many. A job of five thousand ranks prints more series than
// anybody reads, and fitting growth to each takes longer than reading the logs. All series keep count, first, last and
// extremes, so ranks can still be compared.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// Source and rank of the failure. Their series keep their values first.
struct RetentionPriority {
  std::optional<int> source, rank;
};

/// Number of series that keep their values, and of their buckets.
struct RetainedCount {
  std::size_t series = 0, buckets = 0;
};
RetainedCount count_retained(const Series& series);

/// Enforces the limits of ScanLimits on both. Of each kind of series, the largest, those that grew most and the first
/// ones keep their values. If there are still too many buckets, neighbouring values are merged. No effect below the
/// limits.
void limit_series(std::vector<Series>& all, const RetentionPriority& spotlight = {});

}  // namespace oomdoctor
