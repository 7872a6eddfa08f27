// The memory breakdown of a GPU, for messages with numbers that were added up by hand.
#include <random>

#include "catch.h"
#include "facts/analysis.h"
#include "scans.h"

namespace oomdoctor {
namespace {

Bytes gib(const char* digits) { return read_bytes(digits, "GiB").value(); }
constexpr i64 half_digit = GiB / 200 + 1;  ///< half a digit of "0.01 GiB", rounded up

Facts facts_of(const Incident& incident) {
  Facts facts;
  message_facts(incident, std::nullopt, facts);
  return facts;
}

bool near(std::optional<double> value, double expected_gib, double within_gib) {
  return value && std::abs(*value / static_cast<double>(GiB) - expected_gib) <= within_gib;
}

std::optional<Bytes> share(const Account& account, std::string_view label) {
  for (const auto& part : account.shares)
    if (part.label.find(label) != std::string::npos) return part.size;
  return std::nullopt;
}

void check_sum(const Account& account) {
  Bytes sum = account.unexplained;
  for (const auto& part : account.shares) sum = sum + part.size;
  CHECK(sum.count == account.capacity.count);
}

}  // namespace

TEST_CASE("a pool is short by the request without its largest free piece", "[account]") {
  Incident incident;
  incident.oom.agent = Agent::tf_bfc;
  incident.oom.request = gib("0.60");
  incident.oom.limit = incident.oom.reserved = gib("8.00");
  incident.oom.allocated = gib("7.55");
  incident.oom.unallocated = gib("0.45");
  CHECK(near(facts_of(incident).number("account.need"), 0.60 + 0.40, 1e-6));  // with 5% of the pool as margin
  incident.oom.largest_free = gib("0.45");
  CHECK(near(facts_of(incident).number("account.need"), 0.15 + 0.40, 1e-6));
}

TEST_CASE("the memory in use is cited where it is printed", "[account]") {
  Incident incident;
  incident.oom.request = gib("1.00");
  incident.oom.allocated = gib("7.55");
  incident.evidence.span.first_line = 3;
  incident.in_use = incident.evidence;
  incident.in_use->span.first_line = 9;
  const Facts facts = facts_of(incident);
  CHECK(facts.find("oom.request")->evidence.front().span.first_line == 3);
  CHECK(facts.find("oom.allocated")->evidence.front().span.first_line == 9);
}

TEST_CASE("a message that names its process adds up", "[account]") {
  Incident incident;
  incident.oom.request = gib("2.00");
  incident.oom.capacity = gib("39.39");
  incident.oom.free = gib("1.12");
  incident.oom.process = gib("38.26");
  incident.oom.allocated = gib("36.50");
  incident.oom.unallocated = gib("1.20");
  const auto account = build_account(incident);
  REQUIRE(account);
  check_sum(*account);
  CHECK(share(*account, "tensors") == gib("36.50"));
  CHECK(share(*account, "cache (unused)") == gib("1.20"));
  CHECK(std::abs(share(*account, "context + libraries")->count - gib("0.56").count) <= 2);  // 38.26 - 36.50 - 1.20
  CHECK(std::abs(account->unexplained.count - gib("0.01").count) <= 2);                     // 39.39 - 1.12 - 38.26
  CHECK(account->unexplained.slack >= 3 * (half_digit - 1));
  const Facts facts = facts_of(incident);
  CHECK(near(facts.number("oom.reserved"), 37.70, 1e-6));
  CHECK(near(facts.number("account.own_other"), 0.56, 1e-6));
  CHECK(near(facts.number("account.external"), 0.01, 1e-6));
  CHECK(near(facts.number("account.shortfall"), 0.88, 1e-6));
  CHECK(near(facts.number("account.after_compaction"), 0.32, 1e-6));
  CHECK(near(facts.number("account.margin"), 0.05 * 39.39, 1e-6));
  CHECK(near(facts.number("account.need"), 0.88 + 0.05 * 39.39, 1e-6));
  CHECK(facts.number("account.frag_ratio").value() == Approx(1.20 / 37.70));
  CHECK(facts.number("account.allocated_share").value() == Approx(36.50 / 39.39));
  CHECK(facts.is_true("oom.has_numbers"));
  CHECK_FALSE(facts.is_true("account.free_beyond_request"));
}

TEST_CASE("blocks of private pools are no live tensors", "[account]") {
  Incident incident;
  incident.oom.capacity = gib("80.00");
  incident.oom.free = gib("1.00");
  incident.oom.process = gib("79.00");
  incident.oom.allocated = gib("60.00");
  incident.oom.private_pools = gib("12.00");
  incident.oom.unallocated = gib("18.00");
  const auto account = build_account(incident);
  REQUIRE(account);
  check_sum(*account);
  CHECK(share(*account, "tensors")->count == 48 * GiB);
  CHECK(share(*account, "graph pools")->count == 12 * GiB);
  CHECK(share(*account, "context + libraries")->count == GiB);  // 79 - 60 - 18
  CHECK(account->unexplained.count == 0);
  CHECK(facts_of(incident).number("account.allocated_share").value() == Approx(0.6));
}

TEST_CASE("the old form gives one sum for everything outside the allocator", "[account]") {
  const ScanResult found = testing::scan_text(
      "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 16.00 GiB total capacity; 9.00 GiB already "
      "allocated; 0.50 GiB free; 10.00 GiB reserved in total by PyTorch)\n");
  REQUIRE(found.incidents.size() == 1);
  const auto account = build_account(found.incidents[0]);
  REQUIRE(account);
  check_sum(*account);
  CHECK(share(*account, "tensors")->count == 9 * GiB);
  CHECK(share(*account, "cache (unused)")->count == GiB);
  CHECK(share(*account, "other processes +")->count == 5 * GiB + GiB / 2);  // 16 - 0.5 - 10
  CHECK(account->unexplained.count == 0);
  const Facts facts = facts_of(found.incidents[0]);
  CHECK_FALSE(facts.number("account.own_other"));
  CHECK(facts.number("account.external").value() <
        5.5 * static_cast<double>(GiB));  // a part of it belongs to this process
  CHECK(facts.number("account.external").value() > 3.5 * static_cast<double>(GiB));
}

TEST_CASE("before 1.4 the message printed the cache without the allocated memory", "[account]") {
  const ScanResult found = testing::scan_text(
      "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 16.00 GiB total capacity; 9.00 GiB already "
      "allocated; 0.50 GiB free; 6.00 GiB cached)\n");
  REQUIRE(found.incidents.size() == 1);
  const Facts facts = facts_of(found.incidents[0]);
  CHECK(near(facts.number("oom.reserved"), 15.0, 1e-9));
  CHECK(near(facts.number("oom.unallocated"), 6.0, 1e-9));
}

TEST_CASE("in a container the only process is this one", "[account]") {
  const ScanResult found = testing::scan_text(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
      "24.00 "
      "GiB of which 0.50 GiB is free. Process 4711 has 23.50 GiB memory in use. Of the allocated memory 22.00 GiB is "
      "allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n");
  REQUIRE(found.incidents.size() == 1);
  const Incident& incident = found.incidents[0];
  CHECK(incident.oom.process == gib("23.50"));
  CHECK(incident.oom.others.empty());
  CHECK(incident.origin.pid == 4711);
  const auto account = build_account(incident);
  REQUIRE(account);
  check_sum(*account);
  CHECK(share(*account, "context + libraries")->count == GiB / 2);  // 23.5 - 22 - 1
  CHECK(account->unexplained.count == 0);
  CHECK(near(facts_of(incident).number("account.external"), 0, 1e-9));
}

TEST_CASE("another process is a separate part", "[account]") {
  const ScanResult found = testing::scan_text(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 2 has a total capacity of 24.00 GiB "
      "of which 0.25 GiB is free. Process 100 has 8.00 GiB memory in use. Process 200 has 3.75 GiB memory in use. "
      "Including non-PyTorch memory, this process has 12.00 GiB memory in use. Of the allocated memory 10.00 GiB is "
      "allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n");
  REQUIRE(found.incidents.size() == 1);
  const auto account = build_account(found.incidents[0]);
  REQUIRE(account);
  check_sum(*account);
  CHECK(share(*account, "process 100")->count == 8 * GiB);
  CHECK(share(*account, "process 200") == gib("3.75"));
  CHECK(share(*account, "context + libraries")->count == GiB);
  CHECK(account->unexplained.count == 0);
  const Facts facts = facts_of(found.incidents[0]);
  CHECK(near(facts.number("account.external"), 11.75, 1e-9));
  CHECK(facts.number("account.external_pid") == 100);
  CHECK(facts.text("account.stop_pids") == "100");
  CHECK(facts.number("account.stop_frees") == 8.0 * GiB);
  CHECK(facts.number("oom.others_count") == 2);
  CHECK(facts.number("account.external_share").value() == Approx(11.75 / 24));
  CHECK(facts.number("account.stray_contexts") == 0);
}

TEST_CASE("the CUDA contexts of a job's other ranks have equal sizes", "[account]") {
  Incident incident;
  for (i64 pid = 1; pid <= 7; ++pid) incident.oom.others.push_back({pid, {520 * MiB + pid % 2 * MiB, 0}});
  incident.oom.others.push_back({9, {8 * GiB, 0}});
  CHECK(facts_of(incident).number("account.stray_contexts") == 7);
  incident.oom.others = {{1, {520 * MiB, 0}}, {2, {900 * MiB, 0}}};
  CHECK(facts_of(incident).number("account.stray_contexts") == 0);
}

TEST_CASE("a process that the launcher terminates belongs to the job", "[account]") {
  ScanResult scan;
  Incident incident;
  incident.oom.others = {{7, {2 * GiB, 0}}, {8, {3 * GiB, 0}}};
  const auto sibling = [&] {
    Facts facts;
    sibling_facts(scan, incident, facts);
    return facts.number("account.sibling");
  };
  scan.remarks = {{{}, {}, {}, Remark{"collateral/terminated", 9.0}}};
  CHECK_FALSE(sibling());
  scan.remarks.push_back({{}, {}, {}, Remark{"collateral/terminated", 8.0}});
  CHECK(sibling() == 3.0 * static_cast<double>(GiB));
}

TEST_CASE("the missing amount is unknown if the request would have fitted", "[account]") {
  Incident incident;
  incident.oom.request = gib("2.00");
  incident.oom.capacity = gib("24.00");
  incident.oom.free = gib("1.50");
  CHECK(near(facts_of(incident).number("account.need"), 0.5 + 0.05 * 24, 1e-6));
  incident.oom.free = gib("9.00");
  CHECK_FALSE(facts_of(incident).number("account.need"));
}

TEST_CASE("memory that the driver lent is missing, too", "[account]") {
  Incident incident;
  incident.oom.request = gib("1.00");
  incident.oom.capacity = gib("8.00");
  incident.oom.free = Bytes{};
  incident.oom.allocated = gib("20.00");
  const Facts facts = facts_of(incident);
  CHECK(facts.is_true("account.oversubscribed"));
  CHECK(near(facts.number("account.need"), 13 + 0.05 * 8, 1e-6));  // 20 + 1 - 8, and the margin
}

TEST_CASE("without a list of processes, the owner of the rest is unknown", "[account]") {
  Incident incident;
  incident.oom.capacity = gib("16.00");
  incident.oom.free = gib("0.50");
  incident.oom.allocated = gib("4.00");
  CHECK_FALSE(facts_of(incident).number("account.external"));  // it may be the process's own cache
  incident.oom.reserved = gib("4.00");
  CHECK(near(facts_of(incident).number("account.external"), 16 - 0.5 - 4 - 1.5,
             1e-6));  // a context of the usual size belongs to this process
  CHECK(facts_of(incident).is_true("account.ownerless"));
  incident.oom.others = {{77, {10 * GiB, 0}}};
  CHECK_FALSE(facts_of(incident).is_true("account.ownerless"));
  incident.oom.others.clear();
  incident.oom.process = gib("4.40");
  CHECK_FALSE(facts_of(incident).is_true("account.ownerless"));
}

TEST_CASE("without the free memory, the demand is compared with the capacity", "[account]") {
  Incident incident;
  incident.oom.request = gib("8.00");
  incident.oom.capacity = gib("16.00");
  incident.oom.allocated = gib("2.00");
  CHECK(facts_of(incident).number("account.demand_share").value_or(0) == 0.625);
  incident.oom.free = gib("1.00");
  CHECK_FALSE(facts_of(incident).number("account.demand_share"));
}

TEST_CASE("a cap that was not reached does not count", "[account]") {
  Incident incident;
  incident.oom.request = gib("8.11");
  incident.oom.capacity = gib("16.54");
  incident.oom.free = gib("16.54");
  incident.oom.allocated = Bytes{};
  incident.oom.limit = gib("8.27");
  CHECK_FALSE(facts_of(incident).is_true("account.capped"));
  incident.oom.limit = gib("8.00");
  CHECK(facts_of(incident).is_true("account.capped"));
  incident.oom.free = gib("2.00");  // without the cap the GPU would have refused
  CHECK_FALSE(facts_of(incident).is_true("account.capped"));
  incident.oom.free = gib("16.54");
  incident.oom.agent = Agent::mps_allocator;  // MPS has its limit by default, and prints nothing else
  incident.oom.capacity.reset();
  CHECK_FALSE(facts_of(incident).is_true("account.capped"));
}

TEST_CASE("a cap differs from a full GPU", "[account]") {
  Incident incident;
  incident.oom.request = gib("2.00");
  incident.oom.capacity = gib("24.00");
  incident.oom.free = gib("12.00");
  incident.oom.allocated = gib("9.00");
  incident.oom.unallocated = gib("2.00");
  incident.oom.limit = gib("12.00");
  Facts facts = facts_of(incident);
  CHECK(facts.is_true("account.limit_reached"));  // 11 + 2 > 12
  CHECK(facts.is_true("account.free_beyond_request"));
  CHECK(near(facts.number("account.need"), 1.0 + 0.05 * 12, 1e-6));  // 2 - (12 - 11), and the margin of the cap
  incident.oom.limit = gib("20.00");
  facts = facts_of(incident);
  REQUIRE(facts.find("account.limit_reached") != nullptr);
  CHECK_FALSE(facts.is_true("account.limit_reached"));
}

TEST_CASE("the parts and the unexplained rest add up to the capacity for any message", "[account]") {
  std::mt19937 random(11);
  const auto maybe = [&]() -> std::optional<Bytes> {
    if (random() % 3 == 0) return std::nullopt;
    return Bytes{static_cast<i64>(random() % 4096) * MiB, static_cast<i64>(random() % 100)};
  };
  int accounts = 0;
  for (int round = 0; round < 500; ++round) {
    Incident incident;
    Oom& oom = incident.oom;
    oom.capacity = maybe(), oom.free = maybe(), oom.process = maybe(), oom.allocated = maybe(), oom.reserved = maybe();
    oom.unallocated = maybe(), oom.limit = maybe(), oom.request = maybe();
    for (i64 pid = 0; pid < static_cast<i64>(random() % 3); ++pid)
      oom.others.push_back({pid, maybe().value_or(Bytes{})});
    CHECK_NOTHROW(facts_of(incident));
    if (const auto account = build_account(incident)) check_sum(*account), ++accounts;
  }
  CHECK(accounts > 100);
}

TEST_CASE("a GPU without a printed size has no breakdown", "[account]") {
  Incident incident;
  incident.oom.request = gib("2.00");
  CHECK_FALSE(build_account(incident));
  const Facts facts = facts_of(incident);
  for (const char* name :
       {"account.shortfall", "account.need", "account.external", "account.own_other", "oom.capacity"})
    CHECK_FALSE(facts.number(name));
}

}  // namespace oomdoctor
