#include "catch.h"
#include "made_cases.h"

namespace oomdoctor {

using namespace testing;

TEST_CASE("growth of live tensors is a leak with its rate", "[trends]") {
  ScanResult scan = failed_at(1000, {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 150)});
  scan.incidents[0].when.step = 200;  // (24 - 4) / 0.1
  const Facts facts = trends_of(scan).facts;
  CHECK(facts.is_true("trend.leak"));
  CHECK(facts.number("trend.slope").value() == Approx(0.1 * gib).epsilon(0.02));
  CHECK(facts.is_true("trend.forecast_agrees"));
  CHECK(facts.number("trend.explained_share").value() > 0.95);
  CHECK(facts.number("trend.steps_to_full").value() == Approx(51).margin(6));
}

TEST_CASE("an input far longer than all earlier ones", "[trends]") {
  Series lengths = ramp(Metric::input_length, 900, 10, 20);
  lengths.add(20, 0, 4096);
  ScanResult scan = failed_at(1000, {lengths});
  const Facts facts = trends_of(scan).facts;
  CHECK(facts.is_true("shape.outlier"));
  CHECK(facts.is_true("shape.varies"));
  CHECK(facts.number("shape.outlier_value") == 4096);
  CHECK(facts.number("shape.typical_value") == 1090);

  ScanResult usual = failed_at(1000, {ramp(Metric::input_length, 900, 10, 21)});
  CHECK(is_false(trends_of(usual).facts, "shape.outlier"));
  ScanResult fixed = failed_at(1000, {ramp(Metric::input_length, 2048, 0, 21)});
  CHECK(is_false(trends_of(fixed).facts, "shape.varies"));
}

TEST_CASE("a unit that would not fit the GPU is read the other way", "[trends]") {
  Series printed = ramp(Metric::allocated, 25 * gib, 0.01 * gib, 20);  // "25.19 GB" on a GPU of 24 GiB
  printed.unit = "GB";
  printed.ambiguous_unit = true;
  Series small = ramp(Metric::reserved, 10 * gib, 0, 20);
  small.unit = "GB";
  small.ambiguous_unit = true;
  ScanResult scan = failed_at(1000, {printed, small});
  CHECK(trends_of(scan).notes.empty());
  REQUIRE(scan.notes.size() == 1);
  CHECK(scan.notes[0].text.find("GB is read as 10^9 bytes") != std::string::npos);
  CHECK(scan.series[0].max_value == Approx(25.19e9));
  CHECK(scan.series[1].max_value == Approx(10e9));  // a program prints its sizes in one way only

  ScanResult fits = failed_at(1000, {small});
  const std::vector<Note> open = trends_of(fits).notes;
  REQUIRE(open.size() == 1);
  CHECK(open[0].text == "GB is read as 2^30 bytes; if the program divided by 10^9, every value is 7% smaller");
  CHECK(fits.series[0].max_value == 10 * gib);
}

TEST_CASE("growth that began after the failure is no evidence for it", "[trends]") {
  ScanResult scan = failed_at(100, {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 60, 500)});
  const Analysis analysis = trends_of(scan);
  CHECK_FALSE(analysis.main_series);
  CHECK(analysis.facts.find("trend.leak") == nullptr);

  ScanResult before =
      failed_at(100, {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 60, 500), ramp(Metric::used, 20 * gib, 0, 60)});
  CHECK(trends_of(before).main_series == std::size_t{1});

  ScanResult other = failed_at(1000, {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 60)});
  other.series[0].origin.rank = 3;
  other.incidents[0].origin.rank = 0;
  CHECK_FALSE(trends_of(other).main_series);
}

TEST_CASE("a successful run reports how close it came to the limit", "[trends]") {
  const auto scarce_at = [](double peak) {
    ScanResult scan;
    scan.series = {ramp(Metric::allocated, peak * 24 * gib, 0, 20)};
    return trends_of(scan, {24 * GiB}).facts.is_true("run.scarce");
  };
  CHECK_FALSE(scarce_at(0.92));
  CHECK(scarce_at(0.97));
  const auto notes_at = [](double peak) {
    ScanResult scan;
    scan.series = {ramp(Metric::allocated, peak * 24 * gib, 0, 20)};
    return trends_of(scan, {24 * GiB}).notes;
  };
  CHECK(notes_at(0.89).empty());
  REQUIRE(notes_at(0.92).size() == 1);
  CHECK(notes_at(0.92)[0].severity == Severity::note);
  REQUIRE(notes_at(0.97).size() == 1);
  CHECK(notes_at(0.97)[0].severity == Severity::warning);
  CHECK(notes_at(0.97)[0].text.find("737 MiB of the device's 24 GiB (3.0%)") != std::string::npos);
}

TEST_CASE("a run at risk is reported before it fails", "[trends]") {
  ScanResult scan;
  scan.series = {ramp(Metric::allocated, 4 * gib, 0.1 * gib, 150)};
  CHECK(trends_of(scan, {24 * GiB}).facts.is_true("run.at_risk"));
  ScanResult steady;
  steady.series = {ramp(Metric::allocated, 4 * gib, 0, 150)};
  CHECK(is_false(trends_of(steady, {24 * GiB}).facts, "run.at_risk"));
}

}  // namespace oomdoctor
