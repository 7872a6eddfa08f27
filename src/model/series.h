// Memory over time in bounded space. Counts, first, last, maximum and moments are exact. The values between are at most
// max_buckets buckets; each has the mean and the extremes of consecutive values. When the buckets are full, neighbours
// are joined and the resolution halves. Estimators read bucket means with their counts; charts read the extremes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "model/evidence.h"

namespace oomdoctor {

/// The quantity that a series measures. All but the two utilizations and input_length are in bytes.
enum class Metric {
  allocated,
  reserved,
  max_allocated,
  max_reserved,
  active,
  used,  ///< of the whole GPU (nvidia-smi)
  free,
  memory,  ///< without a label
  host_rss,
  host_used,
  host_available,
  host_free,         ///< of the host, without the caches of files, which it can free
  utilization,       ///< per cent of the GPU's memory
  host_utilization,  ///< per cent of the host's RAM
  input_length,      ///< not memory: the longest sequence (or the tokens) of a step's batch, or the longer side of
                     ///< its images
};

/// The label of an input_length that is a number of pixels.
inline constexpr std::string_view image_label = "longer side of the images";

/// How the values were measured. The growth analysis depends on it.
enum class SeriesKind {
  gauge,            ///< read at one fixed phase of the step
  sampled_gauge,    ///< read at arbitrary times
  running_maximum,  ///< never reset, so it cannot fall
  reset_maximum,    ///< maximum of one window
};

template <>
inline constexpr auto enum_names<Metric> = names_up_to<Metric::input_length>(
    "allocated", "reserved", "max_allocated", "max_reserved", "active", "used", "free", "memory", "host_rss",
    "host_used", "host_available", "host_free", "utilization", "host_utilization", "input_length");
template <>
inline constexpr auto enum_names<SeriesKind> = names_up_to<SeriesKind::reset_maximum>("gauge", "sampled_gauge",
                                                                                      "running_maximum",
                                                                                      "reset_maximum");

/// Whether it is occupied memory of a GPU.
bool is_device_metric(Metric);
/// Whether it is what is left, and so falls while memory fills.
bool is_free_metric(Metric);
/// Whether it is the RAM of the whole machine, in bytes.
bool is_machine_metric(Metric);
/// Whether it is host RAM, of a process or of the machine, in bytes.
bool is_host_metric(Metric);

/// One or more consecutive values of a series.
struct Bucket {
  i64 n = 0;
  double x = 0;  ///< mean step, or mean index if the log prints no steps
  double t = 0;  ///< mean time stamp; 0 when none
  double y = 0;  ///< mean value, bytes
  double low = 0, high = 0;
  double x_low = 0, x_high = 0;  ///< x of the extremes
  bool restart = false;          ///< a new run begins with this bucket: the step counter fell, or a monitor paused
};

/// The values of one metric under one label, from one origin. Not thread-safe.
class Series {
 public:
  static constexpr std::size_t max_buckets = 4096;

  Metric metric = Metric::memory;
  SeriesKind kind = SeriesKind::gauge;
  Origin origin;
  std::string label, phase, unit;
  bool ambiguous_unit = false;
  int run = 0;          ///< of its log: each run has its own series
  double quantum = 0;   ///< bytes of one unit of the last printed digit
  double capacity = 0;  ///< bytes of the whole, as printed next to the largest value; 0 if not printed
  bool has_steps = false, has_times = false;
  bool counts_epochs = false;  ///< the steps of has_steps are epochs
  bool repeats_steps = false;  ///< the log prints steps, but x counts values, because the steps repeat
  Evidence first_evidence, last_evidence;
  Evidence max_evidence;  ///< the line of max_value

  i64 n = 0;  ///< values printed, before any thinning
  double first_x = 0, last_x = 0;
  double first_value = 0, last_value = 0, max_value = 0, min_value = 0, max_x = 0;
  double max_time = 0;  ///< time stamp of max_value; 0 when none
  i64 falls = 0;        ///< number of values below their predecessor
  i64 plateaus = 0;     ///< number of values equal to their predecessor
  double interval = 0;  ///< last distance between two x

  /// Adds one value: `x` is the step or index, `t` the time stamp, `y` the value. Ignores it if `x` or `y` is not
  /// finite. A falling `x` starts a new run, and `anew` does. A copy of the previous value with the same x counts in
  /// `n` only, unless the value has no x of its own and was given that of another line.
  void add(double x, double t, double y, bool own_x = true, bool anew = false);
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// Multiplies every value by `factor`, to switch between the two readings of a unit (10^9 or 2^30).
  void rescale(double factor);

  /// False if only the summary fields above remain, because the log has very many series.
  bool followed() const { return n == 0 || !buckets_.empty(); }
  /// Joins neighbours until at most `max_count` buckets remain. If every run is one bucket, the oldest runs go.
  void thin(std::size_t max_count);
  /// Drops the buckets and keeps the summary fields above.
  void summarise() { restore({}); }
  /// Sets the buckets that buckets() returned earlier. Set all other fields first.
  void restore(std::vector<Bucket> buckets) { buckets_ = std::move(buckets); }

 private:
  std::vector<Bucket> buckets_;
  i64 width_ = 1;  ///< values per full bucket
};

}  // namespace oomdoctor
