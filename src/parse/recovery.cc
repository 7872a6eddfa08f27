// Decides whether the program survived a failure, from the steps after it and the wording of its log line. A dead
// program makes no steps.
#include "parse/result_builder.h"

namespace oomdoctor {
namespace {

/// tqdm draws a bar once more when an exception ends its loop.
constexpr i64 redraws = 1;

/// The excerpt up to its first number: the wording of the logger.
std::string_view front_of(const Evidence& evidence) {
  const std::string_view line = evidence.excerpt;
  return line.substr(0, line.find_first_of("0123456789"));
}

}  // namespace

/// True if the step rose after the failure. With a traceback, the last redraw of the bar does not count.
bool ResultBuilder::stepped_after(const Incident& incident, const IncidentContext& trail) const {
  const auto found = progress_.find({trail.run, trail.stream});
  if (found == progress_.end() || incident.oom.kind == OomKind::host) return false;
  const Progress& progress = found->second;
  const i64 min_advances = trail.advances + (incident.oom.frames.empty() ? 0 : redraws);
  return progress.advances > min_advances && progress.line.evidence->span.first_line > trail.line;
}

/// A program that logs a failure as a warning and survives it does so the next time, too. Without this, the last
/// failure of such a log would look fatal.
void ResultBuilder::mark_similar_handled() {
  for (std::size_t i = 1; i < result_.incidents.size(); ++i) {
    Incident& incident = result_.incidents[i];
    const Incident& before = result_.incidents[i - 1];
    const std::string_view front = front_of(incident.evidence);
    const bool logged = front.find("WARN") != front.npos && front.find("Error") == front.npos;
    const bool alike = front == front_of(before.evidence) && incident.oom.kind == before.oom.kind &&
                       incident_contexts_[i].run == incident_contexts_[i - 1].run &&
                       incident_contexts_[i].stream == incident_contexts_[i - 1].stream;
    if (!incident.handled && before.handled && logged && alike && incident.oom.frames.empty())
      incident.handled = true, incident.handled_by = before.handled_by;
  }
}

}  // namespace oomdoctor
