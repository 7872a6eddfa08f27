// Which of very many series are followed value by value: a job of five thousand ranks prints more of them than anybody
// reads, and fitting growth to each takes longer than reading the logs. Counts, first, last and extremes are kept of
// all, so that ranks can be compared.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "model/scan_result.h"

namespace oomdoctor {

/// Where the failure lies whose series are kept before all others.
struct RetentionPriority {
  std::optional<int> source, rank;
};

/// Series with values beside their summary, and the buckets that those take.
struct Followed {
  std::size_t series = 0, buckets = 0;
};
Followed followed_in(const Series& series);

/// Brings both under their limits (ScanLimits): of each kind of series the fullest, those that grew most and the first
/// stay; then neighbouring values are joined. Does nothing where there are few.
void limit_series(std::vector<Series>& all, const RetentionPriority& spotlight = {});

}  // namespace oomdoctor
