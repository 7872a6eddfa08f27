// The decisions about a run: whether there is something to judge, the outcome, the cause, and whether to run again.
#pragma once

#include "facts/analysis.h"
#include "judge/judge.h"

namespace oomdoctor {

/// True if the rules have something to judge: growth that leads to a failure, or a failure that the job did not get
/// past.
bool needs_judgement(const Analysis& analysis);

/// The outcome of a run of which evidence is lost. `seen` is what the rest shows; `may_hold_end`: the end of the run,
/// or a failure after it, may be in the lost part. A failure that was seen stays one, and nothing rules one out.
Outcome outcome_with_loss(Outcome seen, bool may_hold_end);

/// Everything about the verdict that is not text: outcome, cause, confidence, retry. `diagnosis` is empty if nothing
/// needed judgement.
Verdict decide_verdict(const Analysis& analysis, const Diagnosis& diagnosis);

}  // namespace oomdoctor
