// Thinning by doubling: pairs of neighbouring buckets are joined as soon as the buckets run out, so that a bucket never
// holds more than twice as many values as any other full one. Counts, extremes, first and last values stay exact, and a
// mean of means weighted with its counts is the mean of the values: what the estimators read is unbiased however long
// the log is. Two runs are never joined, because the memory of the second begins anew.
#include "model/series.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace oomdoctor {

namespace {

constexpr i64 widest = i64{1} << 48;  // more values than any log holds; keeps the doubling from overflowing

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

/// Joins pairs in place; a bucket that begins a run is never appended to the one before it.
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

std::string_view to_string(Metric metric) {
  switch (metric) {
    case Metric::allocated:
      return "allocated";
    case Metric::reserved:
      return "reserved";
    case Metric::max_allocated:
      return "max_allocated";
    case Metric::max_reserved:
      return "max_reserved";
    case Metric::active:
      return "active";
    case Metric::used:
      return "used";
    case Metric::free:
      return "free";
    case Metric::memory:
      return "memory";
    case Metric::host_rss:
      return "host_rss";
    case Metric::host_used:
      return "host_used";
    case Metric::host_available:
      return "host_available";
    case Metric::utilization:
      return "utilization";
    case Metric::input_length:
      return "input_length";
  }
  return "memory";
}

std::string_view to_string(SeriesKind kind) {
  switch (kind) {
    case SeriesKind::gauge:
      return "gauge";
    case SeriesKind::sampled_gauge:
      return "sampled_gauge";
    case SeriesKind::running_maximum:
      return "running_maximum";
    case SeriesKind::reset_maximum:
      return "reset_maximum";
  }
  return "gauge";
}

void Series::add(double x, double t, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (!std::isfinite(t)) t = 0;
  const bool first = n == 0;
  const bool repeated = !first && x == last_x && y == last_value;  // one line that two handlers printed
  const bool restart = !first && x < last_x;
  if (first) {
    first_x = max_x = x;
    first_value = max_value = min_value = y;
  } else if (!repeated) {
    if (!restart && x > last_x) interval = x - last_x;
    if (!restart && y < last_value) ++falls;
    if (!restart && y == last_value) ++plateaus;
    if (y > max_value) {
      max_value = y;
      max_x = x;
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
    width_ = std::min(width_ * 2, widest);
    // Where there are only one-bucket runs nothing can be joined, and the oldest runs are those that nobody asks for.
    if (buckets_.size() >= max_buckets) buckets_.erase(buckets_.begin(), buckets_.begin() + max_buckets / 2);
  }
  if (!first && !restart && buckets_.back().n < width_) {
    join(buckets_.back(), single);
  } else {
    buckets_.push_back(single);
  }
}

void Series::thin(std::size_t most) {
  if (buckets_.size() <= most) return;
  while (buckets_.size() > most) {
    const std::size_t before = buckets_.size();
    halve(buckets_);
    width_ = std::min(width_ * 2, widest);
    if (buckets_.size() == before) buckets_.erase(buckets_.begin(), buckets_.end() - static_cast<std::ptrdiff_t>(most));
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
