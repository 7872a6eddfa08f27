// A job that fails leaves several ends, and most of them are consequences of a single one. The end with the largest
// weight after the last progress line counts. Of equal ones the last counts, because the last of several chained
// exceptions is the uncaught one.
#include "growth/runs.h"

#include <algorithm>
#include <array>
#include <limits>

namespace oomdoctor {
namespace {

struct EndSpec {
  std::string_view remark, kind;
  int weight;  ///< of several ends of one run, the heaviest explains the others
  bool decides = true;
};

constexpr auto specs = std::to_array<EndSpec>({{"run/time_limit", "timeout", 7},
                                               {"run/cancelled", "cancelled", 7},
                                               {"run/preempted", "preempted", 8},
                                               {"device/hardware", "device_error", 7},
                                               {"device/fault", "device_error", 6},
                                               {"device/remapped", "device_error", 1},
                                               {"device/busy", "device_error", 4},
                                               {"disk/full", "disk_full", 6},
                                               {"limit/threads", "limit", 6},
                                               {"end/exception", "exception", 5},
                                               {"end/crash", "crash", 4},
                                               {"end/bus_error", "crash", 4},
                                               {"collateral/timeout", "nccl", 3},
                                               {"collateral/peer_gone", "peer_gone", 3},
                                               {"end/of_group", "exception", 2},
                                               {"end/signal", "signal", 6},
                                               {"end/agent_lost", "agent_lost", 8},
                                               {"end/exit_code", "signal", 1},
                                               {"end/rejected", "rejected", 6},
                                               {"end/not_accepted", "not_accepted", 6},
                                               {"end/probe", "probe", 8},
                                               {"end/unresponsive", "unresponsive", 7},
                                               {"run/completed", "finished", 3, false},
                                               {"run/ended_by_signal", "signal", 1},
                                               {"run/ended_with_status", "exit", 1},
                                               {"exit", "exit", 1, false}});

const EndSpec* find_end_spec(const Event& event) {
  const auto* remark = std::get_if<Remark>(&event.what);
  const auto* exit = std::get_if<Exit>(&event.what);
  if (exit != nullptr && !exit->signal && exit->code.value_or(0) == 0) return nullptr;
  const std::string_view id = remark != nullptr ? std::string_view(remark->id) : "exit";
  const auto spec = std::find_if(specs.begin(), specs.end(), [&](const EndSpec& s) { return s.remark == id; });
  return spec == specs.end() ? nullptr : &*spec;
}

/// True if the line is part of an incident: an exception's own line is not a separate end.
bool belongs_to_incident(const ScanResult& scan, const Span& span) {
  const auto covers = [&](const Evidence& e) {
    return e.span.source == span.source && span.first_line >= e.span.first_line && span.first_line <= e.span.last_line;
  };
  return std::any_of(scan.incidents.begin(), scan.incidents.end(), [&](const Incident& incident) {
    return covers(incident.evidence) || std::any_of(incident.occurrences.begin(), incident.occurrences.end(), covers);
  });
}

/// The only input that is the log of a program; nullopt if there are several. Exports of memory values next to it say
/// nothing of its end.
std::optional<int> find_only_log(const ScanResult& scan) {
  std::optional<int> found;
  for (std::size_t i = 0; i < scan.inputs.size(); ++i) {
    if (scan.inputs.size() > 1 && scan.inputs[i].kind != "log") continue;
    if (found) return std::nullopt;
    found = static_cast<int>(i);
  }
  return found;
}

/// No process can use its GPU after a fault of a kernel. A step up to this many lines below is the last redraw of a
/// bar.
constexpr i64 max_redraw_lines = 4;

/// The exception right above a cancellation, if there is one: the owner, or a launcher, cancels what an exception left
/// hanging. Who cancels a run at a terminal interrupts it first.
const Event* find_reason_of_cancellation(const ScanResult& scan, const Event& cancelled, i64 first) {
  constexpr i64 max_distance = 25;  // lines: advice of the program, and the notices of the other processes
  const Span& end = cancelled.evidence.span;
  const Event* reason = nullptr;
  for (const Event& event : scan.remarks) {
    const Span& span = event.evidence.span;
    const bool interrupted = remark_of(event, "end/interruption") != nullptr;
    if ((remark_of(event, "end/exception") == nullptr && !interrupted) || span.source != end.source ||
        span.first_line < first || span.first_line >= end.first_line || end.first_line - span.first_line > max_distance)
      continue;
    if (interrupted) return nullptr;
    if (!belongs_to_incident(scan, span)) reason = &event;
  }
  return reason;
}

/// Finds the end of a run in the lines [first, last] of the log `source`. Ends before the last progress line do not
/// count, because the program continued after them.
std::optional<Ending> find_ending(const ScanResult& scan, int source, i64 first, i64 last) {
  const bool progressed = scan.last_progress && scan.last_progress->span.source == source;
  const i64 progress = progressed ? scan.last_progress->span.first_line : 0;
  i64 served = 0;  // an exception in one request does not end a server
  for (const Event& event : scan.remarks)
    if (remark_of(event, "run/serving") != nullptr) served = std::max(served, event.evidence.span.first_line);
  const Event* best = nullptr;
  const EndSpec* best_spec = nullptr;
  for (const Event& event : scan.remarks) {
    const EndSpec* spec = find_end_spec(event);
    const i64 line = event.evidence.span.first_line;
    if (spec == nullptr || event.evidence.span.source != source || line < first || line > last ||
        belongs_to_incident(scan, event.evidence.span))
      continue;
    const bool redrawn = spec->remark == "device/fault" && progress - line <= max_redraw_lines;
    if ((progress <= last && line < progress && !redrawn) || (served <= last && line < served))
      continue;  // the program continued
    if (best_spec == nullptr || spec->weight > best_spec->weight ||
        (spec->weight == best_spec->weight && line > best->evidence.span.first_line))
      best = &event, best_spec = spec;
  }
  if (best == nullptr) return std::nullopt;
  const i64 since = std::max({first, progress <= last ? progress : 0, served <= last ? served : 0});
  if (best_spec->remark == "run/cancelled")
    if (const Event* reason = find_reason_of_cancellation(scan, *best, since))
      return Ending{"exception", reason->evidence, true};
  const auto* exit = std::get_if<Exit>(&best->what);
  const bool killed = exit != nullptr && exit->signal;
  return Ending{killed ? "signal" : std::string(best_spec->kind), best->evidence, best_spec->decides || killed,
                best_spec->remark == "end/of_group"};
}

/// Whether exceptions of several kinds are in the lines [first, last] of the log: a process that fails before its first
/// step leaves nothing else, so the log may have more runs than were counted.
bool has_several_ends(const ScanResult& scan, int source, i64 first, i64 last) {
  std::optional<double> known;
  for (const Event& event : scan.remarks) {
    const Remark* remark = remark_of(event, "end/exception");
    const Span& span = event.evidence.span;
    if (remark == nullptr || span.source != source || span.first_line < first || span.first_line > last) continue;
    if (known && remark->number != known) return true;
    known = remark->number;
  }
  return false;
}

/// True for a signal without a sender, for a worker that was killed when the bar of the run was full, and for a refusal
/// that only a counter shows: the log does not show that memory ended the run.
bool is_silent(const Incident& incident) {
  const bool at_the_end = incident.oom.agent == Agent::worker && incident.when.bar_full;
  return ((incident.oom.agent == Agent::signal || at_the_end) && incident.oom.kind == OomKind::host) ||
         incident.oom.has(OomTrait::refusals_counted);
}

/// True if an exception explains the kill: when one process fails, the parent of a multi-process program kills the
/// others.
bool follows_exception(const Incident& killed,
                       const std::optional<Ending>& ending) {  // in lines: the exception, the exceptions that it was
                                                               // raised from, and advice that the program prints
  constexpr i64 max_distance = 25;  // lines: the exception, what it was raised from, and advice of the program
  if (!killed.oom.has(OomTrait::sigkill) || !ending || ending->kind != "exception" || ending->of_group) return false;
  const Span &end = ending->at.span, &kill = killed.evidence.span;
  return end.source == kill.source && end.first_line < kill.first_line &&
         kill.first_line - end.first_line <= max_distance;
}

/// The outcome and the end of one run. Runs are separated only in a single log, so several logs share all incidents.
RunSummary summarize_run(const ScanResult& scan, int run, i64 first, i64 last) {
  RunSummary summary{first, last, Outcome::no_oom, std::nullopt, std::nullopt, false};
  bool handled = false, silent = true;
  for (std::size_t i = 0; i < scan.incidents.size(); ++i) {
    const Incident& incident = scan.incidents[i];
    if (scan.inputs.size() == 1 && incident.run.number != run) continue;
    handled |= incident.handled && !incident.oom.is_preemption();
    if (incident.handled) continue;
    silent &= is_silent(incident);
    if (!summary.failure) summary.failure = i;
  }
  if (const auto log = find_only_log(scan)) {
    summary.ending = find_ending(scan, *log, first, last);
    // After a failure of memory, the exceptions of the group are consequences.
    if (summary.failure && summary.ending && summary.ending->of_group) summary.ending.reset();
    summary.several_ends = has_several_ends(scan, *log, first, last);
  }
  // Who recorded the run saw that the kernel killed nothing and memory was left.
  const bool free = scan.remark_counts.contains("run/not_short");
  if (summary.failure && silent && (free || follows_exception(scan.incidents[*summary.failure], summary.ending)))
    summary.failure.reset();
  summary.outcome = summary.failure                             ? silent ? Outcome::possible_oom : Outcome::oom
                    : summary.ending && summary.ending->decides ? Outcome::ended_otherwise
                    : handled                                   ? Outcome::handled_oom
                                                                : Outcome::no_oom;
  return summary;
}

/// True if the lost evidence may hold the end of the last run. It does not if the log goes on after it and shows that
/// end itself, or if only samples of memory are lost. A status or signal does not show the reason for the end.
bool may_hold_end(const LostEvidence& lost, const std::optional<Ending>& ending) {
  if (lost.only_samples) return false;
  const bool shown = ending && ending->kind != "exit" && ending->kind != "signal";
  return !(shown && lost.at && lost.at->span.source == ending->at.span.source &&
           lost.at->span.first_line < ending->at.span.first_line);
}

/// True if the input is a table whose memory was not read: nothing else in it would show a failure.
bool is_unread_table(const ScanResult& scan) {
  return scan.series.empty() && !scan.last_progress && scan.remarks.empty() &&
         std::any_of(scan.notes.begin(), scan.notes.end(), [](const Note& note) { return note.unread; });
}

/// True if the last run progressed beyond the step of this failure.
bool was_overcome(const ScanResult& scan, const Incident& incident) {
  const bool progressed =
      scan.last_progress && scan.last_progress->span.first_line > scan.later_runs.back().span.first_line;
  return progressed && scan.last_step.value_or(0) > incident.when.step.value_or(0);
}

/// The last run, up to the judged one of a single input, that has a series of enough values; else the last with any.
std::map<int, int> find_followed(const ScanResult& scan, std::size_t judged) {
  constexpr i64 enough = 6;  // values: fewer show no shape
  std::map<int, int> with_any, with_enough;
  for (const Series& series : scan.series) {
    if (scan.inputs.size() == 1 && series.run > static_cast<int>(judged)) continue;
    const int source = series.first_evidence.span.source;
    for (auto* runs : {&with_any, &with_enough}) {
      if (runs == &with_enough && series.n < enough) continue;
      int& run = runs->try_emplace(source, series.run).first->second;
      run = std::max(run, series.run);
    }
  }
  with_enough.merge(with_any);
  return with_enough;
}

/// The lines that speak of memory, and that no program may have printed: they are not understood.
i64 count_unclear(const ScanResult& scan) {
  const auto found = scan.remark_counts.find("failure/unclear");
  return found == scan.remark_counts.end() || !scan.series.empty() ? 0 : found->second;
}

/// True for a run whose first line, such as a command, is the last of the log and shows nothing but its start.
bool has_only_begun(const ScanResult& scan, const RunSummary& run) {
  const bool progressed = scan.last_progress && scan.last_progress->span.first_line >= run.first_line;
  return run.first_line == run.last_line && !run.failure && !run.ending && !progressed;
}

// The last run decides. If it is unfinished, an earlier failure counts, unless the last run got past it.
Runs judge_runs(const ScanResult& scan) {
  Runs runs;
  std::size_t later = scan.inputs.size() == 1 ? scan.later_runs.size() : 0;
  for (std::size_t k = 0; k <= later; ++k) {
    const i64 first = k == 0 ? 1 : scan.later_runs[k - 1].span.first_line;
    const i64 last = k < later                 ? scan.later_runs[k].span.first_line - 1
                     : scan.inputs.size() == 1 ? std::max(first, scan.inputs.front().lines)
                                               : std::numeric_limits<i64>::max();
    runs.all.push_back(summarize_run(scan, static_cast<int>(k), first, last));
  }
  if (later > 0 && has_only_begun(scan, runs.all.back())) runs.all.pop_back(), --later;
  runs.judged = later;
  runs.outcome = runs.last().outcome;
  runs.lost = !scan.lost.empty();
  runs.memory_was_left = scan.remark_counts.contains("run/not_short");
  runs.lost_end = scan.more_lost > 0 || std::any_of(scan.lost.begin(), scan.lost.end(), [&](const LostEvidence& lost) {
                    return may_hold_end(lost, runs.last().ending);
                  });
  if (!scan.inputs.empty() && scan.incidents.empty() && scan.snapshots.empty() &&
      (scan.coverage.claimed <= count_unclear(scan) || is_unread_table(scan))) {
    runs.outcome = Outcome::unrecognised;
    return runs;
  }
  if (runs.last().failure || later == 0) return runs;
  std::optional<std::size_t> failed;  // the last earlier run that failed
  for (std::size_t k = 0; k < later; ++k)
    if (runs.all[k].failure) failed = k;
  if (!failed) return runs;
  runs.overcome = was_overcome(scan, scan.incidents[*runs.all[*failed].failure]);
  const std::optional<Ending>& ending = runs.last().ending;
  if (ending && ending->decides) return runs;
  if (runs.overcome || (ending && ending->kind == "finished")) {
    runs.outcome = Outcome::handled_oom;
  } else {
    runs.judged = *failed;
    runs.outcome = runs.all[*failed].outcome;
  }
  return runs;
}

}  // namespace

Runs find_runs(const ScanResult& scan) {
  Runs runs = judge_runs(scan);
  runs.followed = find_followed(scan, runs.judged);
  return runs;
}

}  // namespace oomdoctor
