// The memory of a GPU that a counter of PyTorch can never count: it lies outside the allocator, or between two prints.
#pragma once

#include <map>

#include "model/scan_result.h"

namespace oomdoctor {

/// Lists the series of a scan once. A question about one of them then costs the same with a hundred others as with ten
/// thousand: a job of thousands of ranks asks for each of its series.
class UnreachableMemory {
 public:
  /// `scan` must outlive this, unchanged. Only series of at least `min_points` values count.
  UnreachableMemory(const ScanResult& scan, i64 min_points);

  /// Bytes that the values of `s` can never reach; 0 if `s` is not a counter of PyTorch. It is the memory outside the
  /// allocator (CUDA contexts, other processes), from the difference between the GPU's series and reserved memory. It
  /// also includes the rise of a step's peak above the value printed at its end.
  double bytes_for(const Series& s) const;

 private:
  /// A rank or a GPU in a look-up. A series without one goes with those of every one.
  struct OriginNumber {
    enum class Numbering { any, unnamed, numbered } kind = Numbering::any;
    int number = 0;
    auto operator<=>(const OriginNumber&) const = default;
  };
  struct SeriesKey {
    Metric metric = Metric::used;
    i64 values = 0;  ///< their number; 0 if it does not matter
    OriginNumber rank, device;
    auto operator<=>(const SeriesKey&) const = default;
  };
  static OriginNumber make_origin_number(const std::optional<int>& number);
  /// The last series in the order of the scan that may share rank and GPU with `s`, or null.
  const Series* last_with(const Series& s, Metric metric, i64 values = 0) const;

  std::map<SeriesKey, const Series*> last_;
};

}  // namespace oomdoctor
