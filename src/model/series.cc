// Thinning by doubling: when the buckets run out, pairs of neighbours are joined. So a full bucket never has more than
// twice as many values as another full one. Counts, extremes, first and last values stay exact. The mean of bucket
// means, weighted with their counts, is the mean of the values, so estimates are unbiased for a log of any length. Two
// runs are never joined, because memory starts again in the second.
#include "model/series.h"

#include <algorithm>
#include <cmath>

namespace oomdoctor {

namespace {

constexpr i64 max_width = i64{1} << 48;  // more values than any log has; prevents an overflow of the doubling

void join(Bucket& into, const Bucket& next) {
  const double total = static_cast<double>(into.n + next.n);
  const double share = static_cast<double>(next.n) / total;
  into.x += (next.x - into.x) * share;
  into.t += (next.t - into.t) * share;
  into.y += (next.y - into.y) * share;
  if (next.low < into.low) {
    into.low = next.low;
    into.x_low = next.x_low;
  }
  if (next.high > into.high) {
    into.high = next.high;
    into.x_high = next.x_high;
  }
  into.n += next.n;
}

/// Joins pairs in place. A bucket that begins a run is never joined to its predecessor.
void halve(std::vector<Bucket>& buckets) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buckets.size(); ++kept) {
    Bucket joined = buckets[i++];
    if (i < buckets.size() && !buckets[i].restart) join(joined, buckets[i++]);
    buckets[kept] = joined;
  }
  buckets.resize(kept);
}

}  // namespace

bool is_device_metric(Metric metric) {
  return metric == Metric::allocated || metric == Metric::memory || metric == Metric::active ||
         metric == Metric::used || metric == Metric::reserved || metric == Metric::max_allocated ||
         metric == Metric::max_reserved;
}

bool is_free_metric(Metric metric) {
  return metric == Metric::free || metric == Metric::host_available || metric == Metric::host_free;
}

bool is_machine_metric(Metric metric) {
  return metric == Metric::host_used || metric == Metric::host_available || metric == Metric::host_free;
}

bool is_host_metric(Metric metric) { return metric == Metric::host_rss || is_machine_metric(metric); }

// Update the exact summary first. The value then joins the last bucket while that has less than width_ values and is
// part of the same run; otherwise it needs a new bucket.
void Series::add(double x, double t, double y, bool own_x, bool anew) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (!std::isfinite(t)) t = 0;
  const bool first = n == 0;
  const bool repeated = !first && own_x && x == last_x && y == last_value;  // two handlers printed the same line
  const bool restart = !first && (x < last_x || anew);
  if (first) {
    first_x = max_x = x;
    first_value = max_value = min_value = y;
    max_time = t;
  } else if (!repeated) {
    if (!restart && x > last_x) interval = x - last_x;
    if (!restart && y < last_value) ++falls;
    if (!restart && y == last_value) ++plateaus;
    if (y > max_value) {
      max_value = y;
      max_x = x;
      max_time = t;
    }
    min_value = std::min(min_value, y);
  }
  ++n;
  last_x = x;
  last_value = y;
  if (repeated) return;

  const Bucket single{1, x, t, y, y, y, x, x, restart};
  if (!first && !restart && buckets_.back().n < width_) {
    join(buckets_.back(), single);
    return;
  }
  while (buckets_.size() >= max_buckets) {
    halve(buckets_);
    width_ = std::min(width_ * 2, max_width);
    // If every run is one bucket, nothing can be joined. The oldest runs go: no analysis uses them.
    if (buckets_.size() >= max_buckets) buckets_.erase(buckets_.begin(), buckets_.begin() + max_buckets / 2);
  }
  if (!first && !restart && buckets_.back().n < width_) {
    join(buckets_.back(), single);
  } else {
    buckets_.push_back(single);
  }
}

void Series::thin(std::size_t max_count) {
  if (buckets_.size() <= max_count) return;
  while (buckets_.size() > max_count) {
    const std::size_t before = buckets_.size();
    halve(buckets_);
    width_ = std::min(width_ * 2, max_width);
    if (buckets_.size() == before)
      buckets_.erase(buckets_.begin(), buckets_.end() - static_cast<std::ptrdiff_t>(max_count));
  }
  buckets_.shrink_to_fit();
}

void Series::rescale(double factor) {
  for (Bucket& bucket : buckets_) {
    bucket.y *= factor;
    bucket.low *= factor;
    bucket.high *= factor;
  }
  for (double* value : {&quantum, &capacity, &first_value, &last_value, &max_value, &min_value}) *value *= factor;
}

}  // namespace oomdoctor
