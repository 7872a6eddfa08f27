// Computes the probability of every cause from the facts. The sum of a cause's weights is a log-likelihood in nats. An
// unknown sign has no weight; it is kept as a doubt, for the question that would resolve it.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "judge/rule_pack.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// Reports that people read leave out causes below it, except for the first; the JSON has them.
inline constexpr double min_shown_probability = 0.02;

/// A fact that is unknown, and how much its value could change the diagnosis.
struct MissingFact {
  std::string fact;
  /// weighted by probability; questions are ordered by it
  double gain = 0;
  std::string about;    ///< title of the cause or fix that depends on it
  bool of_fix = false;  ///< it is a fix
};

/// The causes with their probabilities, and the facts that would narrow them down.
struct WeighedCauses {
  std::vector<ReportCause> causes;  ///< see Diagnosis
  std::string top_cause;            ///< id of the first cause, or "undetermined"
  std::vector<MissingFact> doubts;
};

/// The rule of a cause in words: what it is, its signs and its fixes.
CauseExplanation explain_cause(const RulePack& pack, const CauseRule& cause);

/// Weighs all causes. The method is in causes.cc.
WeighedCauses weigh_causes(const RulePack& pack, const Facts& facts);

}  // namespace oomdoctor
