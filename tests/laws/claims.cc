// No text claims what the log does not show: without the facts of a claim, its condition is not true. A log that lost
// lines shows less, and no better end.
#include <algorithm>
#include <random>
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
  for (const FactSpec& spec : fact_specs())
    if (const Fact* fact = facts.find(spec); fact != nullptr && !claim.rests_on(spec.name))
      left.set(spec.name, fact->value, fact->evidence);
  return left;
}

Analysis analyse_text(const Scanner& scanner, const std::string& text, ScanResult& scan) {
  AnalysisOptions as_needed;
  as_needed.all_trends = false;
  std::vector<Source> sources;
  sources.push_back(Source::of_text("test.log", text));
  scan = scanner.scan(sources);
  resolve_units(scan, as_needed);
  return analyse(scan, as_needed);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// The numbers of the lines that report the failures.
std::set<i64> lines_of_failures(const ScanResult& scan) {
  std::set<i64> lines;
  const auto add = [&](const Evidence& at) {
    for (i64 line = at.span.first_line; line <= at.span.last_line; ++line) lines.insert(line);
  };
  for (const Incident& incident : scan.incidents) {
    add(incident.evidence);
    std::for_each(incident.occurrences.begin(), incident.occurrences.end(), add);
  }
  return lines;
}

/// The log without a stretch of lines or without single ones, but with those in `kept`.
std::string remove_lines(const std::string& text, const std::set<i64>& kept, std::mt19937& random) {
  const std::vector<std::string_view> lines = split_lines(text);
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  const bool stretch = below(2) == 0;
  const std::size_t percent = 10 + below(80), from = below(lines.size()), to = from + 1 + below(lines.size() - from);
  std::string left;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool removed = stretch ? i >= from && i < to : below(100) < percent;
    if (!removed || kept.contains(static_cast<i64>(i) + 1)) left += lines[i];
  }
  return left;
}

/// The facts without the phases that a more exact phase makes false: the first step has a forward pass as well.
Facts without_other_phases(const Facts& facts) {
  const bool exact = facts.is_true("phase.first_step") || facts.is_true("phase.optimizer_init");
  Facts left;
  for (const FactSpec& spec : fact_specs())
    if (const Fact* fact = facts.find(spec);
        fact != nullptr && (!exact || !spec.name.starts_with("phase.") || facts.is_true(spec.name)))
      left.set(spec.name, fact->value, fact->evidence);
  return left;
}

/// True if a condition of the text is known to be false.
bool is_refuted(const RuleText& text, const Facts& facts) {
  const Truth refuted = text.needed == Truth::yes ? Truth::no : Truth::yes;
  return std::any_of(text.conditions.begin(), text.conditions.end(),
                     [&](const Expr* condition) { return condition->truth(facts) == refuted; });
}

}  // namespace

TEST_CASE("a text is not printed where the facts of its claims are unknown", "[law]") {
  const RulePack pack = shipped_rules();
  const std::vector<Claim> claims = read_claims((testing::source_folder() / "rules" / "claims.toml").string());
  const std::size_t made = check_claims(pack, claims);
  CHECK(made > 100);
  std::set<std::pair<std::string_view, std::string>> seen;
  const std::vector<RuleText> texts = list_rule_texts(pack);
  for (const auto& path : testing::law_samples()) {
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
  CHECK(seen.size() > made / (2 * testing::one_sample_in));
}

TEST_CASE("a log without some of its lines claims nothing else and ends no better", "[law]") {
  constexpr int variants = 3;
  const RulePack pack = shipped_rules();
  const std::vector<Claim> claims = read_claims((testing::source_folder() / "rules" / "claims.toml").string());
  std::vector<std::pair<RuleText, const Claim*>> made;
  for (const RuleText& text : list_rule_texts(pack))
    for (const Claim& claim : claims)
      if (claim.is_made_by(text.text)) made.emplace_back(text, &claim);
  const Scanner scanner(all_parsers());
  int printed = 0, refuted = 0, fatal = 0, better = 0;
  for (const auto& path : testing::law_samples()) {
    const std::string text = testing::read_file(path);
    ScanResult scan, less;
    const Analysis whole = analyse_text(scanner, text, scan);
    if (!scan.later_runs.empty()) continue;  // without the lines between them, two runs look like one
    const Facts seen = without_other_phases(whole.facts);
    std::mt19937 random(testing::stable_hash(testing::sample_name(path)));
    for (int variant = 0; variant < variants; ++variant) {
      const Analysis part = analyse_text(scanner, remove_lines(text, lines_of_failures(scan), random), less);
      CAPTURE(testing::sample_name(path));
      if (whole.runs.outcome == Outcome::oom) {
        ++fatal;
        if (part.runs.outcome != Outcome::oom && part.runs.outcome != Outcome::possible_oom) {
          ++better;
          UNSCOPED_INFO(testing::sample_name(path) << " becomes " << to_string(part.runs.outcome));
        }
      }
      for (const auto& [one, claim] : made) {
        if (!one.is_printed(part.facts)) continue;
        CAPTURE(one.rule, one.text, claim->name);
        CHECK_FALSE(one.is_printed(without(*claim, part.facts)));
        ++printed;
        // Fewer values may have another trend.
        if (claim->name == "growth" || !is_refuted(one, seen)) continue;
        ++refuted;
        UNSCOPED_INFO(testing::sample_name(path) << ": " << one.rule << ": " << one.text);
      }
    }
  }
  CHECK(printed * static_cast<int>(testing::one_sample_in) > 500);
  // Some messages need their neighbours, and a traceback with holes looks like a whole one.
  CHECK(refuted * 50 <= printed * testing::share_scatter);
  CHECK(better * 50 <= fatal * testing::share_scatter);
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
