// Circumstances in the log, not only the failure message, decide the cause. The report of each sample names them in a
// reason with its line.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "samples.h"

using namespace oomdoctor;

namespace {

struct Expected {
  std::string_view sample, cause;
  std::string_view reason;  ///< text that a reason of the cause must contain
  std::string_view first_fix;
};

constexpr std::array<Expected, 18> expectations{
    {{"circumstances/two_ranks_one_gpu", "other_process", "7710", "one-rank-per-device"},
     {"circumstances/user_slice", "host_memory", "/user.slice/user-2031.slice", "raise-host-memory"},
     {"circumstances/small_machine", "host_memory", "sshd", "raise-host-memory"},
     {"circumstances/maps_full", "host_memory", "65530", "allow-mapping"},
     {"circumstances/ray_threshold", "host_memory", "70%", "raise-limit"},
     {"circumstances/tensorflow_little", "other_process", "212 MiB", "free-the-gpu"},
     {"circumstances/weights_fill", "model_states", "20.44 GiB", "smaller-engine-steps"},
     {"circumstances/graph_capture", "kv_cache", "96%", "engine-headroom"},
     {"circumstances/wake_up", "kv_cache", "31.20 GiB", ""},
     {"circumstances/remat_floor", "oversized_step", "51.22 GiB", "less-at-once"},
     {"circumstances/shards", "model_states", "12 of 30", ""},
     {"circumstances/contiguous", "oversized_step", "38 MiB", ""},
     {"circumstances/carve_out", "memory_limit", "firmware", "ask-the-driver"},
     {"circumstances/full_before", "other_process", "23.24 GiB", "free-the-gpu"},
     {"several_runs/larger_batch_again", "oversized_step", "24", "smaller-batch"},
     {"circumstances/weights_of_llama_cpp", "model_states", "61.20 GiB", "less-at-once"},
     {"kernel/sweep", "host_memory", "processes", ""},
     {"ray/largest_user", "host_memory", "21.40 GB", ""}}};

Report report_of(std::string_view sample) {
  const auto path = testing::source_folder() / "samples" / (std::string(sample) + ".log");
  return diagnose({{"train.log", testing::read_file(path)}});
}

}  // namespace

TEST_CASE("circumstances outside the failure message decide the cause", "[circumstances]") {
  for (const Expected& expected : expectations) {
    CAPTURE(std::string(expected.sample));
    const Report report = report_of(expected.sample);
    REQUIRE_FALSE(report.causes.empty());
    CHECK(report.causes.front().cause == expected.cause);
    const auto& reasons = report.causes.front().because;
    const auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& because) {
      return because.text.find(expected.reason) != std::string::npos;
    });
    REQUIRE(reason != reasons.end());
    CHECK_FALSE(reason->locations.empty());
    if (!expected.first_fix.empty()) {
      REQUIRE_FALSE(report.fixes.empty());
      CHECK(report.fixes.front().id == expected.first_fix);
    }
  }
}

TEST_CASE("ranks that ran out of memory independently are one failure", "[circumstances]") {
  const Report report = report_of("circumstances/two_ranks_one_gpu");
  REQUIRE(report.incidents.size() == 2);
  CHECK(report.incidents[0].ranks == std::vector<int>{0, 1});
  CHECK(report.incidents[1].ranks.empty());
}

TEST_CASE("process names identify an engine", "[circumstances]") {
  const Report report = report_of("circumstances/engine_process");
  REQUIRE_FALSE(report.fixes.empty());
  CHECK(report.fixes.front().id == "engine-headroom");
  for (const ReportFix& fix : report.fixes)
    for (const auto& setting : fix.settings) CHECK(setting.scope != "training script");
}

TEST_CASE("a failure while the weights load gives no plan for the whole model", "[circumstances]") {
  const Report report = report_of("circumstances/shards");
  CHECK_FALSE(report.plan);
  for (const ReportFix& fix : report.fixes) CHECK_FALSE(fix.enough);
}

TEST_CASE("a GPU listing from within the program includes the program's own memory", "[circumstances]") {
  const auto full_before = [](const std::string& first) {
    const Report report = diagnose({{"train.log", first + "index, memory.used [MiB], memory.total [MiB]\n"
                                                          "0, 23801 MiB, 24564 MiB\n"
                                                          "RuntimeError: CUDA error: out of memory\n"}});
    const auto is_named = [](const Reason& because) { return because.facts.front() == "device.full_before"; };
    return std::any_of(report.causes.begin(), report.causes.end(), [&](const ReportCause& cause) {
      return std::any_of(cause.because.begin(), cause.because.end(), is_named);
    });
  };
  CHECK(full_before(""));
  CHECK_FALSE(full_before("step 10: loss 2.1\nstep 20: loss 2.0\n"));
  CHECK_FALSE(full_before("Loading checkpoint shards: 100%|####| 4/4 [00:10<00:00]\n"));
}
