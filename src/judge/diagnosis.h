// What the rules conclude from the facts: ranked causes, ranked fixes, what is held back, what would settle the rest.
// Plain data; every text is ready for people, every statement carries the names of the facts it rests on.
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

struct RankedCause {
  std::string id, title, explain;
  double probability = 0;
  bool definitional = false;                ///< a sign that proves the cause fired (a kernel line, a printed cap)
  std::vector<FiredSign> because, against;  ///< strongest first
  std::string guide = {};                   ///< see CauseRule
};

struct FixSettingText {
  std::string scope, text, from, to;
};

struct RankedFix {
  std::string id, title, source;
  std::vector<std::string> causes;
  std::optional<i64> saves_low, saves_high;
  std::string saves_formula;
  int cost = 0, risk = 0;
  bool enough = false;
  bool if_not_already = false;
  bool diagnostic = false;  ///< tells more; changes nothing about the next run
  std::string why;
  std::vector<FixSettingText> settings;
  std::vector<std::string> not_with;
  std::string verify;
  std::vector<std::string> facts;
};

struct HeldBackFix {
  std::string id, title, because;
};

struct OpenQuestion {
  std::string missing, text, command;
};

struct FixPlan {
  std::vector<std::string> fixes;
  i64 need = 0, margin = 0;
  std::optional<i64> predicted_peak;
  bool would_have_fitted = false;
};

struct Diagnosis {
  std::vector<RankedCause> causes;  ///< most probable first
  std::string cause;                ///< the first one's id, or "undetermined"
  std::vector<RankedFix> fixes;     ///< in the order to try
  std::optional<FixPlan> plan;
  std::vector<HeldBackFix> held_back;
  std::vector<OpenQuestion> questions;
};

/// Weighs all causes of the pack against the facts and prescribes. With no incident (and no risk) the result is empty.
Diagnosis judge(const RulePack& pack, const Facts& facts);

}  // namespace oomdoctor
