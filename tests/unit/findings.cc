// The output for CI systems: which findings there are, and fingerprints that stay the same while other details differ
// from run to run.
#include "report/findings.h"

#include <limits>
#include <set>

#include "catch.h"
#include "render/writer.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

std::string fingerprint(const Report& report) { return findings(report).at(0).fingerprint; }

std::size_t count(std::string_view text, std::string_view of) {
  std::size_t n = 0;
  for (std::size_t at = text.find(of); at != std::string_view::npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

std::string write(std::string_view writer, const Report& report) { return find_writer(writer)->write(report, {}); }

}  // namespace

TEST_CASE("the finding of the verdict has its cause and the supporting lines", "[findings]") {
  const Report report = samples::fatal();
  const auto all = findings(report);
  REQUIRE(all.size() == 1);
  CHECK(all[0].rule == "leak");
  CHECK(all[0].level == "error");
  CHECK((all[0].file == "train.py" && all[0].line == 88));
  REQUIRE(all[0].log.size() == 3);
  CHECK(all[0].log[0].line == 2001);
  CHECK(findings(samples::healthy()).empty());
  CHECK(findings(samples::handled()).at(0).level == "warning");
  CHECK(findings(samples::handled()).at(0).rule == "undetermined");
  CHECK(findings(samples::at_risk()).at(0).line == 1811);
}

TEST_CASE("a frame without a source file is no location in the repository", "[findings]") {
  Report report = samples::fatal();
  report.incidents[0].frame->file = "<string>";
  CHECK(findings(report).at(0).file == "train.log");
  report.incidents[0].frame.reset();
  report.incidents[0].location.line = 0;
  CHECK(findings(report).at(0).line == 1);
}

TEST_CASE("a fingerprint is the same in the next run, and different for another failure", "[findings]") {
  const Report report = samples::fatal();
  Report again = report;
  auto& incident = again.incidents[0];
  incident.id = again.verdict.incident.emplace("incident-7");
  incident.step = 2000;
  incident.rank = 5;
  incident.device = 3;
  incident.pid = 99;
  incident.host = "node17";
  incident.requested_bytes = 12345;
  incident.message_format = "torch-2.9";
  incident.location = samples::at(77, "/runs/41/train.log");
  incident.frame->file = "/home/somebody/build-17/train.py";
  incident.frame->line = 91;
  CHECK(fingerprint(again) == fingerprint(report));
  incident.ask_frame->function = "_engine_run_backward_0x7f3a";
  again.incidents[0].ask_frame->function = "_engine_run_backward_0x7fee01";
  const std::string with_address = fingerprint(again);
  incident.ask_frame->function = "_engine_run_backward_0x11";
  CHECK(fingerprint(again) == with_address);
  incident.frame->function = "evaluate";
  CHECK(fingerprint(again) != with_address);
}

TEST_CASE("numbers distinguish equal failures, and consequences are left out", "[findings]") {
  Report report = samples::fatal();
  report.verdict.incident = "none of them";
  for (int i = 2; i <= 4; ++i) {
    report.incidents.push_back(report.incidents[0]);
    report.incidents.back().id = "i" + std::to_string(i);
  }
  report.incidents[3].follows = "i1";
  std::set<std::string> seen;
  for (const auto& finding : findings(report)) seen.insert(finding.fingerprint);
  CHECK(seen.size() == 3);
  CHECK(count(write("gitlab", report), "\"fingerprint\"") == 3);
}

TEST_CASE("a test case for each rank: causes fail, consequences are skipped, the rest pass", "[junit]") {
  Report report = samples::fatal();
  report.incidents[0].rank = 2;
  report.incidents.push_back(report.incidents[0]);
  report.incidents[1].id = "i2";
  report.incidents[1].rank = 3;
  report.incidents[1].follows = "i1";
  for (int rank = 0; rank < 1500; ++rank) {
    report.ranks.emplace_back();
    report.ranks.back().rank = rank;
    report.ranks.back().failed = rank == 2 || rank == 3 || rank == 1400;
  }
  const std::string text = write("junit", report);
  CHECK(count(text, "<testcase ") == 1000);
  CHECK(count(text, "tests=\"1000\" failures=\"2\" errors=\"0\"") == 2);
  CHECK(count(text, "<failure type=\"leak\"") == 1);
  CHECK(count(text, "<skipped ") == 1);
  CHECK(count(text, "name=\"rank 1400\"") == 1);
  CHECK(count(text, "name=\"oomdoctor.more_cases\" value=\"500\"") == 1);
}

TEST_CASE("a termination message is short and splits no character", "[kubernetes]") {
  Report report = samples::fatal();
  CHECK(write("k8s", report).starts_with("OUT OF MEMORY: GPU 0 was full"));
  for (std::size_t blanks = 0; blanks < 3; ++blanks) {
    report.verdict.headline = std::string(blanks, ' ');
    for (int i = 0; i < 1000; ++i) report.verdict.headline += "内";
    const std::string text = write("k8s", report);
    CHECK((text.size() > 1000 && text.size() <= 1024));
    CHECK(text.ends_with("内…\n"));
  }
}

TEST_CASE("a value that is not a number gives no sample", "[prometheus]") {
  Report report = samples::fatal();
  report.series[0].trend.slope.value = std::numeric_limits<double>::quiet_NaN();
  report.series[0].unit = "%";
  const std::string text = write("prometheus", report);
  CHECK(count(text, "nan") == 0);
  CHECK(count(text, "series=\"s1\"") == 0);
}
