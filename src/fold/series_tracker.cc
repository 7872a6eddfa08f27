#include "fold/series_tracker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace oomdoctor {
namespace {

constexpr double max_x = 1e18;                                ///< no step, time or index comes near it
constexpr std::size_t max_buckets = ScanLimits::buckets / 2;  ///< of all series while they grow: 16 long ones
constexpr double day = 86400;                                 ///< seconds
constexpr double max_fall = 3600;                             ///< seconds; of a clock that does not pass midnight

/// "GB" can mean 10^9 or 2^30 bytes. Where the first value of a series was surely the former (its command is printed),
/// the later ones are as well.
double decimal_scale(double first, double now) {
  constexpr double least = 0.9;  // of 10^12 to 2^40
  return first < now && first > least * now ? first / now : 1;
}

}  // namespace

std::size_t SeriesTracker::compute_hash(const Id& id) {
  const std::hash<std::string_view> text;
  std::size_t all = static_cast<std::size_t>(id.metric);
  for (const std::size_t one :
       {static_cast<std::size_t>(id.run), static_cast<std::size_t>(id.stream.kind),
        static_cast<std::size_t>(id.stream.number), static_cast<std::size_t>(id.device.value_or(-1)), text(id.counter),
        text(id.label), text(id.phase)})
    all = all * static_cast<std::size_t>(0x9E3779B97F4A7C15u) + one;
  return all;
}

/// The index only has to spread well. The caller compares the id.
SeriesTracker::SeriesState*& SeriesTracker::cached(const Id& id, std::string_view reader) {
  const auto address = reinterpret_cast<std::uintptr_t>(reader.data());
  const std::uint64_t place = (address * 31 + values_of_line_ * 5 + static_cast<std::size_t>(id.stream.number) * 7 +
                               static_cast<std::size_t>(id.device.value_or(0)) * 13) *
                              0x9E3779B97F4A7C15u;
  return cache_[static_cast<std::size_t>(place >> 32) % cache_.size()];
}

SeriesTracker::SeriesState* SeriesTracker::find(const Id& id) {
  const auto [from, to] = by_hash_.equal_range(compute_hash(id));
  for (auto it = from; it != to; ++it)
    if (states_[it->second].id == id) return &states_[it->second];
  return nullptr;
}

SeriesTracker::SeriesState& SeriesTracker::add_series(const Id& id, const CurrentLine& here, const Reading& r,
                                                      bool has_step, bool has_time) {
  by_hash_.emplace(compute_hash(id), states_.size());
  SeriesState& state = states_.emplace_back();
  state.index = result_.series.size();
  state.counter = id.counter;
  state.label = id.label;
  state.phase = id.phase;
  state.quantum = r.quantum;
  state.id = {id.metric, id.run, id.stream, id.device, state.counter, state.label, state.phase};
  Series s;
  s.metric = r.metric;
  s.kind = r.kind;
  s.run = id.run;
  s.origin = here.origin();
  s.label = r.label;
  s.phase = r.phase;
  s.unit = r.unit;
  s.ambiguous_unit = r.ambiguous_unit;
  s.quantum = r.quantum;
  s.has_steps = has_step;
  s.has_times = !has_step && has_time;
  s.first_evidence = here.evidence();
  result_.series.push_back(std::move(s));
  return state;
}

/// Counts series, not values. Stops at the limit, so that hostile input cannot grow the set.
void SeriesTracker::count_excess(const Id& id) {
  if (left_out_.size() < ScanLimits::series) left_out_.insert(compute_hash(id));
  result_.more_series = static_cast<i64>(left_out_.size());
}

/// The step if the series has steps, else the seconds since the first value, else the index. A value without its own
/// step lies at the latest step of its stream. A clock without a date that falls back has passed midnight, unless it
/// falls by little: lines out of order, or a second recording.
double SeriesTracker::find_x(SeriesState& state, std::optional<double> step, std::optional<double> time,
                             std::optional<i64> stream_step, bool since_start) const {
  const Series& series = result_.series[state.index];
  if (series.has_steps) {
    if (step) return *step;
    return stream_step ? to_double(*stream_step) : series.last_x;
  }
  const auto dated = [](double moment) { return moment >= first_dated_time; };
  if (series.has_times && time && (!state.t0 || dated(*time) == dated(*state.t0))) {
    double moment = *time;
    if (state.t0 && moment < state.last_time && moment < day && !since_start)
      moment +=
          day * (std::fmod(state.last_time - moment, day) > max_fall ? std::ceil((state.last_time - moment) / day)
                                                                     : std::floor((state.last_time - moment) / day));
    if (!state.t0 || moment < *state.t0) state.t0 = moment;
    state.last_time = moment;
    return moment - *state.t0;
  }
  return series.has_times ? series.last_x + series.interval : static_cast<double>(series.n);
}

/// True if a monitor that wrote its values again and again wrote none for a long time. What it shows then is another
/// session: the memory between them is unknown.
bool SeriesTracker::begins_session(SeriesState& state, const Series& series, double x) {
  constexpr double least = 600;  // seconds; a busy machine delays a monitor by less
  constexpr double times = 60;   // the longest time between two values before: a minute of a value per second
  constexpr int fewest = 3;      // such times; fewer show no habit
  if (!series.has_times || series.kind != SeriesKind::sampled_gauge || series.n == 0) return false;
  const double wait = x - series.last_x;
  if (wait <= 0) return false;
  if (state.waits >= fewest && wait > std::max(least, times * state.longest_wait)) return true;
  state.longest_wait = std::max(state.longest_wait, wait);
  ++state.waits;
  return false;
}

/// Counters of the same name from two frameworks are two series. A device has one memory, whichever tool reads it.
SeriesTracker::Id SeriesTracker::make_id(const CurrentLine& here, const Reading& r, int run) {
  const std::string_view reader = here.ref().reader;
  const std::string_view counter = r.metric == Metric::used ? "" : reader.substr(0, reader.find('/'));
  return {r.metric, run, here.stream(), here.origin().device, counter, r.label, r.phase};
}

bool SeriesTracker::starts_again(const CurrentLine& here, const Reading& r, int run) {
  constexpr double clearly_below = 0.05;  // an allocator's cache that is emptied, or a shorter batch, frees less
  if (!is_device_metric(r.metric) || r.metric == Metric::max_allocated || r.metric == Metric::max_reserved)
    return false;  // a maximum may be reset in each epoch
  const SeriesState* state = find(make_id(here, r, run));
  return state != nullptr && r.value < (1 - clearly_below) * result_.series[state->index].min_value;
}

void SeriesTracker::add(const CurrentLine& here, const Reading& r, int run, std::optional<double> step,
                        std::optional<double> time, std::optional<i64> stream_step, bool counts_epochs) {
  const std::string_view reader = here.ref().reader;
  const Id id = make_id(here, r, run);
  SeriesState*& place = cached(id, reader);
  ++values_of_line_;
  if (place == nullptr || place->id != id) {
    SeriesState* state = find(id);
    if (state == nullptr) {
      if (states_.size() >= ScanLimits::series) return count_excess(id);
      state = &add_series(id, here, r, step || stream_step, time.has_value());
      result_.series[state->index].counts_epochs = counts_epochs;
    }
    place = state;
  }
  SeriesState& state = *place;
  Series& series = result_.series[state.index];
  if (series.counts_epochs && !counts_epochs) step.reset(), stream_step.reset();
  // A single value before the first step, "before training: 9,420 MB", lies at step 0.
  const double first_step = step.value_or(stream_step ? to_double(*stream_step) : 0);
  if (series.n == 1 && !series.has_steps && !series.has_times && first_step > 0) series.has_steps = true;
  // A series that began on the clock stays on it when the log begins to count.
  if (series.has_times && !time) time = here.ref().line.prefix.time;
  double x = find_x(state, step, time, stream_step, r.since_start);
  if (!(std::abs(x) <= max_x)) x = series.last_x;
  if (time) result_.period.add(*time);
  const double scale = r.ambiguous_unit && !series.ambiguous_unit ? decimal_scale(state.quantum, r.quantum) : 1;
  const double value = r.value * scale, capacity = r.capacity * scale, quantum = r.quantum * scale;
  if (quantum > 0) series.quantum = series.quantum > 0 ? std::min(series.quantum, quantum) : quantum;
  if (capacity > 0 && (series.capacity <= 0 || value >= series.max_value)) series.capacity = capacity;
  const double peak = series.max_value;
  const std::size_t before = series.buckets().size();
  series.add(x, time.value_or(here.ref().line.prefix.time.value_or(0)), value, step || !series.has_steps,
             begins_session(state, series, x));
  buckets_ = buckets_ - before + series.buckets().size();
  if (buckets_ > max_buckets) thin();
  state.last.line = &here.ref();
  if (series.max_value > peak || series.n == 1) state.peak.line = &here.ref();
}

/// Halves the resolution of the longest series until half of the space is free.
void SeriesTracker::thin() {
  for (std::size_t limit = Series::max_buckets; buckets_ > max_buckets / 2; limit /= 2) {
    buckets_ = 0;
    for (Series& series : result_.series) {
      series.thin(limit);
      buckets_ += series.buckets().size();
    }
  }
}

void SeriesTracker::end_block() {
  for (SeriesState& state : states_) state.last.settle(), state.peak.settle();
}

void SeriesTracker::finish() {
  for (const SeriesState& state : states_) {
    Series& series = result_.series[state.index];
    if (state.last.evidence) series.last_evidence = *state.last.evidence;
    if (state.peak.evidence) series.max_evidence = *state.peak.evidence;
  }
}

}  // namespace oomdoctor
