#include "fold/run_tracker.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_streams = 65536;  ///< no real log comes near it

/// Settings printed again after this many progress lines start a run. An evaluation comes sooner.
constexpr i64 min_lines_of_run = 10;

/// In seconds: no program starts again and reaches its model sooner.
constexpr double shortest_start = 2;

/// A bar at 0 %, or no bar. An exception redraws the bar of the loop that it ended, so a bar beyond 0 % shows how far
/// that loop came.
bool begins_to_load(std::string_view line) {
  const std::size_t share = line.find('%');
  return share == line.npos || (share > 0 && line[share - 1] == '0' && (share < 2 || line[share - 2] == ' '));
}

/// True for a line that reports a complete epoch: "Epoch 3: 412.8 seconds", "epoch 3 took 7 min", "Epoch 3 finished".
bool reports_end_of_epoch(std::string_view line) {
  constexpr std::string_view word = "epoch";
  constexpr std::size_t reach = 200;
  // Most lines with an epoch have it as a key. A blank after an h is rare, and found without a copy of the line.
  std::size_t at = std::string_view::npos;
  do {
    at = line.substr(0, reach).find(' ', at + 1);
    if (at == line.npos) return false;
  } while (at < word.size() || lower(line[at - 1]) != 'h' || lower(line.substr(at - word.size(), word.size())) != word);
  const std::string text = lower(line.substr(at + 1, reach));
  std::size_t end = text.find_first_not_of("0123456789");
  if (end == text.npos) return false;
  const std::string_view rest =
      std::string_view(text).substr(std::min(text.find_first_not_of(" :,", end), text.size()));
  for (const std::string_view words : {"took ", "finished", "completed", "is done", "done", "ended"})
    if (rest.starts_with(words)) return true;
  const std::size_t unit = rest.find_first_not_of("0123456789.");
  return unit != 0 && unit != rest.npos && trimmed(rest.substr(unit)) == "seconds";
}

}  // namespace

RunTracker::StreamState& RunTracker::stream(const CurrentLine& here) {
  const StreamId id = here.stream();
  if (stream_ == nullptr || stream_id_ != id) {
    stream_id_ = id;
    stream_ = &streams_[streams_.size() < max_streams || streams_.contains(id) ? id : StreamId{}];
  }
  return *stream_;
}

const RunTracker::StreamState* RunTracker::find_stream(const StreamId& id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

const StreamProgress* RunTracker::find_progress(const StreamId& id) const {
  const auto found = progress_.find(id);
  return found == progress_.end() ? nullptr : &found->second;
}

RunPlace RunTracker::place() const {
  RunPlace place = place_;
  place.progress_lines = result_.progress_lines - progress_before_;
  return place;
}

const RunTracker::StreamState* RunTracker::find_common_stream(bool of_a_rank) const {
  constexpr std::size_t max_compared = 1024;
  const StreamState* common = nullptr;
  bool only_ranks = true;
  if (streams_.size() > max_compared) return nullptr;
  for (const auto& [id, stream] : streams_) {
    if (!stream.step) continue;
    only_ranks = only_ranks && id.kind == StreamId::StreamKind::rank;
    if ((of_a_rank || common != nullptr) && !only_ranks) return nullptr;  // other processes may do other work
    if (common != nullptr && (stream.step != common->step || stream.before != common->before)) return nullptr;
    common = &stream;
  }
  return common;
}

std::optional<double> RunTracker::epoch_of(const CurrentLine& here) const {
  const StreamState* stream = find_stream(here.stream());
  const bool printed = stream != nullptr && stream->epoch && stream->epoch_line == here.number() && !stream->step;
  return printed && *stream->epoch == std::floor(*stream->epoch) ? stream->epoch : std::nullopt;
}

void RunTracker::end_block() {
  for (auto& [id, progress] : progress_) progress.line.settle();
  last_progress_.settle();
}

void RunTracker::finish() {
  before_end_();
  result_.last_progress = last_progress_.evidence;
}

void RunTracker::end_at(const CurrentLine& here, bool exited, bool of_job) {
  end_ = End{here.stream(), exited, of_job, here.number(), here.ref().line.prefix.time};
  restated_before_end_ = std::exchange(restated_, {});
}

/// All ranks print the same steps. Each step counts once, for the rank that reaches it first.
bool RunTracker::advances_ranks(const StreamState& stream, const CurrentLine& here, i64 step) {
  if (!here.origin().rank) return true;
  const bool fell = stream.step && step < *stream.step;
  const bool first_to_fall = fell && furthest_ && *furthest_ >= *stream.step;
  if (furthest_ && !first_to_fall && step <= *furthest_) return false;
  furthest_ = step;
  return true;
}

/// True if the settings were printed again after many steps, or after the work was finished. An evaluation may repeat a
/// single setting.
bool RunTracker::starts_anew() const {
  if (completed_ && restated_.changed) return true;
  return (restated_.count >= 2 || restated_.arguments) && result_.progress_lines - progress_before_ >= min_lines_of_run;
}

void RunTracker::time(double time) {
  if (!(time >= first_dated_time)) return;
  time_ = time;
  if (!place_.started) place_.started = time;
}

/// A log whose first bar counts from 0 in epoch 1 numbers its epochs from 1.
void RunTracker::number_epochs(StreamState& stream, Step& step) {
  stream.shift = 0;
  if (!step.step || !step.total || !step.epoch) return;
  const bool is_epoch_one_at_0 = *step.step == step.before && step.before == *step.total;
  if (!std::exchange(stream.numbers_epochs, true) && is_epoch_one_at_0) stream.excess = *step.total;
  stream.shift = std::min(stream.excess, step.before);
  *step.step -= stream.shift;
  step.before -= stream.shift;
}

void RunTracker::step(const CurrentLine& here, const Step& printed) {
  Step s = printed;
  number_epochs(stream(here), s);
  const StreamState* known = find_stream(here.stream());
  const bool counted = known != nullptr && known->step;
  if (!end_ && s.step && counted && *s.step < *known->step && *s.step <= place_.first_step.value_or(0) && starts_anew())
    begin_run(here);
  const bool redrawn = end_ && s.step && counted && *s.step == *known->step;  // as tqdm does when its loop fails
  if (end_ && s.step && !(redrawn && !end_->exited && !end_->of_job)) {
    // A program may retry a batch within the same step.
    if (end_->of_job || (counted ? *s.step < *known->step + (end_->exited ? 1 : 0) : end_->exited))
      begin_run(here);
    else if (counted && here.stream() == end_->stream)
      end_.reset();  // the program continued
  }
  StreamState& stream = this->stream(here);
  anew_.reset();
  if (!end_ && s.step && stream.step && *s.step < *stream.step && *s.step <= place_.first_step.value_or(0))
    anew_ = Anew{here.number(), *s.step};
  if (s.epoch) {
    stream.epoch = s.epoch, stream.epoch_line = here.number();
    stream.epoch_over = !s.step && reports_end_of_epoch(here.ref().line.text);
  }
  std::optional<BarBegun> before;
  if (s.step == 0 && s.total) {
    stream.bar_line = here.number();
    before = {stream.step,   stream.total,        stream.max_total, result_.last_step,
              stream.before, result_.last_before, last_progress_};
    before->last_progress.settle();
  }
  if (s.step) {
    stream.total = s.total;
    stream.max_total = std::max(stream.max_total, s.total);
  }
  const bool counts = !s.step || (stream.step != s.step && advances_ranks(stream, here, *s.step));
  if (counts) ++result_.progress_lines;
  if (!(redrawn && end_)) last_progress_.line = &here.ref();
  restated_ = {};
  if (!s.step) return;
  const bool advances = !stream.step || *s.step > *stream.step;
  const bool drawn_again = stream.begun && stream.step == s.step && stream.total == s.total;
  if (!drawn_again) stream.begun.reset();
  if (before && !drawn_again) {
    stream.begun = std::move(before);
    stream.begun->counted = counts, stream.begun->advanced = advances;
    stream.begun->first_of_run = !place_.first_step, stream.begun->first_of_all = !result_.first_step;
  }
  if (!place_.first_step) place_.first_step = *s.step;
  if (!result_.first_step) result_.first_step = *s.step;
  if (advances) advance(stream, here, 1, here.ref());
  stream.step = *s.step;
  stream.before = s.before;
  result_.last_step = *s.step;
  result_.last_before = s.before;
}

void RunTracker::forget_items(const CurrentLine& here, double total) {
  StreamState& stream = this->stream(here);
  if (!stream.begun || !stream.total || to_double(*stream.total) != total) return;
  const BarBegun begun = *std::exchange(stream.begun, std::nullopt);
  stream.step = begun.step, stream.total = begun.total, stream.max_total = begun.max_total;
  if (begun.counted) --result_.progress_lines;
  if (begun.first_of_run) place_.first_step.reset();
  if (begun.first_of_all) result_.first_step.reset();
  stream.before = begun.before;
  if (result_.last_step == 0) {  // no other line counted since
    result_.last_step = begun.last_step, result_.last_before = begun.last_before;
    last_progress_ = begun.last_progress;
  }
  if (begun.advanced) {
    stream.advances = 0;
    progress_.erase(here.stream());
    stream.progress = nullptr, stream.run = -1;
  }
}

void RunTracker::begin_counted_run(const CurrentLine& here) {
  const i64 step = anew_->step;
  const StreamState now = stream(here);
  begin_run(here);
  --progress_before_;  // this line has counted already
  place_.first_step = step;
  stream(here).step = step;
  stream(here).before = now.before;
  stream(here).epoch = now.epoch;
}

void RunTracker::go_on(const CurrentLine& here, const StepRun& run) {
  StreamState& stream = this->stream(here);
  if (end_ && run.advances > 0 && here.stream() == end_->stream) end_.reset();  // the program continued, as in step()
  if (run.epoch) stream.epoch = run.epoch;
  result_.progress_lines += run.changes;
  last_progress_.line = &run.last;
  if (run.advances > 0) advance(stream, here, run.advances, run.advanced);
  stream.shift = std::min(stream.excess, run.before);
  if (run.step != stream.shift) stream.begun.reset();
  stream.step = run.step - stream.shift;
  stream.before = run.before - stream.shift;
  result_.last_step = *stream.step;
  result_.last_before = stream.before;
}

/// The stream's step rose `times` times, the last time in `line`.
void RunTracker::advance(StreamState& stream, const CurrentLine& here, i64 times, const LineRef& line) {
  stream.advances += times;
  if (place_.saving) place_.saved = std::exchange(place_.saving, std::nullopt);
  if (stream.run != ended_) {
    stream.run = ended_;
    stream.progress = &progress_[here.stream()];
  }
  stream.progress->advances = stream.advances;
  stream.progress->line.line = &line;
}

void RunTracker::setting(const CurrentLine& here, bool changed) {
  if (report_) return;
  if (!end_ && result_.progress_lines <= progress_before_) return;
  if (!restated_.first) restated_.first = here.evidence();
  ++restated_.count;
  restated_.changed |= changed;
}

void RunTracker::command(const CurrentLine& here) {
  if (report_) return;
  const bool worked = result_.progress_lines > progress_before_;
  if (!here.origin().rank && (worked || (end_ && here.number() > end_->line))) begin_run(here);
}

void RunTracker::exit(const CurrentLine& here, const Exit& exit) {
  if (!exit.signal && exit.code.value_or(0) == 0) return;
  end_run();
  end_at(here, true, false);
}

void RunTracker::remark(const CurrentLine& here, std::string_view id, std::optional<double> number) {
  if (id == "run/time_limit" || id == "run/cancelled" || id == "run/preempted") end_at(here, true, true);
  if (id.starts_with("report/")) report(here, id);
  if (id == "end/exception" && !(end_ && end_->exited)) end_at(here, false, false);
  if (id == "run/command") {
    // The last line of a program may advise a command after a mark. In a session, another one was before.
    if (commands_++ > 0 || number == 0) command(here);
  }
  if (id == "run/survives" && end_ && !end_->exited) end_.reset();
  if (id == "run/completed") completed_ = true;
  if (id == "run/arguments" && !here.origin().rank && !report_ && result_.progress_lines > progress_before_) {
    if (!restated_.first) restated_.first = here.evidence();
    restated_.arguments = true;
  }
  if (id == "phase/checkpoint_save") place_.saving = time_;
  if (id == "run/items") forget_items(here, number.value_or(0));
  if (id == "run/attempt") {
    const double attempt = number.value_or(1);
    if (attempt > last_attempt_ && last_attempt_ > 0) begin_run(here);
    last_attempt_ = std::max(attempt, last_attempt_);
  }
  if (id == "run/not_compiled") {
    // Nothing of that program ran, so what is above belongs to an earlier run. All ranks report it.
    const bool worked = result_.progress_lines > progress_before_;
    if (worked || (end_ && uncompiled_ != place_.number)) begin_run(here);
    uncompiled_ = place_.number;
  }
  // A program prints its arguments and loads its model once. If it does so after an end, somebody started it again.
  const bool restarted = id == "run/resumed" || id == "run/dated" || (id == "run/arguments" && !here.origin().rank) ||
                         (id == "phase/load" && !here.origin().rank && begins_to_load(here.ref().line.text));
  const auto& now = here.ref().line.prefix.time;
  const bool at_once =
      id == "phase/load" && end_ && !end_->exited && now && end_->time && *now - *end_->time < shortest_start;
  if (restarted && !at_once && !report_ && end_ && here.number() > end_->line &&
      (end_->exited || end_->stream == here.stream()))
    begin_run(here);
  else if (id == "run/resumed")
    end_run();
}

/// LSF appends the output and the report of each job to one file. The report names where the output is.
void RunTracker::report(const CurrentLine& here, std::string_view id) {
  if (id == "report/begin") {
    if (output_below_) begin_run(here, here.evidence());
    report_ = here.evidence();
  } else if (report_ && id == "report/output_above") {
    after_report_ = here.last() + 1;
    report_.reset();
  } else if (report_ && id == "report/output_below") {
    if (end_ && end_->line >= report_->span.first_line) end_.reset();  // it says how the output below ends
    output_below_ = true;
    report_.reset();
  }
}

void RunTracker::begin_line(const CurrentLine& here) {
  if (after_report_ == 0) return;
  Evidence first = here.evidence();
  first.span.first_line = std::min(first.span.first_line, after_report_);
  after_report_ = 0;
  restated_ = {};
  begin_run(here, std::move(first));
}

void RunTracker::failure(const CurrentLine& here, OomKind kind) {
  const bool ended_here = end_ && end_->line == here.number();  // this line has set the end itself
  if (ended_here) restated_ = restated_before_end_;
  const bool by_settings = (!end_ || ended_here) && starts_anew() && restated_.changed;
  if (kind == OomKind::device && (by_settings || (end_ && end_->of_job))) begin_run(here);
}

void RunTracker::end_run() {
  before_end_();
  progress_.clear();
  ++ended_;
}

/// The job was started again: step counters restart, and the settings printed before belong to the new run.
void RunTracker::begin_run(const CurrentLine& here) {
  begin_run(here, restated_.first ? *restated_.first : here.evidence());
}

void RunTracker::begin_run(const CurrentLine& here, Evidence first) {
  restated_ = {};
  anew_.reset();
  completed_ = false;
  if (place_.number > 0 && place_.first_line == first.span.first_line) return;  // another sign of the same start
  end_.reset();
  end_run();
  // All steps so far belong to the run before.
  for (auto& [id, stream] : streams_) {
    stream.step.reset(), stream.epoch.reset();
    stream.total.reset(), stream.max_total.reset();
  }
  progress_before_ = result_.progress_lines;
  furthest_.reset();
  // Beyond the limit, runs belong to the last one that is counted.
  if (result_.later_runs.size() < ScanLimits::runs) ++place_.number, result_.later_runs.push_back(first);
  place_.first_line = first.span.first_line;
  place_.first_step.reset();
  place_.started.reset(), place_.saved.reset(), place_.saving.reset();
  if (const auto& printed = here.ref().line.prefix.time) time(*printed);
}

}  // namespace oomdoctor
