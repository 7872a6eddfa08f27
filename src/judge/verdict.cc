#include "judge/verdict.h"

#include <algorithm>
#include <array>
#include <optional>

namespace oomdoctor {
namespace {

/// The outcome by what was read. Growth or nearly full memory turns a run without a failure into a risk.
Outcome outcome_by_the_rest(const Analysis& analysis) {
  const Outcome outcome = analysis.runs.outcome;
  const bool grows = analysis.facts.is_true("run.at_risk");
  if (outcome == Outcome::no_oom && (grows || analysis.facts.is_true("run.scarce"))) return Outcome::at_risk;
  if (outcome == Outcome::ended_otherwise && grows && !analysis.runs.memory_was_left) return Outcome::at_risk;
  return outcome;
}

bool changes_a_setting(const ReportFix& fix) {
  return !fix.diagnostic && std::any_of(fix.settings.begin(), fix.settings.end(),
                                        [](const FixSetting& setting) { return !setting.text.empty(); });
}

/// After an end that memory did not cause. An error of the program, a full disk, a time limit and a failed probe come
/// again; whether a signal, a lost node or a GPU's fault does, the log does not show. A preemption says nothing about
/// the job.
Retry decide_retry_after(const std::optional<Ending>& ending) {
  if (ending && ending->kind == "preempted") return {"retry_unchanged", ""};
  constexpr std::array lasting{"exception", "disk_full", "limit",        "timeout",
                               "exit",      "probe",     "unresponsive", "not_accepted"};
  const bool lasts = ending && std::find(lasting.begin(), lasting.end(), ending->kind) != lasting.end();
  return {lasts ? "stop" : "unknown", ""};
}

/// Whether another try makes sense. Without a setting to change, the same run would fail again. A log without a failure
/// does not show whether there was anything to try again.
Retry decide_retry(const Verdict& verdict, const Analysis& analysis, const std::vector<ReportFix>& fixes) {
  const Facts& facts = analysis.facts;
  if (verdict.outcome == Outcome::unrecognised) return {"unknown", ""};
  if (verdict.outcome == Outcome::possible_oom && verdict.cause.empty()) return {"unknown", ""};  // evidence is lost
  if (verdict.outcome == Outcome::ended_otherwise) return decide_retry_after(analysis.runs.last().ending);
  const auto& ending = analysis.runs.last().ending;
  if (verdict.outcome == Outcome::no_oom && ending && ending->kind == "exit") return decide_retry_after(ending);
  if (verdict.cause.empty() && verdict.outcome != Outcome::handled_oom) return {"unknown", ""};
  if (verdict.outcome == Outcome::handled_oom && !facts.is_true("run.loses_work")) return {"retry_unchanged", ""};
  if (facts.is_true("account.free_beyond_request") && facts.number("oom.others_count").value_or(0) > 0)
    return {"retry_unchanged", ""};
  // On the host, a diagnostic comes before any change, because a change would be a guess.
  if (facts.text("oom.kind") == "host" && !fixes.empty() && fixes.front().diagnostic)
    return {"retry_with_change", fixes.front().title};
  const auto change = std::find_if(fixes.begin(), fixes.end(), changes_a_setting);
  return change == fixes.end() ? Retry{"stop", ""} : Retry{"retry_with_change", change->title};
}

}  // namespace

bool needs_judgement(const Analysis& analysis) {
  if (analysis.facts.is_true("run.at_risk")) return true;
  if (!analysis.primary || analysis.runs.overcome) return false;
  // The program survived all failures, and something else ended it.
  const auto& runs = analysis.runs.all;
  return analysis.runs.outcome != Outcome::ended_otherwise ||
         std::any_of(runs.begin(), runs.end(), [](const RunSummary& run) { return run.failure.has_value(); });
}

Outcome outcome_with_loss(Outcome seen, bool may_hold_end) {
  switch (seen) {
    case Outcome::no_oom:
      return Outcome::possible_oom;
    case Outcome::ended_otherwise:
    case Outcome::handled_oom:
    case Outcome::at_risk:
      return may_hold_end ? Outcome::possible_oom : seen;
    default:
      return seen;
  }
}

Verdict decide_verdict(const Analysis& analysis, const Diagnosis& diagnosis) {
  Verdict verdict;
  const Outcome seen = outcome_by_the_rest(analysis);
  verdict.outcome = analysis.runs.lost ? outcome_with_loss(seen, analysis.runs.lost_end) : seen;
  // The causes may be those of an earlier run. Then the verdict about the last run names none.
  if (seen != Outcome::no_oom && seen != Outcome::ended_otherwise && seen != Outcome::unrecognised &&
      !diagnosis.cause.empty()) {
    const ReportCause& first = diagnosis.causes.front();
    verdict.cause = diagnosis.cause;
    verdict.confidence = first.probability;
    if (verdict.cause == first.cause) verdict.cause_title = first.title;
  }
  verdict.retry = decide_retry(verdict, analysis, diagnosis.fixes);
  return verdict;
}

}  // namespace oomdoctor
