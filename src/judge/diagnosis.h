// The result of the rules: ranked causes, ranked fixes, held-back fixes, open questions. Plain data. Every text is
// ready to print, and every statement has the names of its facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"

namespace oomdoctor {

class RulePack;

/// One condition that spoke for or against a cause.
struct FiredSign {
  std::string text;                ///< the rule's reason with the numbers of this log filled in
  double weight = 0;               ///< nats
  std::vector<std::string> facts;  ///< names of the facts that the condition read
};

/// A cause with its probability and its reasons.
struct RankedCause {
  std::string id, title, explain;
  double probability = 0;
  bool definitional = false;                   ///< a sign that proves the cause holds (a kernel line, a printed limit)
  std::vector<FiredSign> supporting, against;  ///< strongest first
  std::string guide = {};                      ///< see CauseRule
};

/// One setting to copy: the place (`scope`), the line, and the change from one value to another ("" if none).
struct FixSettingText {
  std::string scope, text, from, to;
};

/// A fix in the order to try. Sizes are in bytes.
struct RankedFix {
  std::string id, title, source;
  std::vector<std::string> causes;
  // The expected saving; absent if it is unknown.
  std::optional<i64> saves_low, saves_high;
  std::string saves_formula;
  /// classes: cost 0 to 4, risk 0 to 3
  int cost = 0, risk = 0;
  /// it alone would have made the failed step fit
  bool enough = false;
  /// the log does not show whether it is already set
  bool if_not_already = false;
  bool diagnostic = false;  ///< provides information; changes nothing in the next run
  std::string why;
  std::vector<FixSettingText> settings;
  /// ids of fixes that it excludes
  std::vector<std::string> not_with;
  std::string verify;
  /// names of the facts that decided
  std::vector<std::string> facts;
};

/// A fix or popular advice that does not help here, with the reason.
struct HeldBackFix {
  std::string id, title, because;
};

/// A missing fact, the sentence about it, and the command that provides it.
struct OpenQuestion {
  std::string missing, text, command;
};

/// The smallest set of fixes that would have made the failed step fit. Sizes are in bytes; `need` includes `margin`.
struct FixPlan {
  /// ids
  std::vector<std::string> fixes;
  i64 need = 0, margin = 0;
  std::optional<i64> predicted_peak;
  /// the fixes together cover the need
  bool would_have_fitted = false;
};

/// The diagnosis of one job.
struct Diagnosis {
  std::vector<RankedCause> causes;  ///< most probable first
  std::string cause;                ///< id of the first cause, or "undetermined"
  std::vector<RankedFix> fixes;     ///< in the order to try
  std::optional<FixPlan> plan;
  std::vector<HeldBackFix> held_back;
  std::vector<OpenQuestion> questions;
};

/// Weighs all causes and plans the fixes. Without a failure and without a risk the result is empty.
Diagnosis judge(const RulePack& pack, const Facts& facts);

}  // namespace oomdoctor
