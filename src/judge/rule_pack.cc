// Reads the rule files. The folder of a rule is its kind, and its file name is its id. A rule with an existing id
// replaces it. References between files (for example from a fix to its causes) are checked after all files are read.
#include "judge/rule_pack.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "base/small_file.h"
#include "facts/facts.h"
#include "judge/rule_table.h"
#include "model/program.h"
#include "oomdoctor/version.h"

namespace oomdoctor {

namespace {

constexpr double max_weight = 30;  // in nats; a larger weight is a typing error

Sign read_sign(RuleTable table) {
  Sign sign;
  sign.condition = table.need_condition("if");
  sign.weight = table.need_number("weight", -max_weight, max_weight);
  sign.why = table.need_phrase("why");
  sign.definitional = table.truth("definitional");
  table.finish();
  return sign;
}

Ceiling read_ceiling(RuleTable table) {
  Ceiling ceiling;
  ceiling.condition = table.need_condition("if");
  ceiling.at_most = table.need_number("at_most", 0, 1);
  ceiling.why = table.need_text("why");
  table.finish();
  return ceiling;
}

void read_header(RuleTable& table, std::string& title, std::string& source) {
  title = table.need_text("title");
  source = table.need_text("source");
}

std::vector<OtherTitle> read_other_titles(RuleTable& table) {
  std::vector<OtherTitle> titles;
  for (RuleTable& other : table.tables("other_title")) {
    OtherTitle& title = titles.emplace_back(OtherTitle{other.need_condition("if")});
    if (other.has("title")) title.title = other.need_text("title");
    if (other.has("cost")) title.cost = static_cast<int>(other.need_number("cost", 0, 4));
    if (other.has("rank")) title.rank = other.need_number("rank", 0.01, 100);
    if (other.has("verify")) title.verify = other.need_text("verify");
    other.finish();
  }
  return titles;
}

std::vector<HeldBackReason> read_held_back(RuleTable& table) {
  std::vector<HeldBackReason> reasons;
  for (RuleTable& reason : table.tables("held_back")) {
    reasons.push_back({reason.need_condition("if"), reason.need_phrase("because")});
    reason.finish();
  }
  return reasons;
}

RuleTest read_test(RuleTable& table) {
  RuleTest test;
  auto test_table = table.table("test");
  if (!test_table) return test;
  test.fires = test_table->texts("fires");
  test.quiet = test_table->texts("quiet");
  test_table->finish();
  return test;
}

CauseRule read_cause(RuleTable& table, const std::string& id) {
  CauseRule cause;
  cause.id = id;
  read_header(table, cause.title, cause.source);
  cause.other_titles = read_other_titles(table);
  cause.prior = table.need_number("prior", 1e-6, 1);
  cause.explain = table.need_phrase("explain");
  cause.possible = table.condition("possible");
  cause.impossible = cause.possible ? table.need_text("impossible") : table.text("impossible");
  cause.no_fix = table.text("no_fix");
  for (auto& sign : table.tables("sign")) cause.signs.push_back(read_sign(sign));
  if (cause.signs.empty()) table.fail("sign", "a cause needs a [[sign]]");
  for (auto& ceiling : table.tables("ceiling")) cause.ceilings.push_back(read_ceiling(ceiling));
  cause.test = read_test(table);
  return cause;
}

/// A line for the place `scope`.
SettingRule read_setting(RuleTable& table, std::string scope) {
  SettingRule setting;
  setting.scope = std::move(scope);
  setting.text = table.need_phrase("text");
  setting.from = table.phrase("from");
  setting.to = table.phrase("to");
  setting.prose = table.truth("prose");
  setting.when = table.condition("when");
  table.finish();
  return setting;
}

FixKind read_kind(RuleTable& table) {
  const std::string name = table.need_text("kind");
  if (name == "setting") return FixKind::setting;
  if (name == "outside") return FixKind::outside;
  if (name == "code") return FixKind::code;
  if (name == "diagnostic") return FixKind::diagnostic;
  table.fail("kind", "there is no kind \"" + name + '"', "kinds are setting, outside, code and diagnostic");
}

FixRule read_fix(RuleTable& table, const std::string& id) {
  FixRule fix;
  fix.id = id;
  read_header(table, fix.title, fix.source);
  fix.other_titles = read_other_titles(table);
  fix.causes = table.texts("for");
  if (fix.causes.empty()) table.fail("for", "a fix names the causes that it is for", "write for = [\"…\"]");
  fix.kind = read_kind(table);
  fix.when = table.need_condition("when");
  fix.needs = table.condition("needs");
  fix.held_back = read_held_back(table);
  fix.already = table.condition("already");
  fix.saves = table.size("saves");
  fix.saves_low = table.size("saves_low");
  fix.saves_most = table.size("saves_most");
  fix.saves_formula = table.text("formula");
  fix.share = table.text("share");
  fix.cost = static_cast<int>(table.need_number("cost", 0, 4));
  fix.risk = static_cast<int>(table.need_number("risk", 0, 3));
  fix.rank = table.number("rank", 1, 0, 10);
  fix.why = table.need_phrase("why");
  fix.not_with = table.texts("not_with");
  fix.verify = table.need_text("verify");
  for (auto& setting : table.tables("set")) fix.settings.push_back(read_setting(setting, setting.need_text("for")));
  fix.test = read_test(table);
  return fix;
}

MythRule read_myth(RuleTable& table, const std::string& id) {
  MythRule myth;
  myth.id = id;
  read_header(table, myth.title, myth.source);
  myth.when = table.need_condition("when");
  myth.rank = table.number("rank", 1, 0, 10);
  myth.because = table.need_phrase("because");
  myth.mentioned = table.texts("mentioned");
  myth.test = read_test(table);
  return myth;
}

/// The id of a rule: its file name without .toml.
std::string parse_id(std::string_view path, std::string_view folder) {
  std::string_view name = path.substr(folder.size());
  if (!name.ends_with(".toml")) throw Error(std::string(path) + ": a rule file ends in .toml");
  name.remove_suffix(5);
  const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), allowed))
    throw Error(std::string(path) + ": the file's name is the rule's id: small letters, digits, - and _");
  return std::string(name);
}

template <typename Rules>
std::string nearest_id(std::string_view word, const Rules& rules) {
  std::vector<std::string> ids;
  for (const auto& [id, rule] : rules) ids.push_back(id);
  const std::string nearest = did_you_mean(word, ids);
  return nearest.empty() ? std::string{} : "did you mean " + nearest + "?";
}

}  // namespace

const OtherTitle* find_other_title(const std::vector<OtherTitle>& others, const Facts& facts) {
  const auto fitting = std::find_if(others.begin(), others.end(), [&](const OtherTitle& other) {
    return other.condition.truth(facts) == Truth::yes;
  });
  return fitting == others.end() ? nullptr : &*fitting;
}

void RulePack::add(const RuleFile& file) {
  const TomlFile toml{std::string(file.path), std::string(file.text)};
  RuleTable table(toml.top(), conditions_);
  // The kind is the last folder of the path. The path stays complete, so that errors in a user's rules show it.
  const std::size_t slash = file.path.find_last_of('/');
  const std::string_view folder = file.path.substr(0, slash == std::string_view::npos ? 0 : slash);
  const std::string_view name = file.path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (name == "conditions.toml") return add_conditions(table);
  if (name == "places.toml") return add_places(table);
  if (name == "platforms.toml") return add_platforms(table);
  if (name == "questions.toml") return add_questions(table);
  const std::string id = parse_id(file.path, file.path.substr(0, file.path.size() - name.size()));
  if (folder.ends_with("causes"))
    causes_.insert_or_assign(id, read_cause(table, id));
  else if (folder.ends_with("fixes"))
    add_fix(read_fix(table, id));
  else if (folder.ends_with("myths"))
    myths_.insert_or_assign(id, read_myth(table, id));
  else if (folder.ends_with("programs"))
    add_program(id, table);
  else
    throw Error(std::string(file.path) + ": rules lie in causes/, fixes/, myths/ or programs/");
  table.finish();
}

/// A condition may use those above it.
void RulePack::add_conditions(RuleTable& table) {
  for (RuleTable& define : table.tables("define")) {
    const std::string name = define.need_text("name");
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_word_char))
      define.fail("name", "the name of a condition is letters, digits and _", "facts have a dot in their names");
    NamedCondition named{name, define.need_text("description"), define.need_condition("if")};
    conditions_.insert_or_assign(name, std::move(named));
    define.finish();
  }
  table.finish();
}

void RulePack::add_places(RuleTable& table) {
  for (RuleTable& place : table.tables("place")) {
    const std::string name = place.need_text("name");
    places_.insert_or_assign(
        name, PlaceRule{name, place.condition("needs"), place.truth("general"), place.text("arguments")});
    place.finish();
  }
  table.finish();
}

/// The entries of a later file precede the earlier ones.
void RulePack::add_platforms(RuleTable& table) {
  std::vector<DeviceNoun> nouns;
  for (RuleTable& device : table.tables("device")) {
    nouns.push_back({device.need_condition("if"), device.need_text("noun")});
    device.finish();
  }
  table.finish();
  device_nouns_.insert(device_nouns_.begin(), nouns.begin(), nouns.end());
}

namespace {

bool names_fact(const std::vector<std::string>& names, std::string_view fact) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.ends_with('.') ? fact.starts_with(name) : fact == name;
  });
}

/// The names that a rule lists. Throws Error for one that no fact has.
std::vector<std::string> read_fact_names(RuleTable& table, std::string_view key) {
  std::vector<std::string> names = table.texts(key);
  for (const std::string& name : names)
    if (const auto& specs = fact_specs();
        std::none_of(specs.begin(), specs.end(), [&](const FactSpec& spec) { return names_fact({name}, spec.name); }))
      table.fail(key, "there is no fact \"" + name + '"', "a group of facts ends in a dot");
  return names;
}

}  // namespace

/// The commands of a later file precede the earlier ones.
void RulePack::add_questions(RuleTable& table) {
  std::vector<CommandRule> commands;
  for (RuleTable& command : table.tables("command")) {
    commands.push_back({command.need_text("instead_of"), command.need_condition("if"), command.need_phrase("text"),
                        command.truth("prose")});
    command.finish();
  }
  for (RuleTable& settled : table.tables("settled")) {
    settled_.push_back(
        {read_fact_names(settled, "facts"), read_fact_names(settled, "except"), settled.need_condition("if")});
    if (settled_.back().facts.empty()) settled.fail("facts", "a rule names the facts that it settles");
    settled.finish();
  }
  table.finish();
  commands_.insert(commands_.begin(), commands.begin(), commands.end());
}

bool RulePack::is_settled(std::string_view fact, const Facts& facts) const {
  return std::any_of(settled_.begin(), settled_.end(), [&](const SettledRule& rule) {
    return names_fact(rule.facts, fact) && !names_fact(rule.except, fact) && rule.condition.truth(facts) == Truth::yes;
  });
}

std::string cause_guide(std::string_view site, const std::string& id) {
  if (site.empty()) return "";
  if (site.ends_with('/')) site.remove_suffix(1);
  return std::string(site) + "/v" + version + "/causes/" + id + ".html";
}

std::string RulePack::device_noun(const Facts& facts) const {
  for (const DeviceNoun& device : device_nouns_)
    if (device.condition.truth(facts) == Truth::yes) return device.noun;
  return "";
}

/// A fix keeps the settings that programs added to the one that it replaces.
void RulePack::add_fix(FixRule fix) {
  const auto [old, is_new] = fixes_.try_emplace(fix.id);
  if (!is_new)
    std::copy_if(old->second.settings.begin(), old->second.settings.end(), std::back_inserter(fix.settings),
                 [](const SettingRule& setting) { return !setting.program.empty(); });
  old->second = std::move(fix);
}

/// The place of a program, and its settings after those of the fix's own file, the usual programs first.
void RulePack::add_program(const std::string& id, RuleTable& table) {
  const Program program = read_program(table);
  const double rank = table.number("rank", 1, 0, 10);
  PlaceRule place{program.name, table.condition("place"), false, {}};
  if (!place.needs) {
    // The options of a program do not exist in another one. A server without a name may be any of them.
    const std::string named = " == '" + program.name + '\'', engine = "framework.engine" + named;
    place.needs = Expr::parse(program.is_engine() ? "is(" + engine + ") or (is(framework.serving) and " + engine + ")"
                                                  : "is(framework.program" + named + ')');
  }
  places_.insert_or_assign(program.name, std::move(place));
  for (auto& [name, fix] : fixes_)
    std::erase_if(fix.settings, [&](const SettingRule& setting) { return setting.program == id; });
  for (RuleTable& set : table.tables("set")) {
    const std::string name = set.need_text("fix");
    const auto fix = fixes_.find(name);
    if (fix == fixes_.end()) set.fail("fix", "there is no fix \"" + name + '"', nearest_id(name, fixes_));
    SettingRule setting = read_setting(set, program.name);
    setting.program = id;
    setting.rank = rank;
    auto& settings = fix->second.settings;
    const auto rarer =
        std::find_if(settings.begin(), settings.end(), [&](const SettingRule& other) { return other.rank < rank; });
    settings.insert(rarer, std::move(setting));
  }
}

/// Checks references between rules, copies the conditions of places into the settings, and makes not_with symmetric.
void RulePack::check() {
  std::set<std::string> fixed;
  for (const auto& [id, fix] : fixes_) {
    for (const auto& cause : fix.causes) {
      if (!causes_.contains(cause))
        throw Error("fixes/" + id + ".toml: there is no cause \"" + cause + '"', {}, nearest_id(cause, causes_));
      fixed.insert(cause);
    }
    if (fix.settings.empty()) throw Error("fixes/" + id + ".toml: a fix needs a [[set]]: a line that can be copied");
    for (const auto& other : fix.not_with)
      if (!fixes_.contains(other))
        throw Error("fixes/" + id + ".toml: not_with names no fix: \"" + other + '"', {}, nearest_id(other, fixes_));
  }
  for (const auto& [id, cause] : causes_)
    if (cause.no_fix.empty() && !fixed.contains(id))
      throw Error("causes/" + id + ".toml: no fix names this cause", {},
                  "add a fix for it, or say why there is none in no_fix");
  for (auto& [id, fix] : fixes_)
    for (SettingRule& setting : fix.settings)
      if (const auto place = places_.find(setting.scope); place != places_.end()) {
        setting.place = place->second.needs;
        setting.arguments = place->second.arguments;
        setting.general = place->second.general;
      }
  for (const auto& [id, fix] : fixes_)
    for (const auto& other : fix.not_with) {
      auto& back = fixes_.at(other).not_with;
      if (std::find(back.begin(), back.end(), id) == back.end()) back.push_back(id);
    }
}

RulePack RulePack::load(const std::vector<RuleFile>& files) {
  RulePack pack;
  for (const auto& file : files) pack.add(file);
  pack.check();
  return pack;
}

void RulePack::add_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Error(folder + ": there is no such folder", {},
                "--rules takes a folder with causes/, fixes/, myths/ or programs/");
  std::vector<fs::path> paths, first;
  for (const char* kind : {"causes", "fixes", "myths", "programs"}) {
    if (!fs::is_directory(fs::path(folder) / kind, error)) continue;
    for (fs::directory_iterator it(fs::path(folder) / kind, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".toml") paths.push_back(it->path());
    if (error) throw Error(folder + '/' + kind + ": " + error.message());
  }
  for (const char* name : {"conditions.toml", "places.toml", "platforms.toml", "questions.toml"})
    if (const fs::path file = fs::path(folder) / name; fs::is_regular_file(file, error)) first.push_back(file);
  if (paths.empty() && first.empty())
    throw Error(folder + ": holds no rules", {}, "rules lie in its folders causes/, fixes/, myths/ and programs/");
  std::sort(paths.begin(), paths.end());
  paths.insert(paths.begin(), first.begin(), first.end());
  for (const auto& path : paths) {
    const std::string text = read_small_file(path.string()), name = path.generic_string();
    add({name, text});
  }
  check();
}

}  // namespace oomdoctor
