#include "fold/result_merger.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "fold/incident_dedup.h"
#include "fold/path_tags.h"
#include "fold/snapshot_merger.h"

namespace oomdoctor {
namespace {

constexpr int order_bits = 40;  ///< bits of the line in When::order; the number of the file is above them

void add_to(i64& sum, i64 more) { sum = saturated_sum(sum, more); }

/// Files of several ranks are read one after the other, so only their clocks show which rank failed first.
bool was_earlier(const Incident& a, const Incident& b) {
  return a.evidence.span.source != b.evidence.span.source && a.when.time.value_or(0) > first_dated_time &&
         b.when.time.value_or(0) > first_dated_time && *a.when.time < *b.when.time;
}

/// Sets the number of the file in all evidence and orders of its result.
void set_source(ScanResult& file, int source) {
  const auto set_number = [source](Evidence& e) { e.span.source = source; };
  const auto set_if_known = [&](std::optional<Evidence>& e) {
    if (e) set_number(*e);
  };
  const auto set_order = [source](When& when) { when.order |= static_cast<i64>(source) << order_bits; };
  for (Incident& incident : file.incidents) {
    set_number(incident.evidence);
    set_order(incident.when);
    for (Evidence& e : incident.context) set_number(e);
    for (Evidence& e : incident.occurrences) set_number(e);
    set_if_known(incident.handled_by);
    set_if_known(incident.in_use);
  }
  for (Series& series : file.series)
    for (Evidence* e : {&series.first_evidence, &series.last_evidence, &series.max_evidence}) set_number(*e);
  for (auto& [name, setting] : file.settings) set_number(setting.evidence);
  for (Event& event : file.remarks) set_number(event.evidence), set_order(event.when);
  for (MemorySnapshot& snapshot : file.snapshots) snapshot.source = source;
  for (Note& note : file.notes) set_if_known(note.at);
  for (LostEvidence& some : file.lost) set_if_known(some.at);
  for (Evidence& run : file.later_runs) set_number(run);
  set_if_known(file.last_progress);
  set_if_known(file.first_impossible);
}

/// True if the diagnosis should be about `a` rather than `b`: the latest failed run of one input, else the earlier
/// failure.
bool takes_precedence(const Incident& a, const Incident& b) {
  const bool one_input = a.evidence.span.source == b.evidence.span.source;
  return one_input && a.run.number != b.run.number ? a.run.number > b.run.number : was_earlier(a, b);
}

/// The id under which the limits count a remark or an exit.
std::string_view remark_key(const Event& event) {
  const auto* remark = std::get_if<Remark>(&event.what);
  return remark != nullptr ? std::string_view(remark->id) : std::string_view("exit");
}

}  // namespace

void ResultMerger::add_incidents(ScanResult& file) {
  add_to(result_.more_incidents, file.more_incidents);
  for (Incident& incident : file.incidents) {
    if (!incident.handled && incident.origin.rank &&
        (result_.ranks.size() < ScanLimits::ranks || result_.ranks.contains(*incident.origin.rank)))
      result_.ranks[*incident.origin.rank].failed = true;
    const bool first = !incident.handled && (!first_ || takes_precedence(incident, result_.incidents[*first_]));
    if (result_.incidents.size() >= ScanLimits::incidents) {
      ++result_.more_incidents;
      if (!first) continue;
      result_.incidents.pop_back();  // the failure that the diagnosis is about always stays
    }
    if (first) first_ = result_.incidents.size();
    result_.incidents.push_back(std::move(incident));
  }
}

void ResultMerger::add_series(ScanResult& file) {
  add_to(result_.more_series, file.more_series);
  for (Series& series : file.series) {
    if (result_.series.size() >= ScanLimits::joined_series) {
      ++result_.more_series;
      continue;
    }
    const RetainedCount more = count_retained(series);
    followed_.series += more.series, followed_.buckets += more.buckets;
    result_.series.push_back(std::move(series));
  }
  // The limit is twice the final one meanwhile. So the series are not sorted again for every file.
  if (followed_.series > 2 * ScanLimits::retained_series || followed_.buckets > ScanLimits::buckets) limit();
}

void ResultMerger::limit() {
  RetentionPriority spotlight;
  if (first_) {
    const Incident& failure = result_.incidents[*first_];
    spotlight = {failure.evidence.span.source, failure.origin.rank};
  }
  limit_series(result_.series, spotlight);
  followed_ = {};
  for (const Series& series : result_.series) {
    const RetainedCount some = count_retained(series);
    followed_.series += some.series, followed_.buckets += some.buckets;
  }
}

void ResultMerger::add_progress(ScanResult& file) {
  if (!result_.first_step) result_.first_step = file.first_step;
  if (file.last_step) result_.last_step = file.last_step, result_.last_before = file.last_before;
  add_to(result_.progress_lines, file.progress_lines);
  if (file.last_progress) result_.last_progress = std::move(file.last_progress);
  result_.period.add(file.period);
}

void ResultMerger::emit_first_failure() {
  if (!course_) return;
  if (course_->progress_lines > 0) {
    result_.first_step = course_->first_step;
    result_.last_step = course_->last_step;
    result_.last_before = course_->last_before;
    result_.progress_lines = course_->progress_lines;
    result_.last_progress = std::move(course_->last_progress);
  }
  const auto key = [](const Event& e) { return std::pair(e.when.order, remark_key(e)); };
  std::set<std::pair<i64, std::string_view>> kept;
  for (const Event& event : result_.remarks) kept.insert(key(event));
  std::vector<Event> lost;
  for (Event& event : course_->remarks)
    if (!kept.contains(key(event))) lost.push_back(std::move(event));
  std::move(lost.begin(), lost.end(), std::back_inserter(result_.remarks));
  course_.reset();
}

void ResultMerger::add_remarks(ScanResult& file) {
  for (Event& event : file.remarks) {
    const std::string_view id = remark_key(event);
    if (std::size_t& kept = kept_remarks_[std::string(id)]; kept < ScanLimits::remarks_per_id) {
      ++kept;
    } else {
      if (id == "exit") continue;
      // The latest one matters most (the phase at the end): it replaces the latest one kept so far.
      const auto same = [&](const Event& e) { return remark_key(e) == id; };
      result_.remarks.erase(std::next(std::find_if(result_.remarks.rbegin(), result_.remarks.rend(), same)).base());
    }
    result_.remarks.push_back(std::move(event));
  }
  for (const auto& [id, n] : file.remark_counts) add_to(result_.remark_counts[id], n);
}

void ResultMerger::add_settings(ScanResult& file) {
  for (auto& [name, setting] : file.settings)
    if (result_.settings.size() < ScanLimits::settings || result_.settings.contains(name))
      result_.settings.insert_or_assign(name, std::move(setting));
}

void ResultMerger::add_lost(ScanResult& file) {
  add_to(result_.more_lost, file.more_lost);
  for (LostEvidence& some : file.lost) result_.lose(std::move(some));
}

void ResultMerger::add_notes(ScanResult& file) {
  add_to(result_.more_notes, file.more_notes);
  for (Note& note : file.notes) {
    // Explain a layout that a hundred files share only once.
    const bool duplicate = !note.at && std::any_of(result_.notes.begin(), result_.notes.end(),
                                                   [&](const Note& n) { return !n.at && n.text == note.text; });
    if (duplicate) continue;
    if (result_.notes.size() < ScanLimits::notes)
      result_.notes.push_back(std::move(note));
    else
      ++result_.more_notes;
  }
}

void ResultMerger::add(ScanResult file) {
  const int source = static_cast<int>(result_.inputs.size());
  set_source(file, source);
  if (const auto rank = file.inputs.empty() ? std::nullopt : rank_in_path(file.inputs.front().path);
      rank && file.take_rank(*rank)) {
    if (result_.ranks.size() < ScanLimits::ranks || result_.ranks.contains(*rank)) {
      auto& last = result_.ranks[*rank].last_step;  // std::nullopt is less than any step
      last = std::max(last, file.last_step);
    }
  }
  std::move(file.inputs.begin(), file.inputs.end(), std::back_inserter(result_.inputs));
  // Runs are a property of one log. Of many logs, each is one run.
  if (result_.inputs.size() > 1)
    result_.later_runs.clear();
  else
    result_.later_runs = std::move(file.later_runs);
  add_incidents(file);
  if (first_ && result_.incidents[*first_].evidence.span.source == source)
    course_ = {file.remarks,     file.first_step,     file.last_step,
               file.last_before, file.progress_lines, file.last_progress};
  add_series(file);
  add_settings(file);
  add_remarks(file);
  add_progress(file);
  add_to(result_.impossible_values, file.impossible_values);
  if (!result_.first_impossible) result_.first_impossible = std::move(file.first_impossible);
  add_to(result_.coverage.lines, file.coverage.lines);
  add_to(result_.coverage.claimed, file.coverage.claimed);
  for (const auto& [parser, n] : file.coverage.by_parser) add_to(result_.coverage.by_parser[parser], n);
  std::move(file.snapshots.begin(), file.snapshots.end(), std::back_inserter(result_.snapshots));
  add_lost(file);
  add_notes(file);
}

/// A log's failure comes before one that only a snapshot shows: that may be of another run.
void ResultMerger::add_snapshot_failures() {
  join_snapshots(result_);
  compare_snapshots(result_.snapshots);
  const bool log_failed = first_.has_value();
  for (MemorySnapshot& snapshot : result_.snapshots) {
    if (!snapshot.refused || snapshot.joined || result_.incidents.size() >= ScanLimits::incidents) continue;
    Incident& own = result_.incidents.emplace_back(make_incident(snapshot));
    own.when.order = static_cast<i64>(snapshot.source) << order_bits | snapshot.refused->event;
    snapshot.own = result_.incidents.size() - 1;
    if (own.handled) continue;
    if (own.origin.rank) result_.ranks[*own.origin.rank].failed = true;
    if (!log_failed && (!first_ || was_earlier(own, result_.incidents[*first_]))) first_ = snapshot.own;
  }
}

ScanResult ResultMerger::take() {
  limit();
  emit_first_failure();
  add_snapshot_failures();
  if (result_.more_series > 0)
    result_.notes.push_back(
        {Severity::note,
         "memory series beyond the first " + std::to_string(result_.series.size()) + " were left out",
         {}});
  if (result_.more_notes > 0)
    result_.notes.push_back(
        {Severity::note, std::to_string(result_.more_notes) + " more notes about single files were left out", {}});
  if (result_.impossible_values > 0)
    result_.notes.push_back({Severity::note,
                             std::to_string(result_.impossible_values) +
                                 (result_.impossible_values == 1 ? " value was" : " values were") +
                                 " left out: beyond the memory of any machine or the steps of any run",
                             result_.first_impossible});
  // Later failures of other ranks or devices follow from the first one, and so do library errors after it.
  for (std::size_t i = 0; i < result_.incidents.size() && first_; ++i) {
    Incident& incident = result_.incidents[i];
    if (incident.handled || i == *first_) continue;
    const Incident& root = result_.incidents[*first_];
    if (incident.evidence.span.source == root.evidence.span.source && incident.run.number != root.run.number) continue;
    const bool other_rank = incident.origin.rank && root.origin.rank && incident.origin.rank != root.origin.rank;
    const bool other_device =
        incident.origin.device && root.origin.device && incident.origin.device != root.origin.device;
    const bool echo = incident.oom.kind == OomKind::masked || !has_numbers(incident.oom);
    if (other_rank || other_device || echo) incident.follows = *first_;
  }
  first_.reset();
  followed_ = {};
  kept_remarks_.clear();
  return std::exchange(result_, {});
}

ScanResult join(std::vector<ScanResult> files) {
  ResultMerger joined;
  for (ScanResult& file : files) joined.add(std::move(file));
  return joined.take();
}

}  // namespace oomdoctor
