#include "fold/recovery.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_signs = 4096;  ///< no real log comes near it

/// Remarks like "skipped" or "retrying with a smaller batch" belong to a failure within this many lines.
constexpr i64 handled_distance = 15;

/// tqdm draws a bar once more when an exception ends its loop.
constexpr i64 redraws = 1;

/// The excerpt up to its first number: the wording of the logger.
std::string_view front_of(const Evidence& evidence) {
  const std::string_view line = evidence.excerpt;
  return line.substr(0, line.find_first_of("0123456789"));
}

/// True if the step rose after the failure. With a traceback, the last redraw of the bar does not count. A first step
/// that comes after the failure shows no rise either: it may be that redraw.
bool stepped_after(const Incident& incident, const IncidentContext& context) {
  if (!context.progress || incident.oom.kind == OomKind::host) return false;
  const bool may_be_redrawn = !incident.oom.frames.empty() || context.advances == 0;
  const i64 advances_before = context.advances + (may_be_redrawn ? redraws : 0);
  return context.progress->advances > advances_before &&
         context.progress->line.evidence->span.first_line > context.line;
}

/// A program that logs a failure as a warning and survives it does so the next time as well. Without this, the last
/// failure of such a log would look fatal.
bool is_like_handled(const Incident& incident, const IncidentContext& context, const Incident& before,
                     const IncidentContext& context_before) {
  const std::string_view front = front_of(incident.evidence);
  const bool logged = front.find("WARN") != front.npos && front.find("Error") == front.npos;
  return before.handled && logged && front == front_of(before.evidence) && incident.oom.kind == before.oom.kind &&
         context.ended == context_before.ended && context.stream == context_before.stream &&
         incident.oom.frames.empty();
}

}  // namespace

void Recovery::remark(const CurrentLine& here, std::string_view id, int ended, int run) {
  if (!id.starts_with("handled/") && id != "run/completed" && id != "run/went_on") return;
  if (signs_.size() < max_signs)
    signs_.push_back(
        {here.number(), here.claimed_through(), here.stream(), ended, run, std::string(id), here.evidence()});
}

bool Recovery::shows(const SurvivalSign& sign, const Incident& incident, const IncidentContext& context) {
  const i64 distance = sign.line - context.line;
  // The remark is about a failure above it, or printed with it. It is never about the next failure.
  if (sign.id.starts_with("handled/"))
    return sign.through >= incident.evidence.span.first_line && distance <= handled_distance;
  // A launcher may call any job completed. That does not undo an uncaught exception.
  if (sign.id == "run/completed")
    return distance > 0 && sign.run == incident.run.number && incident.oom.frames.empty() &&
           (sign.stream == context.stream || sign.stream == StreamId{});
  return distance > 0 && sign.ended == context.ended;
}

void Recovery::mark(std::vector<Incident>& incidents, const std::vector<IncidentContext>& contexts) const {
  const auto mark_handled = [](Incident& incident, const std::optional<Evidence>& by) {
    incident.handled = true;
    incident.handled_by = by;
  };
  for (std::size_t i = 0; i < incidents.size(); ++i) {
    Incident& incident = incidents[i];
    for (const SurvivalSign& sign : signs_)
      if (!incident.handled && shows(sign, incident, contexts[i])) mark_handled(incident, sign.evidence);
    if (!incident.handled && stepped_after(incident, contexts[i]))
      mark_handled(incident, contexts[i].progress->line.evidence);
  }
  for (std::size_t i = 1; i < incidents.size(); ++i)
    if (!incidents[i].handled && is_like_handled(incidents[i], contexts[i], incidents[i - 1], contexts[i - 1]))
      mark_handled(incidents[i], incidents[i - 1].handled_by);
}

}  // namespace oomdoctor
