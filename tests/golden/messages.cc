// Messages whose numbers prove the cause, from text to verdict. Also a log of nine lines with growth that was
// computed by hand. All expected figures were computed independently of the code.
#include <algorithm>
#include <cmath>

#include "catch.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor {
namespace {

Report read(const std::string& text, std::optional<std::int64_t> capacity = {}) {
  Options options;
  options.capacity_bytes = capacity;
  return diagnose({{"train.log", text}}, options);
}

/// GiB of the part with this label in the memory breakdown; 0 if there is none.
double share(const Report& report, const std::string& label) {
  for (const Share& s : report.incidents.at(0).account->shares)
    if (s.label == label) return static_cast<double>(s.bytes) / (1 << 30);
  return 0;
}

double unexplained(const Report& report) {
  return static_cast<double>(std::abs(report.incidents.at(0).account->unexplained_bytes));
}

double slack(const Report& report) { return static_cast<double>(report.incidents.at(0).account->slack_bytes); }

bool holds_back(const Report& report, const std::string& id) {
  return std::any_of(report.held_back.begin(), report.held_back.end(), [&](const HeldBack& h) { return h.id == id; });
}

}  // namespace

TEST_CASE("a full GPU with another process of 0.56 GiB: capacity", "[golden]") {
  const Report r = read(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 138.00 MiB. GPU 0 has a total capacty of "
      "15.90 GiB of which "
      "8.44 MiB is free. Process 1246069 has 577.00 MiB memory in use. Including non-PyTorch memory, this process has "
      "15.32 GiB "
      "memory in use. Of the allocated memory 14.12 GiB is allocated by PyTorch, and 410.41 MiB is reserved by PyTorch "
      "but unallocated.");
  CHECK(r.causes.at(0).cause == "oversized_step");
  CHECK(share(r, "CUDA context + libraries") == Approx(0.799).margin(0.001));
  CHECK(share(r, "process 1246069") == Approx(0.563).margin(0.001));
  CHECK(unexplained(r) <= slack(r));
}

TEST_CASE("more unused cache than the request, and less free memory: fragmentation", "[golden]") {
  const Report r = read(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 6.64 GiB. GPU 0 has a total capacity of 19.92 GiB "
      "of which 6.22 GiB "
      "is free. Of the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but "
      "unallocated.");
  CHECK(r.verdict.cause == "fragmentation");
  CHECK(share(r, "other processes + HIP contexts") == Approx(1.26).margin(0.001));
}

TEST_CASE("half the cache is unused, but even compaction would not suffice: not fragmentation", "[golden]") {
  const Report r = read(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 31.47 "
      "GiB of which 12.73 "
      "GiB is free. Including non-PyTorch memory, this process has 18.73 GiB memory in use. Of the allocated memory "
      "9.08 GiB is "
      "allocated by PyTorch, and 9.35 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "
      "is large try "
      "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
  CHECK(r.causes.at(0).cause == "oversized_step");
  CHECK(std::none_of(r.fixes.begin(), r.fixes.end(), [](const ReportFix& f) { return f.id == "expandable-segments"; }));
  CHECK(unexplained(r) <= slack(r));
}

TEST_CASE("25 GiB that this process does not use: another process", "[golden]") {
  const Report r = read(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 984.00 MiB (GPU 0; 47.50 GiB total capacity; "
      "22.15 GiB already "
      "allocated; 68.88 MiB free; 22.16 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory "
      "try setting "
      "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
  CHECK(r.verdict.cause == "other_process");
  CHECK(share(r, "other processes + CUDA contexts") == Approx(25.27).margin(0.01));
  CHECK(holds_back(r, "printed-max-split-size"));
}

TEST_CASE("a printed cap far below the GPU's size: memory cap", "[golden]") {
  const Report r = read(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB "
      "of which 244.65 "
      "GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB "
      "allocated in private "
      "pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.");
  CHECK(r.verdict.cause == "memory_limit");
  CHECK(r.verdict.confidence > 0.95);
}

TEST_CASE("nine lines of growth: acceleration, unit and forecast", "[golden]") {
  const Report r = read(
      "Step 100: Loss=2.34, Memory=18.2GB\nStep 200: Loss=2.12, Memory=18.5GB\nStep 300: Loss=1.98, Memory=18.9GB\n"
      "Step 400: Loss=1.87, Memory=19.4GB\nStep 500: Loss=1.78, Memory=20.1GB\nStep 600: Loss=1.70, Memory=20.9GB\n"
      "Step 700: Loss=1.64, Memory=21.8GB\nStep 800: Loss=1.59, Memory=22.9GB\nStep 900: Loss=1.55, Memory=24.2GB\n"
      "Step 1000: CUDA OOM\n",
      static_cast<std::int64_t>(23.69 * (1 << 30)));
  CHECK(r.verdict.outcome == Outcome::oom);
  CHECK(r.verdict.cause == "leak");
  const ReportTrend& t = r.series.at(0).trend;
  CHECK(t.shape == "accelerating");
  CHECK(t.slope.value == Approx(7.4167e6).epsilon(0.001));
  CHECK(t.acceleration.value == Approx(13920).epsilon(0.002));
  CHECK(t.acceleration.high - t.acceleration.value == Approx(920).epsilon(0.02));
  REQUIRE(t.forecast);
  CHECK(t.forecast->step_low <= 1000);
  CHECK(t.forecast->step_high.value_or(1e9) >= 1000);
  CHECK(std::any_of(r.notes.begin(), r.notes.end(),
                    [](const ReportNote& n) { return n.text.find("10^9") != n.text.npos; }));
}

TEST_CASE("256 GiB are a product of the sizes, 300 GiB are not", "[golden]") {
  const auto cause = [](const std::string& asked) {
    return read(
               "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + asked +
               " GiB. GPU 0 has a total capacity of 23.69 GiB of which 20.00 GiB is free. Including non-PyTorch "
               "memory, "
               "this process has 3.60 GiB memory in use. Of the allocated memory 3.10 GiB is allocated by PyTorch, and "
               "210.33 MiB is reserved by PyTorch but unallocated.")
        .causes.at(0)
        .cause;
  };
  CHECK(cause("256.00") == "oversized_step");
  CHECK(cause("300.11") == "bogus_request");
}

}  // namespace oomdoctor
