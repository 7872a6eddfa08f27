// The planner: which fixes help against the causes at hand, in which order to try them, and the smallest set that would
// have made the failed step fit. A fix whose condition the log refutes is held back with the reason, never offered.
#pragma once

#include <optional>
#include <vector>

#include "judge/causes.h"

namespace oomdoctor {

struct Prescription {
  std::vector<RankedFix> fixes;  ///< in the order to try
  std::vector<HeldBackFix> held_back;
  std::optional<FixPlan> plan;  ///< absent where the log does not tell what was needed
  std::vector<MissingFact> doubts;
};

/// How a fix stands to what a log shows.
enum class Standing {
  meaningless,  ///< the program has no place for it
  refuted,      ///< it cannot help here
  in_force,     ///< it would help, and is done already
  open,         ///< the log does not tell
  helps,
};

Standing standing_of(const FixRule& rule, const Facts& facts);

Prescription prescribe(const RulePack& pack, const WeighedCauses& causes, const Facts& facts);

}  // namespace oomdoctor
