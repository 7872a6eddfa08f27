// An invariant over all samples: a run compared with itself has not grown.
#include <algorithm>

#include "catch.h"
#include "compare/comparison.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

namespace oomdoctor {

TEST_CASE("a run compared with itself has no growth and no differences", "[law]") {
  for (const auto& path : testing::law_samples()) {
    CAPTURE(testing::sample_name(path));
    const Report run = diagnose({{"sample", testing::read_file(path)}});
    const Comparison all = compare(run, run);
    CHECK_FALSE(all.grew);
    // Of a log with several runs, the one that the verdict is about.
    CHECK(std::ssize(all.series) ==
          std::count_if(run.series.begin(), run.series.end(), [](const ReportSeries& of) { return of.followed; }));
    CHECK(all.settings.empty());
    for (const SeriesComparison& series : all.series) {
      CHECK(series.peak.difference() == 0);
      CHECK(series.steady.difference() == 0);
      CHECK(series.slope.difference() == 0);
    }
  }
}

}  // namespace oomdoctor
