// The result of the rules: causes, fixes, advice that does not help, open questions. Every text is ready to print, and
// every statement has the names of its facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "facts/quotes.h"
#include "judge/rule_pack.h"
#include "oomdoctor/report.h"

namespace oomdoctor {

/// The diagnosis of one job.
struct Diagnosis {
  std::vector<ReportCause> causes;  ///< all of the pack, most probable first; impossible ones have probability 0
  std::string cause;                ///< id of the first cause, or "undetermined"; "" if nothing was judged
  std::vector<ReportFix> fixes;     ///< in the order to try
  std::optional<ReportPlan> plan;
  std::vector<HeldBack> held_back;
  std::vector<Question> questions;
};

/// Weighs all causes and plans the fixes. The facts must be those of a failure or a risk. `quotes` decide which advice
/// this log names.
Diagnosis judge(const RulePack& pack, const Facts& facts, const Quotes& quotes = {});

/// The rules' texts say "GPU". Renames the device in all of them, unless the noun is empty. Settings stay
/// unchanged, because they are commands and code.
void name_device(Diagnosis& diagnosis, const std::string& noun);

/// Replaces each "GPU" that is a whole word with `noun`. "GPUs" becomes the plural.
std::string with_device_noun(const std::string& text, const std::string& noun);

/// The command as PowerShell takes it: "export A=b" sets a variable, and a redirection replaces tee. (In cmd a remark
/// would become a part of the value.)
std::string in_power_shell(const std::string& text);

}  // namespace oomdoctor
