// The planner: the fixes that help against the causes, their order, and the smallest set that would have made the
// failed step fit. A fix whose condition the log refutes is held back with its reason and never offered.
#pragma once

#include <optional>
#include <vector>

#include "judge/causes.h"

namespace oomdoctor {

inline constexpr std::size_t max_held_back = 2;  ///< those with the highest rank; nobody reads more

/// The planner's result.
struct Prescription {
  std::vector<ReportFix> fixes;  ///< in the order to try
  std::vector<HeldBack> held_back;
  std::optional<ReportPlan> plan;  ///< absent if the log does not show how much memory was missing
  std::vector<MissingFact> doubts;
};

/// The relation of a fix to a log.
enum class FixStatus {
  meaningless,  ///< the program has no setting for it
  refuted,      ///< it cannot help here
  in_force,     ///< it would help, but it is already in use
  open,         ///< the log does not show whether it helps
  helps,
};

/// Evaluates the conditions of a fix. Without a failure, an unknown condition counts as refuted.
FixStatus evaluate_fix(const FixRule& rule, const Facts& facts);

/// Plans the fixes. The score is in fixes.cc.
Prescription prescribe(const RulePack& pack, const WeighedCauses& causes, const Facts& facts);

}  // namespace oomdoctor
