// The rules as data: causes, fixes and myths from TOML files. Every key, name, type and placeholder is checked when a
// file is read. The build checks the shipped rules. A user's folder may add rules or replace them by id; it is checked
// when it is loaded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "judge/expr.h"
#include "judge/phrase.h"

namespace oomdoctor {

/// A rule file as text: "causes/leak.toml" and its content.
struct RuleFile {
  std::string_view path;
  std::string_view text;
};

/// A condition that changes a cause's log-odds.
struct Sign {
  Expr condition;
  double weight = 0;  ///< nats
  Phrase why;
  bool definitional = false;  ///< it proves the cause and raises the cap on its probability
};

/// While the condition holds, the probability of the cause is at most `at_most`.
struct Ceiling {
  Expr condition;
  double at_most = 1;
  std::string why;
};

/// Samples that test a rule; paths below samples/ without extension.
struct RuleTest {
  std::vector<std::string> fires;  ///< the cause comes first, the fix applies, or the myth is printed
  std::vector<std::string> quiet;  ///< the cause does not come first; the fix or myth is refuted or does not apply
};

class RuleTable;

/// The title for a special situation; of a fix also its cost, its rank and the check after it. As usual where absent.
struct OtherTitle {
  Expr condition;
  std::optional<std::string> title = {};
  std::optional<int> cost = {};
  std::optional<double> rank = {};
  std::optional<std::string> verify = {};
};

/// The first of `others` whose condition is true; null if none is.
const OtherTitle* find_other_title(const std::vector<OtherTitle>& others, const Facts& facts);
/// The field of a rule in this situation: that of the fitting other title, else the usual one.
template <typename Rule, typename T>
const T& choose(const Rule& rule, T Rule::*usual, std::optional<T> OtherTitle::*field, const Facts& facts) {
  const OtherTitle* fitting = find_other_title(rule.other_titles, facts);
  return fitting != nullptr && fitting->*field ? *(fitting->*field) : rule.*usual;
}
template <typename Rule>
const std::string& choose_title(const Rule& rule, const Facts& facts) {
  return choose(rule, &Rule::title, &OtherTitle::title, facts);
}

/// The URL of the page about a cause on the site of the documentation, for this version; "" without a site.
std::string cause_guide(std::string_view site, const std::string& id);

/// A file in rules/causes/.
struct CauseRule {
  std::string id, title, source;
  std::vector<OtherTitle> other_titles;
  Phrase explain;
  /// probability before any sign, 1e-6 to 1
  double prior = 0;
  std::optional<Expr> possible;  ///< if it is false, the cause is ruled out, whatever its signs
  std::string impossible;        ///< the reason to print in that case
  std::vector<Sign> signs;
  std::vector<Ceiling> ceilings;
  RuleTest test;
  std::string no_fix;  ///< why the cause has no fix; "" if fixes name it
  std::string guide;   ///< URL of this version's page about it; "" for a cause of the user's rules, or without a site
};

/// One line to copy, for one place.
struct SettingRule {
  static constexpr double own_rank = 100;  ///< of a line in the fix's own file

  std::string program;        ///< id of the file in rules/programs/ that has it; "" if the fix's file does
  double rank = own_rank;     ///< if the log does not show the program, larger ranks are printed first
  std::string scope;          ///< name of its place
  std::optional<Expr> place;  ///< condition of the place
  std::string arguments;      ///< PlaceRule::arguments
  bool general = false;       ///< the place applies to any program
  Phrase text, from, to;
  bool prose = false;        ///< the text is not a line to copy
  std::optional<Expr> when;  ///< the line is printed only if this holds; absent means always
};

/// Why a fix that readers would expect does not help.
struct HeldBackReason {
  Expr condition;  ///< what the text claims
  Phrase because;
};

/// The kind of action that a fix requires. The planner offers at least one fix without code changes, and one
/// diagnostic.
enum class FixKind { setting, outside, code, diagnostic };

/// A file in rules/fixes/.
struct FixRule {
  std::string id, title, source;
  std::vector<OtherTitle> other_titles;
  std::vector<std::string> causes;
  FixKind kind = FixKind::code;
  Expr when;                              ///< the fix helps
  std::vector<HeldBackReason> held_back;  ///< the first one that is true is printed if the fix does not help
  std::optional<Expr> needs;       ///< if it is false, the fix does not apply to this program, and is never mentioned
  std::optional<Expr> already;     ///< the fix is already in use; if unknown, it is offered "if not already set"
  std::optional<Expr> saves;       ///< bytes
  std::optional<Expr> saves_low;   ///< bytes; when absent, half of `saves`
  std::optional<Expr> saves_most;  ///< bytes; an upper bound to print if `saves` is unknown. No plan uses it
  std::string saves_formula;
  std::string share;       ///< the part of the memory breakdown that it reduces; two fixes cannot save the same bytes
  int cost = 0, risk = 0;  ///< classes: cost 0 to 4, risk 0 to 3
  double rank = 1;         ///< factor in the order of fixes; experts try larger ones first; 1 is usual
  Phrase why;
  std::vector<SettingRule> settings;
  std::vector<std::string> not_with;  ///< symmetric: it is enough if one of the two names the other
  std::string verify;
  RuleTest test;
};

/// A place for settings: a program, a framework, a scheduler.
struct PlaceRule {
  std::string id;             ///< its name
  std::optional<Expr> needs;  ///< the condition for its settings to apply
  bool general = false;       ///< applies to any program; used only if no setting of a specific place applies
  std::string arguments;      ///< the constructor that takes its command-line options as arguments; may be empty
};

/// What a program's log calls the device if it is not a GPU.
struct DeviceNoun {
  Expr condition;
  std::string noun;  ///< "NPU"
};

/// The command of a question on one platform, instead of the usual one.
struct CommandRule {
  std::string instead_of;  ///< the beginning of the usual command
  Expr condition;
  Phrase text;
  bool prose = false;  ///< the text is not a line to copy
};

/// Facts that reports do not ask for, because no answer could change this diagnosis.
struct SettledRule {
  std::vector<std::string> facts, except;  ///< names, or beginnings that end in a dot
  Expr condition;
};

/// A file in rules/myths/: advice that does not help.
struct MythRule {
  std::string id, title, source;
  Expr when;        ///< the advice is popular or printed here, and does not help
  double rank = 1;  ///< the largest ranks are printed
  Phrase because;
  /// Advice that is popular everywhere: reports print it if a message, a setting or a line of code has such a word.
  std::vector<std::string> mentioned;
  RuleTest test;
};

/// All rules. Constant after loading, so threads may share it.
class RulePack {
 public:
  /// Throws Error with file:line, the line, a caret and a suggestion.
  static RulePack load(const std::vector<RuleFile>& files);
  /// Adds DIR/causes/*.toml, DIR/fixes/*.toml, DIR/myths/*.toml, DIR/places.toml and DIR/programs/*.toml, of a program
  /// its place and its settings. The same id replaces a rule. Throws Error.
  void add_folder(const std::string& folder);

  const NamedConditions& conditions() const { return conditions_; }
  const std::map<std::string, CauseRule>& causes() const { return causes_; }
  const std::map<std::string, FixRule>& fixes() const { return fixes_; }
  const std::map<std::string, MythRule>& myths() const { return myths_; }
  const std::map<std::string, PlaceRule>& places() const { return places_; }
  const std::vector<CommandRule>& commands() const { return commands_; }
  bool is_settled(std::string_view fact, const Facts& facts) const;
  /// "" for a GPU or an unknown device.
  std::string device_noun(const Facts& facts) const;

 private:
  template <typename Archive>
  friend void fields(Archive& archive, RulePack& pack);
  void add(const RuleFile& file);
  void add_fix(FixRule fix);
  void add_conditions(RuleTable& table);
  void add_places(RuleTable& table);
  void add_platforms(RuleTable& table);
  void add_questions(RuleTable& table);
  void add_program(const std::string& id, RuleTable& table);
  void check();

  NamedConditions conditions_;
  std::map<std::string, CauseRule> causes_;
  std::map<std::string, FixRule> fixes_;
  std::map<std::string, MythRule> myths_;
  std::map<std::string, PlaceRule> places_;
  // The first entry whose condition is true counts.
  std::vector<DeviceNoun> device_nouns_;
  std::vector<CommandRule> commands_;
  std::vector<SettledRule> settled_;
};

/// The rules in rules/, as the build checked them (src/cmake/rule_compiler.cc). Each call builds a new pack.
RulePack shipped_rules();

}  // namespace oomdoctor
