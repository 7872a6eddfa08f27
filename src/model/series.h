// Memory over time in bounded space: exact counts, first, last, maximum and moments; in between at most max_buckets
// buckets, each the mean (and least and greatest) of a run of neighbouring values. When the buckets are full,
// neighbours are joined and the resolution halves. Estimators read bucket means with their counts; drawings read the
// extremes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/evidence.h"

namespace oomdoctor {

enum class Metric {
  allocated,
  reserved,
  max_allocated,
  max_reserved,
  active,
  used,  ///< of the whole device (nvidia-smi)
  free,
  memory,  ///< unlabelled
  host_rss,
  host_used,
  host_available,
  utilization,   ///< per cent of the device's memory
  input_length,  ///< no memory: the longest sequence (or the tokens) of a step's batch
};

enum class SeriesKind {
  gauge,            ///< read at one fixed phase of the step
  sampled_gauge,    ///< read at arbitrary times
  running_maximum,  ///< never reset: cannot fall
  reset_maximum,    ///< maximum of one window
};

std::string_view to_string(Metric);
std::string_view to_string(SeriesKind);
inline constexpr Metric last_metric = Metric::input_length;
inline constexpr SeriesKind last_series_kind = SeriesKind::reset_maximum;

struct Bucket {
  i64 n = 0;
  double x = 0;  ///< mean step (or index where no steps are printed)
  double t = 0;  ///< mean time stamp, 0 when none
  double y = 0;  ///< mean value, bytes
  double low = 0, high = 0;
  double x_low = 0, x_high = 0;  ///< where the extremes lie
  bool restart = false;          ///< the step counter fell here: a new run begins with this bucket
};

class Series {
 public:
  static constexpr std::size_t max_buckets = 4096;

  Metric metric = Metric::memory;
  SeriesKind kind = SeriesKind::gauge;
  Origin origin;
  std::string label, phase, unit;
  bool ambiguous_unit = false;
  double quantum = 0;   ///< bytes; the print step q
  double capacity = 0;  ///< bytes of what the values are a part of, as printed beside the largest; 0 where it is not
  bool has_steps = false, has_times = false;
  Evidence first_evidence, last_evidence;

  i64 n = 0;  ///< values printed, before any thinning
  double first_x = 0, last_x = 0;
  double first_value = 0, last_value = 0, max_value = 0, min_value = 0, max_x = 0;
  i64 falls = 0;        ///< how often a value was lower than the one before it
  i64 plateaus = 0;     ///< how often a value equalled the one before it
  double interval = 0;  ///< last distance of two x

  void add(double x, double t, double y);
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Multiplies every value by `factor`: a unit was read the other way (10^9 for 2^30).
  void rescale(double factor);

  /// False for one of very many series, of which only the figures above were kept.
  bool followed() const { return n == 0 || !buckets_.empty(); }
  /// Joins neighbours until at most `most` buckets are left; where there are only runs of one value, the oldest go.
  void thin(std::size_t most);
  /// Forgets everything but the figures above.
  void summarise() { restore({}); }
  /// Takes back what buckets() gave, when all else has been set.
  void restore(std::vector<Bucket> buckets) { buckets_ = std::move(buckets); }

 private:
  std::vector<Bucket> buckets_;
  i64 width_ = 1;  ///< values per full bucket
};

}  // namespace oomdoctor
