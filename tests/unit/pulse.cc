// The state of a running job in one line.
#include "report/pulse.h"

#include <fmt/format.h>

#include <string>

#include "catch.h"
#include "oomdoctor/diagnose.h"

using namespace oomdoctor;

namespace {

Report report_of(const std::string& log, std::optional<std::int64_t> capacity = {}) {
  Options options;
  options.capacity_bytes = capacity;
  return diagnose({{"train.log", log}}, options);
}

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

/// Grows by 0.1 GiB in each step; in the columns of a monitor, in each second.
std::string growing(int steps) {
  std::string log;
  for (int i = 1; i <= steps; ++i) log += fmt::format("step {} loss 2.0 allocated {:.2f} GiB\n", i, 10 + 0.1 * i);
  return log;
}

}  // namespace

TEST_CASE("a forecast in steps becomes a time with the speed of the steps", "[pulse]") {
  const Report report = report_of(growing(50), 24 * gibibyte);
  const Pulse without = take_pulse(report, {});
  CHECK(without.step == 50);
  CHECK_FALSE(without.left);
  CHECK(pulse_line(without) == "step 50: allocated 15 of 24 GiB (62%), +102 MiB per step");
  const Pulse slow = take_pulse(report, 0.01);  // 90 steps are left, of 100 seconds each
  REQUIRE(slow.left);
  CHECK(slow.left->middle == Approx(9000).epsilon(0.02));
  CHECK(slow.left->low <= slow.left->middle);
  CHECK(pulse_line(slow).find("full in 2 h 30 min") != std::string::npos);
}

TEST_CASE("a forecast in seconds needs no speed", "[pulse]") {
  std::string csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 0; i < 50; ++i)
    csv += fmt::format("2025/02/01 12:{:02}:{:02}.000, 0, {} MiB, 81920 MiB\n", i / 6, i % 6 * 10, 20000 + 500 * i);
  const Pulse pulse = take_pulse(report_of(csv), {});
  REQUIRE(pulse.left);
  CHECK(pulse.left->middle == Approx((81920.0 - 44500) / 50).epsilon(0.03));
  CHECK(compute_fill(pulse) == Approx(44500.0 / 81920));
  CHECK_FALSE(pulse.step);
}

TEST_CASE("the memory that is full first is shown", "[pulse]") {
  std::string csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 0; i < 50; ++i)
    for (const auto& [gpu, used] : {std::pair(0, 70000), std::pair(1, 10000 + 800 * i)})
      csv += fmt::format("2025/02/01 12:{:02}:{:02}.000, {}, {} MiB, 81920 MiB\n", i / 6, i % 6 * 10, gpu, used);
  CHECK(take_pulse(report_of(csv), {}).memory.find("GPU 1") != std::string::npos);
}

TEST_CASE("a failure is the headline, and a log without memory says so", "[pulse]") {
  const Report failed = report_of(growing(20) +
                                  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a "
                                  "total capacity of 23.69 GiB of which 1.06 GiB is free.\n");
  CHECK(pulse_line(take_pulse(failed, {})) == failed.verdict.headline);
  CHECK(pulse_line(take_pulse(report_of("step 1 loss 2\nstep 2 loss 1\n"), {})) == "no memory values yet");
  CHECK_FALSE(compute_fill(Pulse{}));
}
