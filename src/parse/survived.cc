// What the end of the input tells about the failures: which of them the program survived.
//
// A text that says so stands near, the run is seen to end well, or the step went forward behind the failure. A program
// that died makes no step.
#include "parse/case_builder.h"

namespace oomdoctor {
namespace {

/// A bar is drawn once more when an exception ends its loop.
constexpr i64 last_draw = 1;
/// A line that says "skipped", "retrying with a smaller batch" belongs to a failure within this many lines.
constexpr i64 handled_distance = 15;

}  // namespace

void CaseBuilder::finish() {
  end_block();
  case_.last_progress = last_progress_.evidence;
  for (std::size_t i = 0; i < series_.size(); ++i)
    if (series_[i].last.evidence) case_.series[i].last_evidence = *series_[i].last.evidence;
  for (std::size_t i = 0; i < case_.incidents.size(); ++i) {
    Incident& incident = case_.incidents[i];
    const Trail& trail = trails_[i];
    const i64 last_line = trail.line;
    for (const Sign& sign : signs_) {
      if (incident.handled) continue;
      const i64 distance = sign.line - last_line;
      // It speaks of what stands above it, or of what it was printed with: never of the next failure.
      const bool behind = sign.through >= incident.evidence.span.first_line && distance <= handled_distance;
      const bool near = sign.id.starts_with("handled/") && behind;
      // A launcher may call anything completed: an exception that nobody caught is not undone by it.
      const bool ended_well = sign.id == "run/completed" && distance > 0 && incident.oom.frames.empty() &&
                              (sign.stream == trail.stream || sign.stream == StreamId{});
      const bool went_on = sign.id == "run/went_on" && distance > 0 && sign.run == trail.run;
      if (near || ended_well || went_on) incident.handled = true, incident.handled_by = sign.evidence;
    }
    if (!incident.handled && stepped_on(incident, trail))
      incident.handled = true, incident.handled_by = progress_.at({trail.run, trail.stream}).line.evidence;
  }
  handle_alike();
}

/// The step went forward behind the failure.
bool CaseBuilder::stepped_on(const Incident& incident, const Trail& trail) const {
  const auto found = progress_.find({trail.run, trail.stream});
  if (found == progress_.end() || incident.oom.kind == OomKind::host) return false;
  const Progress& progress = found->second;
  const i64 enough = trail.advances + (incident.oom.frames.empty() ? 0 : last_draw);
  return progress.advances > enough && progress.line.evidence->span.first_line > trail.line;
}

/// A program that logs a failure as a warning and goes on does so the last time, too.
void CaseBuilder::handle_alike() {
  for (std::size_t i = 1; i < case_.incidents.size(); ++i) {
    Incident& incident = case_.incidents[i];
    const Incident& before = case_.incidents[i - 1];
    const Trail &trail = trails_[i], &earlier = trails_[i - 1];
    const bool alike = trail.front == earlier.front && trail.run == earlier.run && trail.stream == earlier.stream &&
                       incident.oom.kind == before.oom.kind;
    const bool logged = trail.front.find("WARN") != std::string::npos && trail.front.find("Error") == std::string::npos;
    if (!incident.handled && before.handled && alike && logged && incident.oom.frames.empty())
      incident.handled = true, incident.handled_by = before.handled_by;
  }
}

}  // namespace oomdoctor
