#include "parse/result_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "parse/incident_dedup.h"
#include "parse/statement.h"
#include "parse/traceback.h"

namespace oomdoctor {
namespace {

/// Bounds beyond ScanLimits. No real log comes near them.
/// Bytes; no machine has this much, but mmcv prints such values after an epoch.
constexpr double max_value = 64.0 * static_cast<double>(TiB);
constexpr double max_step = 1e15;  ///< the same for steps
constexpr double max_x = 1e18;     ///< for values without a step: x grows by the interval of the values before
constexpr std::size_t max_signs = 4096;
constexpr std::size_t max_streams = 65536;
constexpr std::size_t max_buckets = ScanLimits::buckets / 2;  ///< of all series while they grow: 16 long ones

/// Only the distance separates a report without numbers from the next failure. Loggers, launchers and chained
/// exceptions repeat the same failure within about this many lines.
constexpr i64 repeat_distance = 60;
/// Thousands of lines separate the first line of an allocator dump from the exception after it.
constexpr i64 dump_distance = 20000;
/// Remarks like "skipped" or "retrying with a smaller batch" belong to a failure within this many lines.
constexpr i64 handled_distance = 15;

/// "[22410.118204]": the kernel's time stamp, in seconds, at the front or after the host name. It has six decimals.
std::optional<double> kernel_seconds(std::string_view text) {
  for (std::size_t open = text.find('['); open != text.npos && open < 80; open = text.find('[', open + 1)) {
    std::size_t at = text.find_first_not_of(' ', open + 1);
    if (at == text.npos) return std::nullopt;
    const auto number = read_number(text, at);
    if (number && number->decimals == 6 && at < text.size() && text[at] == ']') return number->value;
  }
  return std::nullopt;
}

bool agrees(const std::optional<int>& a, const std::optional<int>& b) { return !a || !b || *a == *b; }

bool equal_numbers(const Oom& a, const Oom& b) {
  return a.request == b.request && a.capacity == b.capacity && a.free == b.free && a.allocated == b.allocated &&
         a.process == b.process && a.unallocated == b.unallocated && a.reserved == b.reserved && a.limit == b.limit;
}

/// "/site-packages/torch/….py:2224: UserWarning: … CUDA out of memory": code that warns of a failure has caught it.
bool is_python_warning(std::string_view line) {
  const std::size_t at = line.find("Warning: ");
  if (at == line.npos) return false;
  const std::string_view before = line.substr(0, at);
  const std::size_t colon = before.rfind(": "), file = before.rfind(".py:", colon);
  return colon != before.npos && file != before.npos && only_digits(before.substr(file + 4, colon - file - 4));
}

}  // namespace

void ResultBuilder::begin_emit(const Cursor& cursor, const LineRef& mention) {
  cursor_ = &cursor;
  mention_ = &mention;
  emitted_ = 0;
  evidence_.reset();
  const LinePrefix& prefix = mention.line.prefix;
  where_.rank = prefix.rank;
  where_.pid = prefix.pid;
  where_.device.reset();
  where_.host.clear();
  if (prefix.time) emit_time(*prefix.time);
  claimed_through_ = mention.last_line;
}

void ResultBuilder::emit_time(double time) {
  last_time_ = time;
  cover(time);
}

void ResultBuilder::cover(double time) {
  if (time >= first_dated_time) result_.period.add(time);
}

void ResultBuilder::Latest::settle() {
  if (mention != nullptr) evidence = mention->evidence();
  mention = nullptr;
}

void ResultBuilder::end_block() {
  for (SeriesState& state : series_) state.last.settle();
  for (auto& [key, progress] : progress_) progress.line.settle();
  last_progress_.settle();
}

const Evidence& ResultBuilder::evidence() {
  if (!evidence_) evidence_ = mention_->evidence();
  return *evidence_;
}

void ResultBuilder::at(const Origin& where) {
  if (where.rank) where_.rank = where.rank;
  if (where.device) where_.device = where.device;
  if (where.pid) where_.pid = where.pid;
  if (!where.host.empty()) where_.host = where.host;
}

ResultBuilder::StreamId ResultBuilder::stream_id() const {
  if (where_.rank) return {StreamId::Kind::rank, *where_.rank};
  if (where_.pid) return {StreamId::Kind::process, *where_.pid};
  return {};
}

ResultBuilder::Stream& ResultBuilder::stream() {
  const StreamId id = stream_id();
  if (stream_ == nullptr || stream_id_ != id) {
    stream_id_ = id;
    stream_ = &streams_[streams_.size() < max_streams || streams_.contains(id) ? id : StreamId{}];
  }
  return *stream_;
}

Event ResultBuilder::event_here() {
  Event e;
  e.evidence = evidence();
  e.origin = where_;
  e.when.order = line();
  e.when.time = last_time_;
  const auto found = streams_.find(stream_id());
  const auto any = found != streams_.end() ? found : streams_.find(StreamId{});
  if (any != streams_.end()) {
    e.when.step = any->second.step;
    e.when.epoch = any->second.epoch;
  }
  return e;
}

/// The order of the tests matters: same memory, same place, no progress in between, same test, then the numbers. Parts
/// of one report may be thousands of lines apart. Reports without numbers must be close.
bool ResultBuilder::is_same_failure(const Incident& old, const IncidentContext& trail, const Oom& now) const {
  // TensorFlow's shape of a tensor alone names no place: it belongs to the pool that refused the request.
  const bool anywhere = of_tensorflow_pool(now) && now.kind == OomKind::device && !where_.device;
  const bool same_memory = old.oom.kind == now.kind || (anywhere && of_tensorflow_pool(old.oom)) ||
                           ((is_general_form(old.oom) || is_general_form(now)) && may_be_same_memory(old.oom, now));
  if (!same_memory) return false;
  if (!agrees(old.origin.rank, where_.rank) || !agrees(old.origin.device, where_.device)) return false;
  const auto found = streams_.find(trail.stream);
  if (found != streams_.end() && found->second.advances > trail.advances) return false;
  const std::string_view test = failed_test(mention_->line.body());
  if (!test.empty() && !trail.test.empty() && test != trail.test) return false;
  const i64 distance = line() - trail.line;
  if (old.oom.agent == now.agent && comes_in_parts(now) && old.oom.request && now.request)
    return complement(old.oom, now) && distance <= dump_distance;
  if (of_tensorflow_pool(old.oom) && of_tensorflow_pool(now))
    return complement(old.oom, now) && distance <= dump_distance;
  if (has_numbers(old.oom) && has_numbers(now)) {
    if (is_general_form(old.oom) || is_general_form(now))
      return distance <= repeat_distance && complement(old.oom, now);
    return equal_numbers(old.oom, now);
  }
  // Requests that wait for cache again and again are one state of the server.
  if (old.oom.caught && now.caught && now.kind == OomKind::pool) return old.oom.message_format == now.message_format;
  if (is_general_form(old.oom) || is_general_form(now))
    return distance <= repeat_distance && complement(old.oom, now) && may_be_same_memory(old.oom, now);
  if (old.oom.agent != now.agent || old.oom.message_format != now.message_format) return false;
  return distance <= repeat_distance && has_numbers(old.oom) == has_numbers(now);
}

void ResultBuilder::add_occurrence(std::size_t index, const Evidence& evidence) {
  Incident& incident = result_.incidents[index];
  if (incident.occurrences.size() < ScanLimits::occurrences)
    incident.occurrences.push_back(evidence);
  else
    ++incident.more_occurrences;
}

/// The kernel prints such victims within a second, two lines apart at most: a cgroup at its limit, or a process with
/// its children.
bool ResultBuilder::is_one_sweep(const Incident& old, const IncidentContext& trail, const Oom& now) const {
  constexpr i64 max_lines = 2;
  constexpr double max_seconds = 1;
  const auto kills = [](const Oom& oom) {
    return oom.message_format == "oom-killer" && (oom.agent == Agent::kernel || oom.agent == Agent::cgroup);
  };
  if (!kills(old.oom) || !kills(now) || old.oom.agent != now.agent || line() - trail.line > max_lines) return false;
  const auto then = kernel_seconds(old.occurrences.empty() ? old.evidence.excerpt : old.occurrences.back().excerpt);
  const auto here = kernel_seconds(mention_->line.text);
  return then && here && *here - *then >= 0 && *here - *then <= max_seconds;
}

/// The more trusted report becomes the main one. The old report fills its gaps.
void ResultBuilder::replace_main_report(std::size_t index, const Oom& now) {
  add_occurrence(index, result_.incidents[index].evidence);
  Incident& old = result_.incidents[index];
  Oom better = now;
  fill_gaps(better, old.oom);
  better.frames = std::move(old.oom.frames);
  better.caught |= old.oom.caught;
  old.oom = std::move(better);
  old.evidence = evidence();
}

/// Kernel, scheduler, launcher and shell all report the same kill. This finds the latest incident nearby that may be
/// the same death; a report of the same victim wins at any distance.
bool ResultBuilder::merge_kill_report(const Oom& now) {
  if (kill_report_rank(now) == 0) return false;
  std::optional<std::size_t> found;
  for (std::size_t i = result_.incidents.size(); i-- > 0;) {
    const Incident& old = result_.incidents[i];
    if (is_one_sweep(old, incident_contexts_[i], now)) {
      found = i;
      break;
    }
    const bool near = line() - incident_contexts_[i].line <= repeat_distance;
    const bool victim = same_victim(old, where_);
    if (!(near || victim) || !may_be_same_kill(old, now, where_)) continue;
    if (!found || victim) found = i;
    if (victim) break;
  }
  if (!found) return false;
  Incident& old = result_.incidents[*found];
  incident_contexts_[*found].line = std::max(line(), claimed_through_);
  if (kill_report_rank(now) > kill_report_rank(old.oom)) {
    replace_main_report(*found, now);
    if (where_.pid) old.origin.pid = where_.pid;
  } else if (old.evidence.span.first_line != line()) {
    fill_gaps(old.oom, now);
    add_occurrence(*found, evidence());
  }
  if (!old.origin.pid) old.origin.pid = where_.pid;
  if (!old.origin.rank) old.origin.rank = where_.rank;
  if (old.oom.frames.empty()) old.oom.frames = read_traceback(*cursor_);
  return true;
}

void ResultBuilder::oom(Oom oom) {
  // Nobody writes an allocator's sizes by hand: a full report is never a quotation.
  const bool full_report = oom.request && (oom.capacity || oom.free || oom.allocated);
  if (!full_report && is_quoted_in_text(*cursor_)) return remark("text/quoted", {});
  oom.caught |= is_python_warning(cursor_->line().body());
  if (merge_kill_report(oom)) return;
  const bool death = kill_report_rank(oom) > 0;
  for (std::size_t i = result_.incidents.size(); i-- > 0 && !death;) {
    Incident& old = result_.incidents[i];
    if (!agrees(old.origin.rank, where_.rank) || !agrees(old.origin.device, where_.device)) continue;
    if (is_same_failure(old, incident_contexts_[i], oom)) {
      if (old.evidence.span.first_line == line()) return;
      if (is_general_form(old.oom) && !is_general_form(oom))
        replace_main_report(i, oom);
      else
        add_occurrence(i, evidence());
      if (comes_in_parts(oom) || is_general_form(old.oom)) fill_gaps(old.oom, oom);
      if (old.oom.frames.empty()) old.oom.frames = read_traceback(*cursor_);
      if (!old.origin.rank) old.origin.rank = where_.rank;
      if (!old.origin.device) old.origin.device = where_.device;
      if (!oom.caught && old.oom.caught) {  // a warning first, then nobody caught the exception
        old.oom.caught = old.handled = false;
        old.handled_by.reset();
      }
      old.handled |= oom.caught;
      if (incident_contexts_[i].test.empty()) incident_contexts_[i].test = failed_test(mention_->line.body());
      incident_contexts_[i].line = std::max(line(), claimed_through_);
      return;
    }
    if (has_numbers(oom) == has_numbers(old.oom)) break;  // a different failure in between: this one is new
  }
  if (result_.incidents.size() >= ScanLimits::incidents) drop_incident();
  if (end_ && end_->line == line()) restated_ = restated_before_end_;  // this line has set the end itself
  const bool by_settings = (!end_ || end_->line == line()) && starts_anew() && restated_.changed;
  if (oom.kind == OomKind::device && (by_settings || (end_ && end_->of_job))) begin_run();
  const Event here = event_here();
  Incident incident;
  if (oom.frames.empty() && !oom.caught) oom.frames = read_traceback(*cursor_);
  incident.handled = oom.caught;
  if (oom.caught)
    incident.handled_by = evidence();
  else
    end_at(false, false);
  incident.oom = std::move(oom);
  incident.evidence = evidence();
  incident.origin = where_;
  incident.when = here.when;
  incident.run = place();
  result_.incidents.push_back(std::move(incident));
  incident_contexts_.push_back({stream_id(), stream().advances, run_, std::max(line(), claimed_through_),
                                std::string(failed_test(mention_->line.body()))});
}

/// Drops one from the middle. The first ones stay. The latest may be the one that ended the run, so there is always
/// room for it.
void ResultBuilder::drop_incident() {
  const std::size_t victim = result_.incidents.size() / 2;
  result_.incidents.erase(result_.incidents.begin() + static_cast<std::ptrdiff_t>(victim));
  incident_contexts_.erase(incident_contexts_.begin() + static_cast<std::ptrdiff_t>(victim));
  ++result_.more_incidents;
}

std::size_t ResultBuilder::hash_of(const SeriesId& id) {
  const std::hash<std::string_view> text;
  std::size_t all = static_cast<std::size_t>(id.metric);
  for (const std::size_t one :
       {static_cast<std::size_t>(id.stream.kind), static_cast<std::size_t>(id.stream.number),
        static_cast<std::size_t>(id.device.value_or(-1)), text(id.counter), text(id.label), text(id.phase)})
    all = all * 0x9E3779B97F4A7C15u + one;
  return all;
}

/// The index only has to spread well. The caller compares the id.
ResultBuilder::SeriesState*& ResultBuilder::cached_series(const SeriesId& id) {
  const auto reader = reinterpret_cast<std::uintptr_t>(mention_->reader.data());
  const std::size_t place = (reader * 31 + emitted_ * 5 + static_cast<std::size_t>(id.stream.number) * 7 +
                             static_cast<std::size_t>(id.device.value_or(0)) * 13) *
                            0x9E3779B97F4A7C15u;
  return series_cache_[(place >> 32) % series_cache_.size()];
}

ResultBuilder::SeriesState* ResultBuilder::find_series(const SeriesId& id) {
  const auto [from, to] = series_by_hash_.equal_range(hash_of(id));
  for (auto it = from; it != to; ++it)
    if (series_[it->second].id == id) return &series_[it->second];
  return nullptr;
}

ResultBuilder::SeriesState& ResultBuilder::add_series(const SeriesId& id, const Reading& r, bool has_step,
                                                      bool has_time) {
  series_by_hash_.emplace(hash_of(id), series_.size());
  SeriesState& state = series_.emplace_back();
  state.index = result_.series.size();
  state.counter = id.counter;
  state.label = id.label;
  state.phase = id.phase;
  state.id = {id.metric, id.stream, id.device, state.counter, state.label, state.phase};
  Series s;
  s.metric = r.metric;
  s.kind = r.kind;
  s.origin = where_;
  s.label = r.label;
  s.phase = r.phase;
  s.unit = r.unit;
  s.ambiguous_unit = r.ambiguous_unit;
  s.quantum = r.quantum;
  s.has_steps = has_step;
  s.has_times = !has_step && has_time;
  s.first_evidence = evidence();
  result_.series.push_back(std::move(s));
  return state;
}

/// Counts series, not values. Stops at the limit, so that hostile input cannot grow the set.
void ResultBuilder::count_excess_series(const SeriesId& id) {
  if (left_out_.size() < ScanLimits::series) left_out_.insert(hash_of(id));
  result_.more_series = static_cast<i64>(left_out_.size());
}

/// Chooses x for the value: the step if the series has steps, else the seconds since the first value, else the index. A
/// value without its own step goes one interval beyond the one before it. A clock without a date that falls back has
/// passed midnight.
void ResultBuilder::reading(const Reading& r, std::optional<double> step, std::optional<double> time) {
  if (!(std::abs(r.value) <= max_value) || (step && !(std::abs(*step) <= max_step))) {
    if (result_.impossible_values++ == 0) result_.first_impossible = evidence();
    return;
  }
  const Stream& here = stream();
  // Counters of the same name from two frameworks are two series. A device has one memory, whichever tool reads it.
  const std::string_view reader = mention_->reader;
  const std::string_view counter = r.metric == Metric::used ? "" : reader.substr(0, reader.find('/'));
  const SeriesId id{r.metric, stream_id(), where_.device, counter, r.label, r.phase};
  SeriesState*& cached = cached_series(id);
  ++emitted_;
  if (cached == nullptr || cached->id != id) {
    SeriesState* state = find_series(id);
    if (state == nullptr) {
      if (series_.size() >= ScanLimits::series) return count_excess_series(id);
      state = &add_series(id, r, step || here.step, time.has_value());
    }
    cached = state;
  }
  SeriesState* const state = cached;
  Series& series = result_.series[state->index];
  const double t = time.value_or(mention_->line.prefix.time.value_or(0));
  if (time) cover(*time);
  double x = static_cast<double>(series.n);
  if (series.has_steps) {
    if (step)
      x = *step;
    else if (here.step && (series.n == 0 || static_cast<double>(*here.step) > series.last_x))
      x = static_cast<double>(*here.step);
    else
      x = series.last_x + std::max(1.0, series.interval);
  } else if (series.has_times && time) {
    double moment = *time;
    if (state->t0 && moment < state->last_time && moment < 86400)
      moment += 86400 * std::ceil((state->last_time - moment) / 86400);
    if (!state->t0) state->t0 = moment;
    state->last_time = moment;
    x = moment - *state->t0;
  } else if (series.has_times) {
    x = series.last_x + series.interval;
  }
  if (!(std::abs(x) <= max_x)) x = series.last_x;
  if (r.quantum > 0) series.quantum = series.quantum > 0 ? std::min(series.quantum, r.quantum) : r.quantum;
  if (r.capacity > 0 && (series.capacity <= 0 || r.value >= series.max_value)) series.capacity = r.capacity;
  const std::size_t before = series.buckets().size();
  series.add(x, t, r.value);
  buckets_ = buckets_ - before + series.buckets().size();
  if (buckets_ > max_buckets) thin_series();
  state->last.mention = mention_;
}

/// Halves the resolution of the longest series until half of the space is free.
void ResultBuilder::thin_series() {
  for (std::size_t bucket_limit = Series::max_buckets; buckets_ > max_buckets / 2; bucket_limit /= 2) {
    buckets_ = 0;
    for (Series& series : result_.series) {
      series.thin(bucket_limit);
      buckets_ += series.buckets().size();
    }
  }
}

void ResultBuilder::end_at(bool exited, bool of_job) {
  end_ = End{stream_id(), exited, of_job, line()};
  restated_before_end_ = std::exchange(restated_, {});
}

/// All ranks print the same steps. Each step counts once, for the rank that reaches it first.
bool ResultBuilder::advances_ranks(const Stream& here, i64 step) {
  if (!where_.rank) return true;
  const bool fell = here.step && step < *here.step;
  const bool first_to_fall = fell && furthest_ && *furthest_ >= *here.step;
  if (furthest_ && !first_to_fall && step <= *furthest_) return false;
  furthest_ = step;
  return true;
}

/// True if the settings were printed again after many steps. An evaluation may repeat a single setting.
bool ResultBuilder::starts_anew() const {
  constexpr i64 min_lines = 10;
  return restated_.count >= 2 && result_.progress_lines - progress_before_ >= min_lines;
}

/// A step that falls back to the start, after new settings or after an end, starts a new run. A step that goes on after
/// an end shows that the program survived.
void ResultBuilder::step(const Step& s) {
  if (s.step && !(std::abs(static_cast<double>(*s.step)) <= max_step)) {
    if (result_.impossible_values++ == 0) result_.first_impossible = evidence();
    return;
  }
  const auto known = streams_.find(stream_id());
  const bool counted = known != streams_.end() && known->second.step;
  if (!end_ && s.step && counted && *s.step < *known->second.step && *s.step <= place_.first_step.value_or(0) &&
      starts_anew())
    begin_run();
  if (end_ && s.step) {
    // A program may retry a batch within the same step.
    if (end_->of_job || (counted ? *s.step < *known->second.step + (end_->exited ? 1 : 0) : end_->exited))
      begin_run();
    else if (counted && stream_id() == end_->stream)
      end_.reset();  // the program continued
  }
  Stream& here = stream();
  if (s.epoch) here.epoch = s.epoch;
  if (!s.step || (here.step != s.step && advances_ranks(here, *s.step))) ++result_.progress_lines;
  last_progress_.mention = mention_;
  restated_ = {};
  if (!s.step) return;
  const i64 now = *s.step;
  if (!place_.first_step) place_.first_step = now;
  if (!result_.first_step) result_.first_step = now;
  if (!here.step || now > *here.step) advance(here, 1, *mention_);
  here.step = now;
  result_.last_step = now;
}

void ResultBuilder::advance(Stream& stream, i64 times, const LineRef& mention) {
  stream.advances += times;
  if (stream.run != run_) {
    stream.run = run_;
    stream.progress = &progress_[{run_, stream_id()}];
  }
  stream.progress->advances = stream.advances;
  stream.progress->line.mention = &mention;
}

/// The next lines belong to another run of the job. Only the progress of the failed streams is still needed.
void ResultBuilder::end_run() {
  const auto failed = [&](const StreamId& stream) {
    return std::any_of(incident_contexts_.rbegin(), incident_contexts_.rend(),
                       [&](const IncidentContext& trail) { return trail.run == run_ && trail.stream == stream; });
  };
  for (auto it = progress_.lower_bound({run_, {}}); it != progress_.end();)
    it = failed(it->first.second) ? std::next(it) : progress_.erase(it);
  ++run_;
}

RunPlace ResultBuilder::place() const {
  RunPlace place = place_;
  place.progress_lines = result_.progress_lines - progress_before_;
  return place;
}

/// A bar at 0 %, or no bar. An exception redraws the bar of the loop that it ended, so a bar beyond 0 % shows how far
/// that loop came.
bool ResultBuilder::begins_to_load() const {
  const std::string_view text = mention_->line.text;
  const std::size_t share = text.find('%');
  return share == text.npos || (share > 0 && text[share - 1] == '0' && (share < 2 || text[share - 2] == ' '));
}

/// The job was started again: step counters restart, and the settings printed before belong to the new run.
void ResultBuilder::begin_run() {
  const Evidence first = restated_.first ? *restated_.first : evidence();
  restated_ = {};
  end_.reset();
  end_run();
  // All steps so far belong to the run before.
  for (auto& [id, stream] : streams_) stream.step.reset(), stream.epoch.reset();
  progress_before_ = result_.progress_lines;
  furthest_.reset();
  ++place_.number;
  place_.first_line = first.span.first_line;
  place_.first_step.reset();
  if (result_.later_runs.size() < ScanLimits::runs) result_.later_runs.push_back(first);
}

void ResultBuilder::go_on(const StepRun& run) {
  if (run.lines == 1) return;
  Stream& here = stream();
  if (run.last.line.prefix.time) emit_time(*run.last.line.prefix.time);
  if (run.epoch) here.epoch = run.epoch;
  result_.progress_lines += run.changes;
  last_progress_.mention = &run.last;
  if (run.advances > 0) advance(here, run.advances, run.advanced);
  here.step = run.step;
  result_.last_step = run.step;
}

void ResultBuilder::setting(std::string_view name, std::string_view value) {
  if (value.size() > ScanLimits::setting_bytes) return;
  const auto found = result_.settings.find(name);
  if (end_ || result_.progress_lines > progress_before_) {
    if (!restated_.first) restated_.first = evidence();
    ++restated_.count;
    restated_.changed |= found != result_.settings.end() && found->second.value != value;
  }
  if (found == result_.settings.end() && result_.settings.size() >= ScanLimits::settings) return;
  if (found != result_.settings.end() && found->second.value == value) return;  // keep the line that printed it first
  KnownSetting setting{std::string(value), evidence(), "", 0};
  if (found != result_.settings.end())
    setting.before = found->second.value, setting.before_line = found->second.evidence.span.first_line;
  result_.settings.insert_or_assign(std::string(name), std::move(setting));
}

void ResultBuilder::exit(const Exit& exit) {
  if (exit.signal || exit.code.value_or(0) != 0) {
    end_run();
    end_at(true, false);
  }
  i64& count = result_.remark_counts["exit"];
  if (static_cast<std::size_t>(++count) > ScanLimits::remarks_per_id) return;
  Event e = event_here();
  e.what = exit;
  result_.remarks.push_back(std::move(e));
}

void ResultBuilder::remark(std::string_view id, std::optional<double> number) {
  const std::string name(id);
  if (name == "run/time_limit" || name == "run/cancelled") end_at(true, true);
  if (name == "end/exception" && !(end_ && end_->exited)) end_at(false, false);
  if (name == "run/attempt") {
    const double attempt = number.value_or(1);
    if (attempt > last_attempt_ && last_attempt_ > 0) begin_run();
    last_attempt_ = std::max(attempt, last_attempt_);
  }
  // A program loads its model once. If it loads after an end, somebody started it again.
  const bool restarted = name == "run/resumed" || (name == "phase/load" && !where_.rank && begins_to_load());
  if (restarted && end_ && line() > end_->line && (end_->exited || end_->stream == stream_id()))
    begin_run();
  else if (name == "run/resumed")
    end_run();
  if (name == "collateral/terminated" && !killed_) killed_ = evidence();
  if ((name.starts_with("handled/") || name == "run/completed" || name == "run/went_on") && signs_.size() < max_signs)
    signs_.push_back({line(), claimed_through_, stream_id(), run_, name, evidence()});
  i64& count = result_.remark_counts[name];
  if (static_cast<std::size_t>(++count) > ScanLimits::remarks_per_id) {
    // The latest one matters most (the phase at the end): it replaces the latest one kept so far.
    for (auto it = result_.remarks.rbegin(); it != result_.remarks.rend(); ++it)
      if (const auto* r = std::get_if<Remark>(&it->what); r && r->id == name) {
        result_.remarks.erase(std::next(it).base());
        break;
      }
  }
  Event e = event_here();
  e.what = Remark{name, number};
  result_.remarks.push_back(std::move(e));
}

/// The launcher killed its processes, nothing printed a reason, and host RAM was nearly full. The kernel probably
/// killed one of them for it.
void ResultBuilder::emit_silent_death() {
  constexpr double nearly_full = 0.85;  // printed values are seconds old, and the peak inside a step is higher
  const bool explained = !result_.incidents.empty() || result_.remark_counts.contains("end/exception") ||
                         result_.remark_counts.contains("run/completed");
  if (!killed_ || explained) return;
  const auto full = std::find_if(result_.series.begin(), result_.series.end(), [&](const Series& s) {
    return s.metric == Metric::host_used && s.capacity > 0 && s.last_value >= nearly_full * s.capacity;
  });
  if (full == result_.series.end()) return;
  Incident incident;
  incident.oom = host_oom(Agent::signal, "launcher-kill");
  incident.oom.process = Bytes{whole_number(full->last_value), whole_number(full->quantum / 2)};
  incident.oom.capacity = Bytes{whole_number(full->capacity), whole_number(full->quantum)};
  incident.evidence = *killed_;
  incident.when.order = killed_->span.first_line;
  incident.run = place();
  result_.incidents.push_back(std::move(incident));
  incident_contexts_.push_back({{}, 0, run_, killed_->span.first_line, ""});
}

/// PyTorch's memory table counts a refused request whose message is not in the log. The cause is visible: most of the
/// cache is unused. The program that prints the table survived.
void ResultBuilder::emit_counted_refusal() {
  constexpr i64 half = 2;
  const auto counted = std::find_if(result_.remarks.rbegin(), result_.remarks.rend(), [](const Event& event) {
    const auto* remark = std::get_if<Remark>(&event.what);
    return remark != nullptr && remark->id == "allocator/failures" && remark->number.value_or(0) > 0;
  });
  if (!result_.incidents.empty() || counted == result_.remarks.rend()) return;
  const auto last = [&](Metric metric) -> std::optional<Bytes> {
    for (const Series& s : result_.series)
      if (s.metric == metric && s.origin.device == counted->origin.device)
        return Bytes{whole_number(s.last_value), whole_number(s.quantum / 2)};
    return std::nullopt;
  };
  Incident incident;
  incident.oom.framework = "pytorch";
  incident.oom.message_format = "torch-counted";
  incident.oom.allocated = last(Metric::allocated);
  incident.oom.reserved = last(Metric::reserved);
  if (!incident.oom.allocated || !incident.oom.reserved) return;
  incident.oom.unallocated = *incident.oom.reserved - *incident.oom.allocated;
  if (incident.oom.unallocated->count < incident.oom.reserved->count / half) return;
  incident.evidence = counted->evidence;
  incident.origin = counted->origin;
  incident.when = counted->when;
  incident.handled = true;
  incident.run = place();
  result_.incidents.push_back(std::move(incident));
  incident_contexts_.push_back({{}, 0, run_, counted->evidence.span.first_line, ""});
}

/// Matches remarks and later steps with the incidents, to find those that the program survived.
void ResultBuilder::finish() {
  end_block();
  emit_silent_death();
  emit_counted_refusal();
  result_.last_progress = last_progress_.evidence;
  for (std::size_t i = 0; i < series_.size(); ++i)
    if (series_[i].last.evidence) result_.series[i].last_evidence = *series_[i].last.evidence;
  for (std::size_t i = 0; i < result_.incidents.size(); ++i) {
    Incident& incident = result_.incidents[i];
    const IncidentContext& trail = incident_contexts_[i];
    const i64 last_line = trail.line;
    for (const Sign& sign : signs_) {
      if (incident.handled) continue;
      const i64 distance = sign.line - last_line;
      // The remark is about a failure above it, or printed with it. It is never about the next failure.
      const bool in_range = sign.through >= incident.evidence.span.first_line && distance <= handled_distance;
      const bool near = sign.id.starts_with("handled/") && in_range;
      // A launcher may call any job completed. That does not undo an uncaught exception.
      const bool ended_well = sign.id == "run/completed" && distance > 0 && incident.oom.frames.empty() &&
                              (sign.stream == trail.stream || sign.stream == StreamId{});
      const bool went_on = sign.id == "run/went_on" && distance > 0 && sign.run == trail.run;
      if (near || ended_well || went_on) incident.handled = true, incident.handled_by = sign.evidence;
    }
    if (!incident.handled && stepped_after(incident, trail))
      incident.handled = true, incident.handled_by = progress_.at({trail.run, trail.stream}).line.evidence;
  }
  mark_similar_handled();
}

}  // namespace oomdoctor
