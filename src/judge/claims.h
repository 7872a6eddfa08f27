// What the words of the rules' texts claim about a log (rules/claims.toml), and which facts a condition must ask for
// them. A text without its facts would be printed where the log does not show what it says. The same for the gaps in
// lines to copy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/rule_pack.h"
#include "text/pattern.h"

namespace oomdoctor {

/// A text that states something about this log, and the conditions under which it is printed.
struct RuleText {
  std::string rule;  ///< "causes/leak"
  std::string_view text;
  std::vector<const Expr*> conditions;
  Truth needed = Truth::yes;  ///< the value of all of them

  bool is_printed(const Facts& facts) const;
};

/// The texts of all signs, reasons, titles for special situations and myths.
std::vector<RuleText> list_rule_texts(const RulePack& pack);

struct Claim {
  std::string name;
  Regex words;
  std::optional<Regex> unless;     ///< where the words claim nothing
  std::vector<std::string> facts;  ///< names, or beginnings of names

  bool is_made_by(std::string_view text) const;
  /// True for a fact that can show it.
  bool rests_on(std::string_view fact) const;
};

/// Reads rules/claims.toml. Throws Error.
std::vector<Claim> read_claims(const std::string& path);

/// Throws Error for the first text whose conditions ask no fact of a claim that it makes. Returns the number of
/// claims made.
std::size_t check_claims(const RulePack& pack, const std::vector<Claim>& claims);

/// Throws Error for the first line to copy with a word in capitals that is neither a gap, "<JOB>", nor one of the names
/// in rules/names.toml: without its marks, a gap would be pasted.
void check_gaps(const RulePack& pack, const std::string& path);

}  // namespace oomdoctor
