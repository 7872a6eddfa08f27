#include "parse/case_builder.h"

#include <algorithm>
#include <cmath>

#include "parse/same_failure.h"
#include "parse/traceback.h"

namespace oomdoctor {
namespace {

// Bounds beside those of the Case: no log comes near them.
constexpr double max_value = 64.0 * static_cast<double>(TiB);  ///< no machine has it: mmcv prints such after an epoch
constexpr double max_step = 1e15;                              ///< the same for steps
constexpr std::size_t max_signs = 4096;
constexpr std::size_t max_streams = 65536;

/// A report without numbers can only be told from the next failure by its distance: loggers, launchers and chained
/// exceptions print the same failure again within about this many lines.
constexpr i64 repeat_distance = 60;
/// Between the first line of a dump of an allocator and the exception that follows stand thousands of lines.
constexpr i64 dump_distance = 20000;
/// A line that says "skipped", "retrying with a smaller batch" belongs to a failure within this many lines.
constexpr i64 handled_distance = 15;

bool agrees(const std::optional<int>& a, const std::optional<int>& b) { return !a || !b || *a == *b; }

bool equal_numbers(const Oom& a, const Oom& b) {
  return a.request == b.request && a.capacity == b.capacity && a.free == b.free && a.allocated == b.allocated &&
         a.process == b.process && a.unallocated == b.unallocated && a.reserved == b.reserved && a.limit == b.limit;
}

}  // namespace

void CaseBuilder::begin_emit(const Cursor& cursor, std::string_view reader, const Evidence& evidence) {
  cursor_ = &cursor;
  evidence_ = evidence;
  evidence_.reader = std::string(reader);
  where_ = {};
  if (cursor.line().prefix.time) last_time_ = cursor.line().prefix.time;
  where_.rank = cursor.line().prefix.rank;
  where_.pid = cursor.line().prefix.pid;
  claimed_through_ = evidence.span.last_line;
}

void CaseBuilder::at(const Where& where) {
  if (where.rank) where_.rank = where.rank;
  if (where.device) where_.device = where.device;
  if (where.pid) where_.pid = where.pid;
  if (!where.host.empty()) where_.host = where.host;
}

std::string CaseBuilder::stream_key() const {
  if (where_.rank) return "r" + std::to_string(*where_.rank);
  if (where_.pid) return "p" + std::to_string(*where_.pid);
  return "";
}

CaseBuilder::Stream& CaseBuilder::stream() {
  if (streams_.size() >= max_streams) return streams_[""];
  return streams_[stream_key()];
}

Event CaseBuilder::event_here() const {
  Event e;
  e.evidence = evidence_;
  e.where = where_;
  e.when.order = evidence_.span.first_line;
  e.when.time = last_time_;
  const auto found = streams_.find(stream_key());
  const auto any = found != streams_.end() ? found : streams_.find("");
  if (any != streams_.end()) {
    e.when.step = any->second.step;
    e.when.epoch = any->second.epoch;
  }
  return e;
}

bool CaseBuilder::same_failure(const Incident& old, const Trail& trail, const Oom& now) const {
  if (old.oom.kind != now.kind) return false;
  if (!agrees(old.where.rank, where_.rank) || !agrees(old.where.device, where_.device)) return false;
  const auto found = streams_.find(trail.stream);
  if (found != streams_.end() && found->second.advances > trail.advances) return false;
  const i64 distance = evidence_.span.first_line - trail.line;
  if (old.oom.agent == now.agent && comes_in_parts(now.agent) && old.oom.request && now.request)
    return complement(old.oom, now) && distance <= dump_distance;
  if (old.oom.agent == Agent::tf_bfc && now.agent == Agent::tf_bfc)
    return complement(old.oom, now) && distance <= dump_distance;
  if (has_numbers(old.oom) && has_numbers(now)) return equal_numbers(old.oom, now);
  // Requests that wait for cache again and again are one condition of the server.
  if (old.oom.caught && now.caught && now.kind == OomKind::pool) return old.oom.message_format == now.message_format;
  if (old.oom.agent != now.agent || old.oom.message_format != now.message_format) return false;
  return distance <= repeat_distance && has_numbers(old.oom) == has_numbers(now);
}

void CaseBuilder::add_occurrence(std::size_t index, const Evidence& evidence) {
  Incident& incident = case_.incidents[index];
  if (incident.occurrences.size() < CaseLimits::occurrences)
    incident.occurrences.push_back(evidence);
  else
    ++incident.more_occurrences;
}

bool CaseBuilder::join_death(const Oom& now) {
  if (death_authority(now) == 0) return false;
  std::optional<std::size_t> found;
  for (std::size_t i = case_.incidents.size(); i-- > 0;) {
    const Incident& old = case_.incidents[i];
    const bool near = evidence_.span.first_line - trails_[i].line <= repeat_distance;
    const bool victim = same_victim(old, where_);
    if (!(near || victim) || !may_be_one_death(old, now, where_)) continue;
    if (!found || victim) found = i;
    if (victim) break;
  }
  if (!found) return false;
  Incident& old = case_.incidents[*found];
  trails_[*found].line = std::max(evidence_.span.first_line, claimed_through_);
  if (death_authority(now) > death_authority(old.oom)) {
    // The more trusted report places the incident; what was known before fills its gaps.
    add_occurrence(*found, old.evidence);
    Oom better = now;
    fill_gaps(better, old.oom);
    better.frames = std::move(old.oom.frames);
    better.caught |= old.oom.caught;
    old.oom = std::move(better);
    old.evidence = evidence_;
    if (where_.pid) old.where.pid = where_.pid;
  } else if (old.evidence.span.first_line != evidence_.span.first_line) {
    fill_gaps(old.oom, now);
    add_occurrence(*found, evidence_);
  }
  if (!old.where.pid) old.where.pid = where_.pid;
  if (!old.where.rank) old.where.rank = where_.rank;
  if (old.oom.frames.empty()) old.oom.frames = read_traceback(*cursor_);
  return true;
}

void CaseBuilder::oom(Oom oom) {
  if (join_death(oom)) return;
  const bool death = death_authority(oom) > 0;
  for (std::size_t i = case_.incidents.size(); i-- > 0 && !death;) {
    Incident& old = case_.incidents[i];
    if (!agrees(old.where.rank, where_.rank) || !agrees(old.where.device, where_.device)) continue;
    if (same_failure(old, trails_[i], oom)) {
      if (old.evidence.span.first_line == evidence_.span.first_line) return;
      if (comes_in_parts(oom.agent)) fill_gaps(old.oom, oom);
      add_occurrence(i, evidence_);
      if (old.oom.frames.empty()) old.oom.frames = read_traceback(*cursor_);
      if (!old.where.rank) old.where.rank = where_.rank;
      if (!old.where.device) old.where.device = where_.device;
      old.handled |= oom.caught;
      trails_[i].line = std::max(evidence_.span.first_line, claimed_through_);
      return;
    }
    if (has_numbers(oom) == has_numbers(old.oom)) break;  // a different failure in between: what comes now is new
  }
  if (case_.incidents.size() >= CaseLimits::incidents) {
    ++case_.more_incidents;
    return;
  }
  const Event here = event_here();
  Incident incident;
  if (oom.frames.empty()) oom.frames = read_traceback(*cursor_);
  incident.handled = oom.caught;
  if (oom.caught) incident.handled_by = evidence_;
  incident.oom = std::move(oom);
  incident.evidence = evidence_;
  incident.where = where_;
  incident.when = here.when;
  case_.incidents.push_back(std::move(incident));
  trails_.push_back({stream_key(), stream().advances, run_, std::max(evidence_.span.first_line, claimed_through_)});
}

void CaseBuilder::reading(const Reading& r, std::optional<double> step, std::optional<double> time) {
  if (!(std::abs(r.value) <= max_value) || (step && !(std::abs(*step) <= max_step))) {
    if (case_.impossible_values++ == 0) case_.first_impossible = evidence_;
    return;
  }
  const Stream& here = stream();
  // Two frameworks' counters of one name are two; a device's memory is one, whoever reads it.
  const std::string counter = r.metric == Metric::used ? "" : evidence_.reader.substr(0, evidence_.reader.find('/'));
  std::string key =
      std::string(to_string(r.metric)) + '|' + stream_key() + '|' + counter + '|' + r.label + '|' + r.phase;
  if (where_.device) key += "|d" + std::to_string(*where_.device);
  auto found = series_.find(key);
  if (found == series_.end()) {
    if (series_.size() >= CaseLimits::series) return;
    found = series_.emplace(key, SeriesState{case_.series.size(), {}, 0}).first;
    Series s;
    s.metric = r.metric;
    s.kind = r.kind;
    s.where = where_;
    s.label = r.label;
    s.phase = r.phase;
    s.unit = r.unit;
    s.ambiguous_unit = r.ambiguous_unit;
    s.quantum = r.quantum;
    s.has_steps = step || here.step;
    s.has_times = !s.has_steps && time;
    s.first_evidence = evidence_;
    case_.series.push_back(std::move(s));
  }
  SeriesState& state = found->second;
  Series& series = case_.series[state.index];
  const double t = time.value_or(cursor_->line().prefix.time.value_or(0));
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
    if (state.t0 && moment < state.last_time && moment < 86400)
      moment += 86400 * std::ceil((state.last_time - moment) / 86400);
    if (!state.t0) state.t0 = moment;
    state.last_time = moment;
    x = moment - *state.t0;
  } else if (series.has_times) {
    x = series.last_x + series.interval;
  }
  if (r.quantum > 0) series.quantum = series.quantum > 0 ? std::min(series.quantum, r.quantum) : r.quantum;
  series.add(x, t, r.value);
  series.last_evidence = evidence_;
}

void CaseBuilder::step(const Step& s) {
  Stream& here = stream();
  if (s.epoch) here.epoch = s.epoch;
  if (!s.step || here.step != s.step) ++case_.progress_lines;
  case_.last_progress = evidence_;
  if (!s.step) return;
  const i64 now = *s.step;
  if (!case_.first_step) case_.first_step = now;
  if (!here.step || now > *here.step) {
    ++here.advances;
    last_advance_[run_key(stream_key(), run_)] = {here.advances, evidence_};
  }
  here.step = now;
  here.step_line = evidence_.span.first_line;
  case_.last_step = now;
}

void CaseBuilder::setting(std::string_view name, std::string_view value) {
  if (case_.settings.size() >= CaseLimits::settings || value.size() > CaseLimits::setting_bytes) return;
  case_.settings[std::string(name)] = {std::string(value), evidence_};
}

std::string CaseBuilder::run_key(const std::string& stream, int run) { return std::to_string(run) + '/' + stream; }

void CaseBuilder::exit(const Exit& exit) {
  if (exit.signal || exit.code.value_or(0) != 0) ++run_;
  i64& count = case_.remark_counts["exit"];
  if (static_cast<std::size_t>(++count) > CaseLimits::remarks_per_id) return;
  Event e = event_here();
  e.what = exit;
  case_.remarks.push_back(std::move(e));
}

void CaseBuilder::remark(std::string_view id, std::optional<double> number) {
  const std::string name(id);
  if (name == "run/resumed") ++run_;
  if ((name.starts_with("handled/") || name == "run/completed" || name == "run/went_on") && signs_.size() < max_signs)
    signs_.push_back({evidence_.span.first_line, stream_key(), run_, name, evidence_});
  i64& count = case_.remark_counts[name];
  if (static_cast<std::size_t>(++count) > CaseLimits::remarks_per_id) {
    // The latest matters most (the phase at the end): it takes the place of the one before it.
    for (auto it = case_.remarks.rbegin(); it != case_.remarks.rend(); ++it)
      if (const auto* r = std::get_if<Remark>(&it->what); r && r->id == name) {
        case_.remarks.erase(std::next(it).base());
        break;
      }
  }
  Event e = event_here();
  e.what = Remark{name, number};
  case_.remarks.push_back(std::move(e));
}

void CaseBuilder::finish() {
  for (std::size_t i = 0; i < case_.incidents.size(); ++i) {
    Incident& incident = case_.incidents[i];
    const Trail& trail = trails_[i];
    const i64 last_line = trail.line;
    for (const Sign& sign : signs_) {
      if (incident.handled) continue;
      const i64 distance = sign.line - last_line;
      const bool near = distance >= -3 && distance <= handled_distance && sign.id.starts_with("handled/");
      // A launcher may call anything completed: an exception that nobody caught is not undone by it.
      const bool ended_well = sign.id == "run/completed" && distance > 0 && incident.oom.frames.empty() &&
                              (sign.stream == trail.stream || sign.stream.empty());
      const bool went_on = sign.id == "run/went_on" && distance > 0 && sign.run == trail.run;
      if (near || ended_well || went_on) incident.handled = true, incident.handled_by = sign.evidence;
    }
    const auto advance = last_advance_.find(run_key(trail.stream, trail.run));
    if (!incident.handled && incident.oom.kind != OomKind::host && advance != last_advance_.end() &&
        advance->second.first > trail.advances && advance->second.second.span.first_line > last_line)
      incident.handled = true, incident.handled_by = advance->second.second;
  }
}

}  // namespace oomdoctor
