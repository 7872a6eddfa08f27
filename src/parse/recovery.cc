// What the steps behind a failure, and the words in which it was logged, tell: that the program survived it. A program
// that died makes no step.
#include "parse/result_builder.h"

namespace oomdoctor {
namespace {

/// A bar is drawn once more when an exception ends its loop.
constexpr i64 last_draw = 1;

/// A line up to its first number: in whose words it was logged.
std::string_view front_of(const Evidence& evidence) {
  const std::string_view line = evidence.excerpt;
  return line.substr(0, line.find_first_of("0123456789"));
}

}  // namespace

/// The step went forward behind the failure.
bool ResultBuilder::stepped_on(const Incident& incident, const IncidentContext& trail) const {
  const auto found = progress_.find({trail.run, trail.stream});
  if (found == progress_.end() || incident.oom.kind == OomKind::host) return false;
  const Progress& progress = found->second;
  const i64 enough = trail.advances + (incident.oom.frames.empty() ? 0 : last_draw);
  return progress.advances > enough && progress.line.evidence->span.first_line > trail.line;
}

/// A program that logs a failure as a warning and goes on does so the last time, too.
void ResultBuilder::handle_alike() {
  for (std::size_t i = 1; i < result_.incidents.size(); ++i) {
    Incident& incident = result_.incidents[i];
    const Incident& before = result_.incidents[i - 1];
    const std::string_view front = front_of(incident.evidence);
    const bool logged = front.find("WARN") != front.npos && front.find("Error") == front.npos;
    const bool alike = front == front_of(before.evidence) && incident.oom.kind == before.oom.kind &&
                       trails_[i].run == trails_[i - 1].run && trails_[i].stream == trails_[i - 1].stream;
    if (!incident.handled && before.handled && logged && alike && incident.oom.frames.empty())
      incident.handled = true, incident.handled_by = before.handled_by;
  }
}

}  // namespace oomdoctor
