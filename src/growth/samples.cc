// A trend across a restart is meaningless: the new process starts with an empty GPU. So the last run that is long
// enough to show a shape counts, and earlier runs are kept separately. A single fall of the counter is no proof of a
// restart: if iterations are counted per epoch, each stretch ends at the same count. Memory that is freed at the end of
// an epoch must appear as a sawtooth, not as a leak of one epoch. So stretches with equal ends are joined.
//
// The lines must be in the order of the steps. Of two values for one step the later one wins, as long as that is rare.
// If most steps repeat, the counter does not count the logged values, and the line order replaces it.
// taken.
#include "growth/samples.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace oomdoctor {

namespace {

constexpr std::size_t min_run = 6;      // a shorter run shows no shape, so an earlier one is preferred
constexpr double end_tolerance = 0.02;  // relative; the epochs of one data set differ by a batch or two
constexpr double max_duplicates = 0.3;  // above this share, repeated steps are normal in this log

using Run = std::span<const Bucket>;  // a view into the series, which avoids a copy of thousands of buckets

std::vector<Run> split_runs(const Series& series) {
  const Run all(series.buckets());
  std::vector<Run> runs;
  for (std::size_t begin = 0, i = 1; i <= all.size(); ++i) {
    if (i < all.size() && !all[i].restart) continue;
    runs.push_back(all.subspan(begin, i - begin));
    begin = i;
  }
  return runs;
}

/// True if all stretches begin and end at about the same count.
bool are_epochs(const std::vector<Run>& runs) {
  if (runs.size() < 3) return false;
  const double end = runs.front().back().x, begin = runs.front().front().x;
  const double length = std::max(end - begin, 1.0);
  if (runs.back().back().x > end + end_tolerance * length) return false;
  for (std::size_t i = 0; i + 1 < runs.size(); ++i)
    if (std::abs(runs[i].back().x - end) > end_tolerance * length || std::abs(runs[i].front().x - begin) > length / 4)
      return false;
  return true;
}

/// True for many runs of a few values each: the falling number is not a step counter, or the program restarts all the
/// time.
bool restarts_constantly(const std::vector<Run>& runs, std::size_t buckets) {
  return runs.size() >= 4 && buckets < runs.size() * min_run;
}

/// A bucket and its position. The x of the bucket is the printed step.
struct Sample {
  const Bucket* bucket;
  double x;
};

std::vector<Sample> as_logged(const Run& run) {
  std::vector<Sample> samples;
  samples.reserve(run.size());
  for (const Bucket& bucket : run) samples.push_back({&bucket, bucket.x});
  return samples;
}

/// Continues the count of each epoch after the previous one. If an epoch counts from 0, it starts one log interval
/// later.
std::vector<Sample> join_epochs(const std::vector<Run>& runs) {
  std::vector<Sample> all;
  double offset = 0, interval = 1;
  for (const Run& run : runs) {
    if (!all.empty() && run.front().x + offset <= all.back().x) offset = all.back().x + interval - run.front().x;
    if (run.size() > 1) interval = (run.back().x - run.front().x) / static_cast<double>(run.size() - 1);
    for (const Bucket& bucket : run) all.push_back({&bucket, bucket.x + offset});
    offset += run.back().x;
  }
  return all;
}

/// The last run that is long enough, else the longest.
const Run& last_usable(const std::vector<Run>& runs) {
  const Run* longest = &runs.back();
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->size() >= min_run) return *run;
    if (run->size() > longest->size()) longest = &*run;
  }
  return *longest;
}

void cut_after(Run& run, double failure_step) {
  const auto after = std::find_if(run.begin(), run.end(), [&](const Bucket& b) { return b.x > failure_step; });
  const auto kept = static_cast<std::size_t>(after - run.begin());
  if (kept >= 3) run = run.first(kept);  // with fewer, the failure is counted in other steps
}

/// Fills `samples` with strictly rising x. The later value of a repeated step wins.
void fill_rising(Samples& samples, const std::vector<Sample>& run, bool of_maxima) {
  Points& points = samples.points;
  const double sign = samples.counts_down ? -1 : 1;
  for (std::vector<double>* column : {&points.x, &points.y, &points.weight, &samples.printed})
    column->reserve(run.size());
  for (const Sample& sample : run) {
    const double y = sign * (of_maxima ? sample.bucket->high : sample.bucket->y);
    if (!points.x.empty() && sample.x <= points.x.back()) {
      points.y.back() = y;
      continue;
    }
    points.x.push_back(sample.x);
    points.y.push_back(y);
    points.weight.push_back(static_cast<double>(std::max<i64>(sample.bucket->n, 1)));
    samples.printed.push_back(sample.bucket->x);
  }
}

Samples make_samples(const Series& series, const std::vector<Sample>& run) {
  Samples samples;
  samples.counts_down = is_free_metric(series.metric);
  fill_rising(samples, run, series.kind == SeriesKind::running_maximum);
  samples.points.quantum = series.quantum;
  samples.points.floor = series.quantum / std::sqrt(12.0);
  return samples;
}

/// The series counts its steps anew in every epoch.
bool counts_anew(const std::vector<Run>& runs, const Series& series) {
  return are_epochs(runs) || restarts_constantly(runs, series.buckets().size());
}

}  // namespace

void count_values_of_repeated_steps(Series& series) {
  if (!series.has_steps || series.buckets().size() < min_run) return;
  const std::vector<Run> runs = split_runs(series);
  std::size_t repeated = 0;
  for (const Run& run : runs)
    for (std::size_t i = 1; i < run.size(); ++i)
      if (run[i].x <= run[i - 1].x) ++repeated;
  std::vector<Bucket> buckets = series.buckets();
  if (static_cast<double>(repeated) <= max_duplicates * static_cast<double>(buckets.size())) return;
  const bool joined = counts_anew(runs, series);
  double before = 0;
  for (Bucket& bucket : buckets) {
    const auto values = static_cast<double>(std::max<i64>(bucket.n, 1));
    bucket.x = bucket.x_low = bucket.x_high = before + (values - 1) / 2;
    if (joined) bucket.restart = false;
    before += values;
  }
  const auto by_high = [](const Bucket& a, const Bucket& b) { return a.high < b.high; };
  series.max_x = std::max_element(buckets.begin(), buckets.end(), by_high)->x;
  series.first_x = 0;
  series.last_x = before - 1;
  series.interval = 1;
  series.has_steps = series.counts_epochs = false;
  series.repeats_steps = true;
  series.restore(std::move(buckets));
}

Samples extract_samples(const Series& series, std::optional<double> failure_step) {
  const std::vector<Run> runs = split_runs(series);
  if (runs.empty()) return {};
  if (counts_anew(runs, series)) {
    Samples samples = make_samples(series, join_epochs(runs));
    samples.epochs_joined = true;
    return samples;
  }
  const Run& used = last_usable(runs);
  Run last = used;
  if (failure_step) cut_after(last, *failure_step);
  Samples samples = make_samples(series, as_logged(last));
  for (const Run& run : runs) {
    if (&run == &used) break;
    samples.earlier_runs.push_back(make_samples(series, as_logged(run)));
  }
  return samples;
}

Place find_position(const Samples& samples, double x) {
  const std::vector<double>& all = samples.points.x;
  if (all.empty()) return {x, 0};
  const auto after = std::lower_bound(all.begin(), all.end(), x);
  const auto i = static_cast<std::size_t>(std::min(after, all.end() - 1) - all.begin());
  const bool is_nearer_before = i > 0 && x - all[i - 1] < all[i] - x;
  const std::size_t nearest = is_nearer_before ? i - 1 : i;
  double values = 0;
  for (std::size_t k = 0; k < nearest; ++k) values += samples.points.weight[k];
  const Place place{samples.as_printed() ? x : samples.printed[nearest], static_cast<std::size_t>(values) + 1};
  // Interpolate between two values of one epoch.
  const bool inside =
      samples.epochs_joined && i > 0 && after != all.end() && samples.printed[i] > samples.printed[i - 1];
  if (!inside) return place;
  const double share = (x - all[i - 1]) / (all[i] - all[i - 1]);
  return {samples.printed[i - 1] + share * (samples.printed[i] - samples.printed[i - 1]), place.value};
}

Points condensed(const Points& points, std::size_t max_count) {
  const std::size_t n = points.size();
  if (n <= max_count) return points;
  Points out;
  out.quantum = points.quantum;
  out.floor = points.floor;
  for (std::size_t block = 0; block < max_count; ++block) {
    double x = 0, y = 0, weight = 0;
    for (std::size_t i = block * n / max_count; i < (block + 1) * n / max_count; ++i) {
      x += points.weight[i] * points.x[i];
      y += points.weight[i] * points.y[i];
      weight += points.weight[i];
    }
    out.x.push_back(x / weight);
    out.y.push_back(y / weight);
    out.weight.push_back(weight);
  }
  return out;
}

Points only(const Points& points, const std::vector<std::size_t>& indices) {
  Points out;
  out.quantum = points.quantum;
  out.floor = points.floor;
  for (const std::size_t i : indices) {
    out.x.push_back(points.x[i]);
    out.y.push_back(points.y[i]);
    out.weight.push_back(points.weight[i]);
  }
  return out;
}

void append(Points& points, const Points& more) {
  points.x.insert(points.x.end(), more.x.begin(), more.x.end());
  points.y.insert(points.y.end(), more.y.begin(), more.y.end());
  points.weight.insert(points.weight.end(), more.weight.begin(), more.weight.end());
}

Points without(const Points& points, const std::vector<std::size_t>& indices) {
  if (indices.empty()) return points;
  std::vector<std::size_t> rest;
  auto next = indices.begin();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (next != indices.end() && *next == i)
      ++next;
    else
      rest.push_back(i);
  }
  return only(points, rest);
}

}  // namespace oomdoctor
