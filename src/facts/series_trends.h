// The trend of each series of a case, computed when it is first read. A line about a job needs few of them, and they
// cost more time than everything else that oomdoctor computes from a log.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "growth/growth.h"

namespace oomdoctor {

/// What a trend depends on.
struct TrendInputs {
  const Series* series = nullptr;
  GrowthOptions options;
  bool has_trend = false;          ///< false: the series fills no memory, and its trend is empty
  std::optional<double> capacity;  ///< Trend::capacity
};

/// The series must exist and stay the same as long as trends are read. Moving the vector that has them is allowed. A
/// copy shares the computed trends.
class Trends {
 public:
  Trends() : Trends(std::vector<TrendInputs>{}) {}
  explicit Trends(std::vector<TrendInputs> inputs);

  std::size_t size() const { return entries_->size(); }

  /// The trend of the series with this index. Thread-safe; the reference is valid as long as the Trends or a copy
  /// exist.
  const Trend& operator[](std::size_t index) const;

  /// The same as (*this)[index].leak, without its fits where the range of the values excludes growth.
  bool leaks(std::size_t index) const;
  /// True for enough values in so small a range that there is nothing to say about growth. It needs no fit.
  bool is_level(std::size_t index) const;

  bool is_computed(std::size_t index) const;

  /// Computes all trends on up to `jobs` threads. Worth it if most of them will be read.
  void compute_all(std::size_t jobs) const;

 private:
  struct LazyTrend {
    TrendInputs inputs;
    mutable std::mutex computing;
    mutable std::optional<Trend> trend;  ///< guarded by `computing` until it has a value, then constant
  };
  std::shared_ptr<const std::vector<LazyTrend>> entries_;
};

}  // namespace oomdoctor
