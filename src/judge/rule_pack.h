// The rules as data: causes, fixes and myths from TOML files. Every key, name, type and place in a text is checked when
// a file is read: of the shipped ones while oomdoctor is built, of a user's folder, which may add to them or replace
// them by id, when it is loaded.
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

struct Sign {
  Expr condition;
  double weight = 0;  ///< nats
  Phrase why;
  bool definitional = false;  ///< proves the cause: lifts the cap on its probability
};

/// Evidence of a kind that can never make a cause more probable than this.
struct Ceiling {
  Expr condition;
  double at_most = 1;
  std::string why;
};

/// Samples that a rule is tested on; their paths below samples/ without the ending.
struct RuleTest {
  std::vector<std::string> fires;  ///< a cause comes first; a fix applies; a myth is warned of
  std::vector<std::string> quiet;  ///< a cause does not come first; a fix or a myth is refuted or has no meaning
};

struct CauseRule {
  std::string id, title, source;
  std::string
      title_of_use;  ///< in place of the title where a program only uses a model; "" where one title is for both
  Phrase explain;
  double prior = 0;
  std::optional<Expr> possible;  ///< where it is false, the cause is ruled out, whatever its signs say
  std::string impossible;        ///< the reason to print then
  std::vector<Sign> signs;
  std::vector<Ceiling> ceilings;
  RuleTest test;
  std::string no_fix;   ///< why there is none; "" when fixes name this cause
  std::string guide;    ///< the page about it, a path in this project; "" for a cause of the user's rules
};

struct SettingRule {
  std::string scope;          ///< its place
  std::optional<Expr> place;  ///< what that place needs
  bool general = false;       ///< that place is any program's
  Phrase text, from, to;
  std::optional<Expr> when;  ///< shown only where this is true, or left out
};

/// How a fix is carried out; the planner offers at least one that needs no change of code, and one diagnostic.
enum class FixKind { setting, outside, code, diagnostic };

struct FixRule {
  std::string id, title, source;
  std::string title_of_use;  ///< in place of the title where nothing shows a training; "" where one title is for both
  std::vector<std::string> causes;
  FixKind kind = FixKind::code;
  Expr when;                       ///< the fix helps here
  Phrase held_back;                ///< the reason to print where `when` is false; "" keeps silent about it
  std::optional<Expr> needs;       ///< where this is false the fix has no meaning: not offered, nothing is said of it
  std::optional<Expr> already;     ///< it is in force: nothing left to do. Unknown: offered "if not already set"
  std::optional<Expr> saves;       ///< bytes
  std::optional<Expr> saves_low;   ///< bytes; when absent, half of `saves`
  std::optional<Expr> saves_most;  ///< bytes; an upper bound to print where `saves` is unknown. No plan counts on it
  std::string saves_formula;
  std::string share;  ///< the part of the account that it shrinks; two fixes cannot save the same bytes of one share
  int cost = 0, risk = 0;
  double rank = 1;  ///< among equally cheap fixes, what an expert tries first; 1 is usual
  Phrase why;
  std::vector<SettingRule> settings;
  std::vector<std::string> not_with;  ///< symmetric: named once, it counts for both
  std::string verify;
  RuleTest test;
};

/// Where settings are carried out: a program, a framework, a scheduler.
struct PlaceRule {
  std::string id;             ///< its name
  std::optional<Expr> needs;  ///< what must be so for its settings to mean something
  bool general = false;       ///< words for any program: printed only where no setting of a place of its own applies
};

struct MythRule {
  std::string id, title, source;
  Expr when;  ///< the advice is popular or printed here, and wrong
  double rank = 1;
  Phrase because;
  RuleTest test;
};

class RulePack {
 public:
  /// Throws Error with file:line, the line, a caret and a did-you-mean.
  static RulePack load(const std::vector<RuleFile>& files);
  /// Reads DIR/causes/*.toml and so on, and DIR/places.toml; same id replaces. Throws Error.
  void add_folder(const std::string& folder);

  const std::map<std::string, CauseRule>& causes() const { return causes_; }
  const std::map<std::string, FixRule>& fixes() const { return fixes_; }
  const std::map<std::string, MythRule>& myths() const { return myths_; }
  const std::map<std::string, PlaceRule>& places() const { return places_; }

 private:
  template <typename Archive>
  friend void fields(Archive& archive, RulePack& pack);
  void add(const RuleFile& file);
  void check();

  std::map<std::string, CauseRule> causes_;
  std::map<std::string, FixRule> fixes_;
  std::map<std::string, MythRule> myths_;
  std::map<std::string, PlaceRule> places_;
};

/// The rules in rules/, as the build checked them (src/cmake/RulePack.cmake). Made anew by each call.
RulePack shipped_rules();

}  // namespace oomdoctor
