// Loading rules: the invariants of the shipped pack, and errors that quote the line of the file.
#include "catch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "judge/rule_pack.h"
#include "oomdoctor/version.h"

using namespace oomdoctor;

namespace {

constexpr std::string_view small_cause = R"(title   = "Something"
source  = "C0"
prior   = 0.1
explain = "Something happened."
no_fix  = "nothing helps"
[[sign]]
if     = 'oom.free < oom.request'
weight = 1
why    = "only {oom.free} was free"
)";

constexpr std::string_view small_fix = R"(title  = "Do something"
source = "F0"
for    = ["something"]
kind   = "setting"
when   = 'oom.free < oom.request'
cost   = 0
risk   = 0
why    = "It helps."
verify = "it passes"
[[set]]
for  = "environment"
text = "export A=1"
)";

constexpr std::string_view small_program = R"(name = "Mine"
work = "serves"
words = [{ name = "mine", anchor = "mine serve", example = "+ mine serve" }]

[[set]]
fix  = "do-it"
text = "mine --less"
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

Error error_of(std::string_view cause, std::string_view fix = small_fix) {
  try {
    RulePack::load({{"causes/something.toml", cause}, {"fixes/do-it.toml", fix}});
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

const RulePack& shipped() {
  static const RulePack pack = shipped_rules();
  return pack;
}

}  // namespace

TEST_CASE("a site of the documentation has a page for each cause and version") {
  CHECK(cause_guide("", "leak").empty());
  CHECK(cause_guide("https://docs.example", "leak") ==
        std::string("https://docs.example/v") + version + "/causes/leak.html");
  CHECK(cause_guide("https://docs.example/", "leak") == cause_guide("https://docs.example", "leak"));
}

TEST_CASE("a cause and a fix are read") {
  const RulePack pack = RulePack::load({{"causes/something.toml", small_cause}, {"fixes/do-it.toml", small_fix}});
  REQUIRE(pack.causes().contains("something"));
  CHECK(pack.causes().at("something").prior == 0.1);
  CHECK(pack.causes().at("something").signs.size() == 1);
  REQUIRE(pack.fixes().contains("do-it"));
  CHECK(pack.fixes().at("do-it").kind == FixKind::setting);
}

TEST_CASE("an unknown fact is shown in its line, with the nearest known one") {
  const Error error = error_of(replaced(small_cause, "'oom.free <", "'oom.fre <"));
  CHECK(std::string(error.what()) == "causes/something.toml:7: there is no fact \"oom.fre\"");
  CHECK(error.excerpt() == "if     = 'oom.fre < oom.request'\n          ^");
  CHECK(error.help() == "did you mean oom.free?");
}

TEST_CASE("an error about a misspelt key names the right one") {
  const Error error = error_of(replaced(small_cause, "weight = 1", "wieght = 1"));
  CHECK(std::string(error.what()) == "causes/something.toml:6: the key \"weight\" is missing");
  const Error extra = error_of(replaced(small_cause, "prior   = 0.1", "prior   = 0.1\nexplian = \"x\""));
  CHECK(std::string(extra.what()) == "causes/something.toml:4: unknown key \"explian\"");
  CHECK(extra.excerpt() == "explian = \"x\"\n^");
  CHECK(extra.help() == "did you mean explain?");
}

TEST_CASE("wrong types and ranges are refused when the pack is loaded") {
  CHECK(std::string(error_of(replaced(small_cause, "weight = 1", "weight = \"1\"")).what()) ==
        "causes/something.toml:8: \"weight\" must be a number");
  CHECK(std::string(error_of(replaced(small_cause, "weight = 1", "weight = 99")).help()) ==
        "it must lie between -30 and 30");
  CHECK(std::string(error_of(replaced(small_cause, "'oom.free < oom.request'", "'oom.free'")).what()) ==
        "causes/something.toml:7: \"if\" must be a condition, not a number or a text");
  CHECK(std::string(error_of(replaced(small_cause, "'oom.free < oom.request'", "\"oom.kind > 3\"")).what()) ==
        "causes/something.toml:7: a text is compared with a number");
  CHECK(
      std::string(error_of(small_cause, replaced(small_fix, "cost   = 0", "cost   = 0\nsaves  = 'settings.batch_size'"))
                      .what()) == "fixes/do-it.toml:7: \"saves\" must be a size in bytes");
}

TEST_CASE("facts in texts are checked, too") {
  const Error error = error_of(replaced(small_cause, "{oom.free}", "{oom.freee}"));
  CHECK(std::string(error.what()) == "causes/something.toml:9: there is no fact \"oom.freee\"");
  CHECK(error.excerpt() == "why    = \"only {oom.freee} was free\"\n                ^");
}

TEST_CASE("rules that contradict each other are refused") {
  CHECK(std::string(error_of(small_cause, replaced(small_fix, "[\"something\"]", "[\"somthing\"]")).what()) ==
        "fixes/do-it.toml: there is no cause \"somthing\"");
  CHECK(error_of(small_cause, replaced(small_fix, "[\"something\"]", "[\"somthing\"]")).help() ==
        "did you mean something?");
  CHECK(std::string(
            error_of(small_cause, replaced(small_fix, "cost   = 0", "cost   = 0\nnot_with = [\"nobody\"]")).what()) ==
        "fixes/do-it.toml: not_with names no fix: \"nobody\"");
  CHECK_THROWS_WITH(
      RulePack::load({{"causes/something.toml", replaced(small_cause, "no_fix  = \"nothing helps\"\n", "")}}),
      "causes/something.toml: no fix names this cause");
  CHECK_THROWS_WITH(RulePack::load({{"causes/Some thing.toml", small_cause}}),
                    ContainsSubstring("the file's name is the rule's id"));
  CHECK_THROWS_WITH(RulePack::load({{"elsewhere/something.toml", small_cause}}),
                    ContainsSubstring("rules lie in causes/, fixes/, myths/ or programs/"));
}

TEST_CASE("a named condition stands for its text") {
  constexpr std::string_view conditions = R"([[define]]
name        = "short"
description = "too little was free"
if          = 'oom.free < oom.request or oom.limit > 0'

[[define]]
name        = "short_on_device"
description = "too little of the GPU was free"
if          = 'short and oom.kind == "device"'
)";
  const auto sign = [&](std::string_view text) {
    return RulePack::load({{"conditions.toml", conditions},
                           {"causes/something.toml", replaced(small_cause, "'oom.free < oom.request'", text)},
                           {"fixes/do-it.toml", small_fix}})
        .causes()
        .at("something")
        .signs.at(0)
        .condition;
  };
  const auto facts = [](double free, const char* kind) {
    Facts all;
    all.set("oom.free", Number{free, 0});
    all.set("oom.request", Number{2, 0});
    all.set("oom.kind", std::string(kind));
    return all;
  };
  CHECK(sign("'short_on_device'").truth(facts(1, "device")) == Truth::yes);
  CHECK(sign("'short_on_device'").truth(facts(1, "host")) == Truth::no);
  CHECK(sign("'not short'").truth(facts(1, "host")) == Truth::no);
  CHECK(sign("'short'").truth(facts(3, "host")) == Truth::unknown);  // a limit is not in the log
  CHECK(sign("'is(short)'").truth(facts(3, "host")) == Truth::no);
  CHECK(sign("'short and oom.request > 1 B'").evaluate(facts(1, "host")).facts ==
        std::vector<std::string_view>{"oom.free", "oom.request"});
  CHECK_THROWS_WITH(sign("'shorter'"), ContainsSubstring("there is no fact \"shorter\""));
  CHECK_THROWS_WITH(sign("'known(short)'"), ContainsSubstring("there is no fact \"short\""));
  CHECK_THROWS_WITH(RulePack::load({{"conditions.toml", replaced(conditions, "\"short\"", "\"oom.short\"")}}),
                    StartsWith("conditions.toml:2: the name of a condition is letters, digits and _"));
}

TEST_CASE("a settled fact is not asked for") {
  const auto pack = [](std::string_view settled) { return RulePack::load({{"questions.toml", settled}}); };
  constexpr std::string_view driver = R"([[settled]]
facts  = ["oom.", "trend.points"]
except = ["oom.capacity"]
if     = "oom.agent == 'driver'"
)";
  Facts facts;
  CHECK_FALSE(pack(driver).is_settled("oom.request", facts));
  facts.set("oom.agent", std::string("driver"));
  CHECK(pack(driver).is_settled("oom.request", facts));
  CHECK(pack(driver).is_settled("trend.points", facts));
  CHECK_FALSE(pack(driver).is_settled("oom.capacity", facts));
  CHECK_FALSE(pack(driver).is_settled("trend.rate", facts));
  CHECK_THROWS_WITH(pack(replaced(driver, "trend.points", "trend.pints")),
                    ContainsSubstring("there is no fact \"trend.pints\""));
  CHECK_THROWS_WITH(pack(replaced(driver, "\"oom.\", \"trend.points\"", "")),
                    ContainsSubstring("a rule names the facts that it settles"));
}

TEST_CASE("a program is a place and adds its settings to the fixes") {
  const auto load = [](std::string_view program, std::string_view fix = small_fix) {
    return RulePack::load(
        {{"causes/something.toml", small_cause}, {"fixes/do-it.toml", fix}, {"programs/mine.toml", program}});
  };
  const RulePack pack = load(small_program);
  REQUIRE(pack.places().contains("Mine"));
  const auto& settings = pack.fixes().at("do-it").settings;
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].program.empty());
  CHECK(settings[1].program == "mine");
  CHECK(settings[1].scope == "Mine");
  CHECK(settings[1].place.has_value());
  CHECK_THROWS_WITH(load(replaced(small_program, "do-it", "do-at")),
                    StartsWith("programs/mine.toml:6: there is no fix \"do-at\""));
  CHECK_THROWS_WITH(load(replaced(small_program, "serves", "serve")),
                    StartsWith("programs/mine.toml:2: there is no work \"serve\""));
  CHECK_THROWS_WITH(load(replaced(small_program, "words", "wrods")), ContainsSubstring("unknown key \"wrods\""));
  CHECK_NOTHROW(load(small_program, small_fix.substr(0, small_fix.find("[[set]]"))));
}

TEST_CASE("a program's settings are ordered by its rank, and survive a replaced fix") {
  const std::string rare = replaced(replaced(small_program, "\"Mine\"", "\"Rare\""), "work", "rank = 0.5\nwork");
  const std::string usual = replaced(replaced(small_program, "\"Mine\"", "\"Usual\""), "work", "rank = 2\nwork");
  const RulePack pack = RulePack::load({{"causes/something.toml", small_cause},
                                        {"fixes/do-it.toml", small_fix},
                                        {"programs/mine.toml", small_program},
                                        {"programs/rare.toml", rare},
                                        {"programs/usual.toml", usual},
                                        {"programs/mine.toml", small_program},
                                        {"fixes/do-it.toml", small_fix}});
  std::vector<std::string> places;
  for (const SettingRule& setting : pack.fixes().at("do-it").settings) places.push_back(setting.scope);
  CHECK(places == std::vector<std::string>{"environment", "Usual", "Mine", "Rare"});
}

TEST_CASE("text that is not TOML is an error with its line") {
  const Error error = error_of("title = \"Something\"\nsource = \n");
  CHECK_THAT(std::string(error.what()), StartsWith("causes/something.toml:2: "));
}

TEST_CASE("a folder adds rules and replaces those with the same id") {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / "oomdoctor_rule_pack_test";
  fs::remove_all(root);
  fs::create_directories(root / "causes");
  std::ofstream(root / "causes" / "something.toml") << replaced(small_cause, "prior   = 0.1", "prior   = 0.2");
  RulePack pack = RulePack::load({{"causes/something.toml", small_cause}, {"fixes/do-it.toml", small_fix}});
  pack.add_folder(root.string());
  CHECK(pack.causes().size() == 1);
  CHECK(pack.causes().at("something").prior == 0.2);
  std::ofstream(root / "causes" / "something.toml") << "title = 3\n";
  try {
    pack.add_folder(root.string());
    FAIL("the folder's rule is wrong");
  } catch (const Error& error) {
    CHECK_THAT(std::string(error.what()), EndsWith("causes/something.toml:1: \"title\" must be a text"));
  }
  fs::remove_all(root);
  CHECK_THROWS_AS(pack.add_folder(root.string()), Error);
}

TEST_CASE("invariants of the shipped rules") {
  const RulePack& pack = shipped();
  CHECK(pack.causes().size() == 21);
  CHECK(pack.fixes().size() >= 45);
  CHECK(pack.myths().size() >= 14);
  double priors = 0;
  std::map<std::string, int> fixes_of;
  for (const auto& [id, fix] : pack.fixes())
    for (const auto& cause : fix.causes) ++fixes_of[cause];
  for (const auto& [id, cause] : pack.causes()) {
    INFO(id);
    priors += cause.prior;
    CHECK((fixes_of[id] >= 2 || !cause.no_fix.empty()));
    // The first sentence needs no fact, so there is always an explanation of the cause.
    CHECK_FALSE(cause.explain.fill_sentences({}).empty());
    std::set<std::string> conditions;
    for (const auto& sign : cause.signs) CHECK(conditions.insert(sign.condition.text()).second);
  }
  CHECK(priors == Approx(1).margin(0.3));
}

TEST_CASE("no two fixes have the same title") {
  std::map<std::string, std::string> fix_of;
  for (const auto& [id, fix] : shipped().fixes()) {
    std::set<std::string> titles{fix.title};
    for (const OtherTitle& other : fix.other_titles) titles.insert(other.title.value_or(fix.title));
    for (const std::string& title : titles) {
      CAPTURE(id, title);
      CHECK(fix_of.emplace(title, id).first->second == id);
    }
  }
}

TEST_CASE("every shipped fix is readable") {
  for (const auto& [id, fix] : shipped().fixes()) {
    INFO(id);
    CHECK_FALSE(fix.why.fill_sentences({}).empty());
    CHECK_FALSE(fix.verify.empty());
    CHECK((!fix.saves || !fix.saves_formula.empty()));
    CHECK((fix.saves || !fix.saves_low));
    CHECK((fix.share.empty() || fix.saves));
    for (const auto& other : fix.not_with)
      CHECK(std::count(shipped().fixes().at(other).not_with.begin(), shipped().fixes().at(other).not_with.end(), id) ==
            1);
    for (const auto& setting : fix.settings) CHECK_FALSE(setting.scope.empty());
  }
}

TEST_CASE("rules/README.md lists every fact, and no other") {
  std::ifstream file(std::string(OOMDOCTOR_SOURCE_DIR) + "/rules/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  for (const auto& spec : fact_specs()) {
    const std::string row = "| `" + std::string(spec.name) + "` | " + std::string(spec.description) + " |";
    INFO("the table of facts lacks: " << row);
    CHECK(text.find(row) != std::string::npos);
  }
  std::set<std::string, std::less<>> names, groups;
  for (const auto& spec : fact_specs()) {
    names.emplace(spec.name);
    groups.emplace(spec.name.substr(0, spec.name.find('.')));
  }
  constexpr std::string_view begin = "\n| `";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t name = at + begin.size();
    const std::string row = text.substr(name, text.find('`', name) - name);
    if (const std::size_t dot = row.find('.'); dot == row.npos || !groups.contains(row.substr(0, dot))) continue;
    INFO("the table of facts has one that does not exist: " << row);
    CHECK(names.contains(row));
  }
}
