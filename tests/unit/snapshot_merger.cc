// Which failure of a log is that of a snapshot.
#include "fold/snapshot_merger.h"

#include "catch.h"

using namespace oomdoctor;

namespace {

constexpr double noon_of_a_day = 1'772'000'000;

/// A log that prints "Tried to allocate 18.76 GiB" for GPU 2, and a snapshot that refused this request.
ScanResult log_and_snapshot() {
  ScanResult scan;
  Incident& printed = scan.incidents.emplace_back();
  printed.oom.request = Bytes{20143 * MiB, 5 * MiB};
  printed.origin.device = 2;
  printed.when.time = noon_of_a_day;
  MemorySnapshot& snapshot = scan.snapshots.emplace_back();
  snapshot.report.device = 2;
  RefusedRequest& refused = snapshot.refused.emplace();
  refused.size = 20143 * MiB - 4096;
  refused.segment = 20144 * MiB;
  refused.time = noon_of_a_day;
  return scan;
}

bool joins_the_log(const ScanResult& scan) {
  ScanResult copy = scan;
  join_snapshots(copy);
  return copy.snapshots.front().joined.has_value();
}

}  // namespace

TEST_CASE("a snapshot joins the failure with the size of its segment") {
  ScanResult scan = log_and_snapshot();
  CHECK(joins_the_log(scan));
  scan.incidents.front().oom.request = Bytes{20160 * MiB, 5 * MiB};
  CHECK_FALSE(joins_the_log(scan));
}

TEST_CASE("a snapshot of another device or rank does not join") {
  ScanResult scan = log_and_snapshot();
  scan.snapshots.front().report.device = 0;
  CHECK_FALSE(joins_the_log(scan));
  scan = log_and_snapshot();
  scan.snapshots.front().report.rank = 3;
  CHECK(joins_the_log(scan));
  scan.incidents.front().origin.rank = 1;
  CHECK_FALSE(joins_the_log(scan));
}

TEST_CASE("times join in any time zone, within five minutes") {
  ScanResult scan = log_and_snapshot();
  constexpr double hour = 3600;
  for (const double apart : {0.0, 200.0, -5.5 * hour, 9 * hour + 60, -14 * hour, 5.75 * hour}) {
    CAPTURE(apart);
    scan.incidents.front().when.time = noon_of_a_day + apart;
    CHECK(joins_the_log(scan));
  }
  for (const double apart : {400.0, -24 * hour, 15 * hour, 5.5 * hour + 420}) {
    CAPTURE(apart);
    scan.incidents.front().when.time = noon_of_a_day + apart;
    CHECK_FALSE(joins_the_log(scan));
  }
  scan.incidents.front().when.time.reset();
  CHECK(joins_the_log(scan));
}

TEST_CASE("each failure of a log joins one snapshot") {
  ScanResult scan = log_and_snapshot();
  scan.snapshots.push_back(scan.snapshots.front());
  join_snapshots(scan);
  CHECK(scan.snapshots[0].joined == 0);
  CHECK_FALSE(scan.snapshots[1].joined);
}
