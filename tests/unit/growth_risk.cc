#include "facts/growth_risk.h"

#include "catch.h"
#include "made_cases.h"

namespace oomdoctor {

using namespace testing;

namespace {

constexpr double mib = static_cast<double>(MiB);

/// Host RAM by a clock: one value each `every` seconds and each `lines` lines, from `first` by `by`.
Series timed(Metric metric, double first, double by, int n, double every, double capacity = 0, i64 lines = 1) {
  Series s;
  s.metric = metric;
  s.kind = SeriesKind::sampled_gauge;
  s.has_times = true;
  s.quantum = mib / 16;
  s.capacity = capacity;
  for (int i = 0; i < n; ++i) s.add(every * i, every * i, first + by * i);
  s.first_evidence = at_line(1);
  s.last_evidence = at_line(1 + (n - 1) * lines);
  return s;
}

Series process(int pid, double first, double by, int n, double every, i64 lines) {
  Series s = timed(Metric::host_rss, first, by, n, every, 0, lines);
  s.origin.pid = pid;
  s.label = "process " + std::to_string(pid);
  return s;
}

bool at_risk(std::vector<Series> series) {
  ScanResult scan;
  scan.series = std::move(series);
  return trends_of(scan).facts.is_true("run.at_risk");
}

}  // namespace

TEST_CASE("growth that is small for any machine is no risk", "[growth-risk]") {
  // 98 MiB in half a minute; the record would have to go on for an hour.
  CHECK_FALSE(at_risk({timed(Metric::host_rss, 132 * mib, 0.8 * mib, 120, 0.28)}));
  CHECK(at_risk({timed(Metric::host_rss, 3 * gib, 16 * mib, 120, 0.28)}));
  // The same rate fills a machine of known size later.
  const auto machine = [](double size) { return timed(Metric::host_used, 4 * gib, 0, 60, 60, size); };
  const Series grows = timed(Metric::host_rss, 2 * gib, 8 * mib, 60, 60);
  CHECK(at_risk({grows, machine(16 * gib)}));
  CHECK_FALSE(at_risk({grows, machine(512 * gib)}));
}

TEST_CASE("the RAM of a machine may rise while a program starts on it", "[growth-risk]") {
  const double full = 64 * gib;
  CHECK_FALSE(at_risk({timed(Metric::host_used, 8 * gib, 0.1 * gib, 60, 5, full)}));  // full after half an hour
  CHECK(at_risk({timed(Metric::host_used, 30 * gib, 0.4 * gib, 60, 5, full)}));       // full after two minutes
  CHECK(at_risk({timed(Metric::host_used, 8 * gib, 0.1 * gib, 180, 5, full)}));       // longer than a start
}

TEST_CASE("a machine whose listed processes do not grow has no leak of theirs", "[growth-risk]") {
  const auto listed = [](double growth, double size = 3 * gib) {
    ScanResult scan;
    scan.series = {timed(Metric::host_used, 20 * gib, 0.2 * gib, 120, 10, 64 * gib, 8)};
    for (int pid = 11; pid < 17; ++pid) scan.series.push_back(process(pid, size, growth, 120, 10, 8));
    return scan;
  };
  ScanResult flat = listed(0);
  const Analysis analysis = trends_of(flat);
  CHECK(is_false(analysis.facts, "run.at_risk"));
  REQUIRE(analysis.notes.size() == 1);
  CHECK(analysis.notes[0].text.find("RAM in use grew by 23.8 GiB, its 6 listed processes grew by 0 bytes") !=
        std::string::npos);
  ScanResult growing = listed(0.03 * gib);
  CHECK(trends_of(growing).facts.is_true("run.at_risk"));
  ScanResult cut = listed(0, 0.1 * gib);  // the first lines of a long list: what grows may be below them
  CHECK(trends_of(cut).facts.is_true("run.at_risk"));
}

TEST_CASE("host RAM ends at the request of the job", "[growth-risk]") {
  const auto risk = [](std::vector<Series> series, const char* job = nullptr) {
    ScanResult scan;
    scan.series = std::move(series);
    if (job != nullptr) scan.settings["job_memory"].value = job;
    return trends_of(scan).facts.is_true("run.at_risk");
  };
  const Series small = timed(Metric::host_rss, 132 * mib, 0.8 * mib, 120, 1);
  CHECK_FALSE(risk({small}));
  CHECK(risk({small}, "256M"));
}

}  // namespace oomdoctor
