#include "facts/unreachable_memory.h"

#include <algorithm>
#include <array>

namespace oomdoctor {

UnreachableMemory::OriginNumber UnreachableMemory::make_origin_number(const std::optional<int>& number) {
  return number ? OriginNumber{OriginNumber::Numbering::numbered, *number}
                : OriginNumber{OriginNumber::Numbering::unnamed};
}

UnreachableMemory::UnreachableMemory(const ScanResult& scan, i64 min_points) {
  for (const Series& s : scan.series) {
    const bool peak = s.metric == Metric::max_allocated && s.kind == SeriesKind::reset_maximum;
    if (s.n < min_points || !(peak || s.metric == Metric::used || s.metric == Metric::reserved)) continue;
    for (const OriginNumber& rank : {make_origin_number(s.origin.rank), OriginNumber{}})
      for (const OriginNumber& device : {make_origin_number(s.origin.device), OriginNumber{}})
        last_[{s.metric, peak ? s.n : 0, rank, device}] = &s;
  }
}

/// With a number, `s` shares it with the series of this number and with the unnamed ones.
const Series* UnreachableMemory::last_with(const Series& s, Metric metric, i64 values) const {
  const auto parts_for = [](const std::optional<int>& number) {
    return number ? std::array{make_origin_number(number), OriginNumber{OriginNumber::Numbering::unnamed}}
                  : std::array{OriginNumber{}, OriginNumber{}};
  };
  const Series* last = nullptr;
  for (const OriginNumber& rank : parts_for(s.origin.rank))
    for (const OriginNumber& device : parts_for(s.origin.device))
      if (const auto found = last_.find({metric, values, rank, device}); found != last_.end())
        last = last == nullptr ? found->second : std::max(last, found->second);
  return last;
}

double UnreachableMemory::bytes_for(const Series& s) const {
  if (s.metric != Metric::allocated && s.metric != Metric::reserved) return 0;
  double kept = 0;
  const Series *device = last_with(s, Metric::used), *reserved = last_with(s, Metric::reserved);
  if (device != nullptr && reserved != nullptr) kept += std::max(0.0, device->last_value - reserved->last_value);
  if (s.metric != Metric::allocated) return kept;
  const Series* peak = last_with(s, Metric::max_allocated, s.n);
  return peak == nullptr ? kept : kept + std::max(0.0, peak->last_value - s.last_value);
}

}  // namespace oomdoctor
