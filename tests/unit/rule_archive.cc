// The rules in the program equal the files in rules/, and a wrong rule stops the build.
#include "catch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "judge/rule_archive.h"

using namespace oomdoctor;
namespace fs = std::filesystem;

namespace {

/// The rules as the program reads a user's folder: through TOML and every check.
RulePack read_rules() {
  RulePack pack;
  pack.add_folder(OOMDOCTOR_SOURCE_DIR "/rules");
  return pack;
}

std::string text_of(const std::optional<Expr>& condition) { return condition ? condition->text() : "-"; }

using Texts = std::vector<std::string>;

Texts texts_of(const CauseRule& cause) {
  Texts texts{cause.id,         cause.title,          cause.source,           cause.no_fix,
              cause.impossible, cause.explain.text(), text_of(cause.possible)};
  for (const Sign& sign : cause.signs) {
    texts.insert(texts.end(), {sign.condition.text(), sign.why.text(), sign.definitional ? "definitional" : ""});
    texts.push_back(std::to_string(sign.weight));
  }
  for (const Ceiling& ceiling : cause.ceilings)
    texts.insert(texts.end(), {ceiling.condition.text(), ceiling.why, std::to_string(ceiling.at_most)});
  texts.insert(texts.end(), cause.test.fires.begin(), cause.test.fires.end());
  texts.insert(texts.end(), cause.test.quiet.begin(), cause.test.quiet.end());
  return texts;
}

Texts texts_of(const FixRule& fix) {
  Texts texts{fix.id,
              fix.title,
              fix.source,
              fix.when.text(),
              text_of(fix.already),
              text_of(fix.saves),
              text_of(fix.saves_low),
              text_of(fix.saves_most),
              fix.saves_formula,
              fix.share,
              fix.why.text(),
              fix.verify,
              std::to_string(static_cast<int>(fix.kind)),
              std::to_string(fix.cost),
              std::to_string(fix.risk),
              std::to_string(fix.rank)};
  texts.insert(texts.end(), fix.causes.begin(), fix.causes.end());
  texts.insert(texts.end(), fix.not_with.begin(), fix.not_with.end());
  for (const SettingRule& set : fix.settings)
    texts.insert(texts.end(), {set.scope, set.text.text(), set.from.text(), set.to.text(), text_of(set.when)});
  for (const HeldBackReason& reason : fix.held_back)
    texts.insert(texts.end(), {reason.condition.text(), reason.because.text()});
  return texts;
}

Texts texts_of(const MythRule& myth) {
  return {myth.id, myth.title, myth.source, myth.when.text(), std::to_string(myth.rank), myth.because.text()};
}

void check_same(const auto& carried, const auto& read) {
  CHECK(carried.size() == read.size());
  for (const auto& [id, rule] : read) {
    CAPTURE(id);
    REQUIRE(carried.contains(id));
    CHECK(texts_of(carried.at(id)) == texts_of(rule));
  }
}

/// One fact of each kind is known; some facts are zero.
Facts some_facts() {
  Facts facts;
  double number = 0;
  for (const FactSpec& spec : fact_specs()) {
    if (static_cast<int>(++number) % 3 == 0) continue;
    if (spec.unit == FactUnit::truth)
      facts.set(spec.name, static_cast<int>(number) % 2 == 0);
    else if (spec.unit == FactUnit::text)
      facts.set(spec.name, std::string("pytorch"));
    else
      facts.set(spec.name, Number{number * 1e8 - 5e8, 0});
  }
  return facts;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the program contains all rules of rules/, unchanged", "[law]") {
  const RulePack carried = shipped_rules(), read = read_rules();
  check_same(carried.causes(), read.causes());
  check_same(carried.fixes(), read.fixes());
  check_same(carried.myths(), read.myths());
  CHECK(archived(carried) == archived(read));
}

TEST_CASE("an archived condition has the meaning of its text", "[law]") {
  const Facts facts = some_facts();
  const auto same = [&](const Expr& carried) {
    const Expr parsed = Expr::parse(carried.text(), shipped_rules().conditions());
    const Evaluation a = carried.evaluate(facts), b = parsed.evaluate(facts);
    INFO(carried.text());
    CHECK(a.value.index() == b.value.index());
    CHECK(a.facts == b.facts);
    CHECK(a.missing == b.missing);
    CHECK(carried.truth(facts) == parsed.truth(facts));
    CHECK(carried.type() == parsed.type());
    CHECK(carried.dimension() == parsed.dimension());
    const auto* number = std::get_if<Number>(&a.value);
    if (number) CHECK(number->value == std::get<Number>(b.value).value);
  };
  const RulePack pack = shipped_rules();
  for (const auto& [id, cause] : pack.causes())
    for (const Sign& sign : cause.signs) same(sign.condition);
  for (const auto& [id, fix] : pack.fixes()) {
    same(fix.when);
    if (fix.saves) same(*fix.saves);
  }
  for (const auto& [id, myth] : pack.myths()) same(myth.when);
}

TEST_CASE("truncated bytes are an error, wherever they end") {
  const std::string bytes = archived(shipped_rules());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 7)
    CHECK_THROWS_AS(restored(std::string_view(bytes).substr(0, size)), Error);
}

TEST_CASE("a wrong rule stops the build and shows its position") {
  const fs::path root = fs::temp_directory_path() / "oomdoctor_rule_compiler_test";
  fs::remove_all(root);
  fs::create_directories(root);
  fs::copy(fs::path(OOMDOCTOR_SOURCE_DIR) / "rules", root / "rules", fs::copy_options::recursive);
  const auto compile = [&] {
    const std::string in = (root / "rules").string(), out = (root / "rules.cc").string();
    const std::string command = std::string("\"" OOMDOCTOR_RULE_COMPILER "\" \"") + in + "\" \"" + out + "\" 2>\"" +
                                (root / "says").string() + "\"";
    return std::system(command.c_str()) == 0;
  };
  CHECK(compile());
  CHECK(fs::file_size(root / "rules.cc") > archived(shipped_rules()).size());

  fs::remove(root / "rules.cc");
  const fs::path myth = root / "rules" / "myths" / "wrong.toml";
  std::ofstream(myth) << "title = \"Wrong\"\nsource = \"M0\"\nwhen = 'oom.fre < oom.request'\nbecause = \"It is.\"\n";
  CHECK_FALSE(compile());
  CHECK_FALSE(fs::exists(root / "rules.cc"));
  CHECK(read_file(root / "says") == myth.string() +
                                        ":3: there is no fact \"oom.fre\"\n"
                                        "  when = 'oom.fre < oom.request'\n"
                                        "          ^\n"
                                        "  did you mean oom.free?\n");
  fs::remove_all(root);
}
