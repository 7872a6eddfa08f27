// Weighs every cause of the pack against the facts. The sum of a cause's weights is a log-likelihood in nats; what is
// unknown weighs nothing, and is kept as a doubt, for the question that would settle it.
#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "judge/diagnosis.h"
#include "judge/rule_pack.h"

namespace oomdoctor {

/// A fact that is not known, and by how much knowing it could change the judgement.
struct MissingFact {
  std::string fact;
  double gain = 0;
  std::string about;  ///< title of the cause or fix that waits for it
};

struct WeighedCauses {
  std::vector<RankedCause> causes;  ///< all of the pack, most probable first; ruled out ones have probability 0
  std::string verdict;              ///< the first one's id, or "undetermined"
  std::vector<MissingFact> doubts;
};

WeighedCauses weigh_causes(const RulePack& pack, const Facts& facts);

}  // namespace oomdoctor
