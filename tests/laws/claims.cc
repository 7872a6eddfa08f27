// No text claims what the log does not show: without the facts of a claim, its condition is not true.
#include <set>
#include <utility>

#include "catch.h"
#include "facts/analysis.h"
#include "judge/claims.h"
#include "samples.h"
#include "unit/scans.h"

namespace oomdoctor {
namespace {

/// The facts without those that can show the claim.
Facts without(const Claim& claim, const Facts& facts) {
  Facts left;
  for (const auto& [name, fact] : facts.all())
    if (!claim.rests_on(name)) left.set(name, fact.value, fact.evidence);
  return left;
}

}  // namespace

TEST_CASE("a text is not printed where the facts of its claims are unknown", "[law]") {
  const RulePack pack = shipped_rules();
  const std::vector<Claim> claims = read_claims((testing::source_folder() / "rules" / "claims.toml").string());
  const std::size_t made = check_claims(pack, claims);
  CHECK(made > 100);
  std::set<std::pair<std::string_view, std::string>> seen;
  const std::vector<RuleText> texts = list_rule_texts(pack);
  for (const auto& path : testing::sample_logs()) {
    CAPTURE(testing::sample_name(path));
    ScanResult scan = testing::scan_text(testing::read_file(path));
    resolve_units(scan, {});
    const Facts facts = analyse(scan, {}).facts;
    std::vector<Facts> left;
    for (const Claim& claim : claims) left.push_back(without(claim, facts));
    for (const RuleText& printed : texts) {
      if (!printed.is_printed(facts)) continue;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        if (!claims[i].is_made_by(printed.text)) continue;
        CAPTURE(printed.rule, printed.text, claims[i].name);
        CHECK_FALSE(printed.is_printed(left[i]));
        seen.insert({printed.text, claims[i].name});
      }
    }
  }
  WARN(made << " claims of " << texts.size() << " texts, " << seen.size() << " of them printed by a sample");
  CHECK(seen.size() > made / 2);
}

TEST_CASE("a claim whose facts no condition asks is found", "[law]") {
  const RulePack pack = shipped_rules();
  std::vector<Claim> claims;
  claims.push_back({"growth", Regex("the cache grows"), {}, {"trend."}});
  CHECK(check_claims(pack, claims) > 0);
  claims.front().facts = {"settings.torch"};
  CHECK_THROWS_AS(check_claims(pack, claims), Error);
  claims.front().unless.emplace("cache");
  CHECK(check_claims(pack, claims) == 0);
}

}  // namespace oomdoctor
