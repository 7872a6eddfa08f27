// Invariants of the fixes and the myths: each applies on the samples that it names. On samples that look similar, it is
// refuted or does not apply.
#include <map>

#include "catch.h"
#include "evidence/evidence_reader.h"
#include "facts/analysis.h"
#include "fold/result_merger.h"
#include "judge/fixes.h"
#include "judge/rule_pack.h"
#include "samples.h"
#include "unit/scans.h"

namespace oomdoctor {
namespace {

/// The case of a sample. Without ".csv" or ".pickle", a sample is a log.
ScanResult read_sample(const std::string& sample) {
  const bool has_ending = sample.ends_with(".csv") || sample.ends_with(".pickle");
  const std::string name = has_ending ? sample : sample + ".log";
  std::string content = testing::read_file(testing::source_folder() / "samples" / name);
  if (!sample.ends_with(".pickle")) return testing::scan_text(content);
  Source source = Source::of_text(name, std::move(content));
  std::vector<ScanResult> files;
  files.push_back(read_evidence(source));
  return join(std::move(files));
}

/// The facts of a sample, computed once.
const Facts& facts_of(const std::string& sample) {
  static std::map<std::string, Facts> known;
  const auto found = known.find(sample);
  if (found != known.end()) return found->second;
  ScanResult scan = read_sample(sample);
  resolve_units(scan, {});
  return known.emplace(sample, analyse(scan, {}).facts).first->second;
}

/// Both lists exist, and each of their samples has the stated result.
template <typename Fires>
void check(const std::string& id, const RuleTest& test, Fires fires) {
  CAPTURE(id);
  CHECK_FALSE(test.fires.empty());
  CHECK_FALSE(test.quiet.empty());
  for (const auto& sample : test.fires) {
    CAPTURE(sample);
    CHECK(fires(facts_of(sample)));
  }
  for (const auto& sample : test.quiet) {
    CAPTURE(sample);
    CHECK_FALSE(fires(facts_of(sample)));
  }
}

}  // namespace

TEST_CASE("each fix helps on its samples, and on none of its counterexamples", "[law]") {
  const RulePack pack = shipped_rules();
  for (const auto& [id, fix] : pack.fixes())
    check(id, fix.test, [&rule = fix](const Facts& facts) { return evaluate_fix(rule, facts) == FixStatus::helps; });
}

TEST_CASE("each myth is reported on its samples, and on none of its counterexamples", "[law]") {
  const RulePack pack = shipped_rules();
  for (const auto& [id, myth] : pack.myths())
    check(id, myth.test, [&rule = myth](const Facts& facts) { return rule.when.truth(facts) == Truth::yes; });
}

TEST_CASE("a setting that needs root has a scope that says so", "[law]") {
  const RulePack pack = shipped_rules();
  std::size_t commands = 0;
  for (const auto& [id, fix] : pack.fixes())
    for (const SettingRule& setting : fix.settings)
      for (const std::string_view command :
           {"sysctl -w", "mount ", "systemctl set-property", "nvidia-smi -r", "swapon"}) {
        if (!setting.text.text().starts_with(command)) continue;
        CAPTURE(id, setting.text.text());
        CHECK(setting.scope.ends_with(", as root"));
        ++commands;
      }
  CHECK(commands >= 4);
}

}  // namespace oomdoctor
