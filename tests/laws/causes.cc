// Invariants of the causes: each comes first on the samples that it names, and not on samples that look similar.
#include "catch.h"
#include "judge/rule_pack.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {
namespace {

std::string first_cause(const std::string& sample) {
  const std::string name = sample.ends_with(".pickle") ? sample : sample + ".log";
  const Report report = diagnose({{name, testing::read_file(testing::source_folder() / "samples" / name)}});
  return report.causes.empty() ? std::string{} : report.causes.front().cause;
}

}  // namespace

TEST_CASE("each cause comes first on its samples and not on those of others", "[law]") {
  std::size_t fires = 0;
  const RulePack pack = shipped_rules();
  for (const auto& [id, cause] : pack.causes()) {
    for (const auto& sample : cause.test.fires) {
      CAPTURE(id, sample);
      CHECK(first_cause(sample) == id);
      ++fires;
    }
    for (const auto& sample : cause.test.quiet) {
      CAPTURE(id, sample);
      const std::string first = first_cause(sample);
      CHECK_FALSE(first.empty());
      CHECK(first != id);
    }
  }
  CHECK(fires >= pack.causes().size());
}

}  // namespace oomdoctor
