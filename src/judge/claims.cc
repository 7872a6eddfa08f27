#include "judge/claims.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "text/toml_table.h"

namespace oomdoctor {
namespace {

bool finds(const Regex& words, std::string_view text) {
  Captures captures;
  return words.search(text, captures) == Search::found;
}

/// The words in capitals in the code of a text, without those that are marked as gaps.
std::vector<std::string> list_capitals(std::string_view text) {
  static const Regex word(R"((?:\{[a-z(][^}]{0,400}\}|…|[\w$-]){1,99})");
  std::vector<std::string> found;
  for (const std::string_view code : list_code(text))
    for (Captures at; word.search(code, at, at.end) == Search::found;) {
      const bool marked = at.begin > 0 && code[at.begin - 1] == '<' && code.substr(at.end).starts_with('>');
      if (!marked && std::all_of(at.group[0].begin(), at.group[0].end(), is_upper)) found.emplace_back(at.group[0]);
    }
  return found;
}

}  // namespace

bool RuleText::is_printed(const Facts& facts) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Expr* condition) { return condition->truth(facts) == needed; });
}

std::vector<RuleText> list_rule_texts(const RulePack& pack) {
  std::vector<RuleText> all;
  const auto add = [&](const std::string& rule, std::string_view text, std::vector<const Expr*> conditions) {
    all.push_back({rule, text, std::move(conditions)});
  };
  for (const auto& [id, cause] : pack.causes()) {
    const std::string rule = "causes/" + id;
    for (const Sign& sign : cause.signs) add(rule, sign.why.text(), {&sign.condition});
    for (const Ceiling& ceiling : cause.ceilings) add(rule, ceiling.why, {&ceiling.condition});
    for (const OtherTitle& other : cause.other_titles)
      if (other.title) add(rule, *other.title, {&other.condition});
    if (cause.possible) all.push_back({rule, cause.impossible, {&*cause.possible}, Truth::no});
  }
  for (const auto& [id, fix] : pack.fixes()) {
    const std::string rule = "fixes/" + id;
    for (const HeldBackReason& reason : fix.held_back) {
      std::vector<const Expr*> conditions{&reason.condition, &fix.when};
      if (fix.needs) conditions.push_back(&*fix.needs);
      add(rule, reason.because.text(), std::move(conditions));
    }
  }
  for (const auto& [id, myth] : pack.myths()) add("myths/" + id, myth.because.text(), {&myth.when});
  return all;
}

bool Claim::is_made_by(std::string_view text) const { return finds(words, text) && !(unless && finds(*unless, text)); }

bool Claim::rests_on(std::string_view fact) const {
  return std::any_of(facts.begin(), facts.end(), [&](const std::string& begin) { return fact.starts_with(begin); });
}

std::vector<Claim> read_claims(const std::string& path) {
  const TomlFile file(path);
  TomlTable top = file.top();
  std::vector<Claim> claims;
  for (TomlTable& table : top.tables("claim")) {
    Claim claim{table.need_text("name"), Regex(table.need_text("words")), {}, table.texts("facts")};
    if (table.has("unless")) claim.unless.emplace(table.text("unless"));
    claims.push_back(std::move(claim));
    table.finish("a claim has name, words, unless and facts");
  }
  top.finish("the file has one [[claim]] for each kind of claim");
  return claims;
}

std::size_t check_claims(const RulePack& pack, const std::vector<Claim>& claims) {
  std::size_t made = 0;
  for (const RuleText& printed : list_rule_texts(pack))
    for (const Claim& claim : claims) {
      if (!claim.is_made_by(printed.text)) continue;
      ++made;
      const auto asks = [&](const Expr* condition) {
        const auto facts = condition->facts();
        return std::any_of(facts.begin(), facts.end(), [&](std::string_view fact) { return claim.rests_on(fact); });
      };
      if (std::none_of(printed.conditions.begin(), printed.conditions.end(), asks))
        throw Error(printed.rule + ".toml: \"" + std::string(printed.text) + "\" claims " + claim.name +
                        ", and its condition asks no fact of it",
                    {}, "rules/claims.toml has the facts of each claim");
    }
  return made;
}

void check_gaps(const RulePack& pack, const std::string& path) {
  const TomlFile file(path);
  TomlTable top = file.top();
  const std::vector<std::string> names = top.texts("names");
  top.finish("the file has names: words in capitals that no reader replaces");
  const auto check = [&](const std::string& rule, const Phrase& text, bool prose) {
    if (prose) return;
    for (const std::string& word : list_capitals(text.text()))
      if (std::find(names.begin(), names.end(), word) == names.end())
        throw Error(rule + ": is " + word + " a gap in \"" + text.text() + "\"?", {},
                    "write <" + word + "> for a gap, or add it to rules/names.toml");
  };
  for (const auto& [id, fix] : pack.fixes())
    for (const SettingRule& setting : fix.settings) check("fixes/" + id + ".toml", setting.text, setting.prose);
  for (const CommandRule& command : pack.commands()) check("questions.toml", command.text, command.prose);
}

}  // namespace oomdoctor
