// Typical failures of users, from text to fixes: the first fix and its numbers.
#include <algorithm>

#include "catch.h"
#include "oomdoctor/diagnose.h"

namespace oomdoctor {
namespace {

Report read(const std::string& text) { return diagnose({{"train.log", text}}, {}); }

const ReportFix* fix_of(const Report& report, std::string_view id) {
  for (const ReportFix& fix : report.fixes)
    if (fix.id == id) return &fix;
  return nullptr;
}

bool among_first(const Report& report, std::size_t n, std::string_view cause) {
  const auto end = report.causes.begin() + static_cast<std::ptrdiff_t>(std::min(n, report.causes.size()));
  return std::any_of(report.causes.begin(), end, [&](const auto& c) { return c.cause == cause; });
}

bool mentions(const Report& report, std::string_view text) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const auto& note) { return note.text.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a process that fills its A100 and lacks 118 MiB: capacity", "[golden]") {
  const Report r = read(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 118.00 MiB. GPU 0 has a total capacity of "
      "39.56 GiB of which 34.88 MiB is free. Including non-PyTorch memory, this process has 39.51 GiB memory in use. "
      "Of the allocated memory 38.42 GiB is allocated by PyTorch, and 412.50 MiB is reserved by PyTorch but "
      "unallocated.");
  CHECK(r.causes.at(0).cause == "oversized_step");
  CHECK_FALSE(among_first(r, 3, "fragmentation"));
  REQUIRE(r.plan);
  // The missing amount, plus 5% of the GPU as a margin.
  CHECK(static_cast<double>(r.plan->need_bytes) / (1 << 30) ==
        Approx((118 - 34.88) / 1024 + 39.56 * 0.05).margin(0.01));
}

TEST_CASE("0.05 GiB of unused cache cannot be fragmentation that refuses 2.50 GiB", "[golden]") {
  const Report r = read(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0; 23.69 GiB total capacity; 21.45 GiB "
      "already allocated; 1.89 GiB free; 21.50 GiB reserved in total by PyTorch)");
  CHECK(r.causes.at(0).cause == "oversized_step");
  CHECK(std::none_of(r.causes.begin(), r.causes.end(),
                     [](const auto& c) { return c.cause == "fragmentation" && c.probability > 0.02; }));
  CHECK(fix_of(r, "expandable-segments") == nullptr);
  CHECK(1 - 21.45 / 21.50 == Approx(0.0023).margin(0.0001));
}

TEST_CASE("unused cache and a large batch: fixes for both, with the same global batch", "[golden]") {
  const Report r = read(
      "model: t5-small\nnum_gpus: 3\nbatch_size_per_gpu=32\ngradient_accumulation_steps=2\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.23 GiB. GPU 0 has a total capacity of "
      "19.58 GiB of which 1.06 GiB is free. Including non-PyTorch memory, this process has 18.50 GiB memory in use. "
      "Of the allocated memory 14.94 GiB is allocated by PyTorch, and 3.18 GiB is reserved by PyTorch but "
      "unallocated.");
  CHECK(among_first(r, 2, "fragmentation"));
  CHECK(among_first(r, 2, "oversized_step"));
  REQUIRE(fix_of(r, "expandable-segments") != nullptr);
  const ReportFix* batch = fix_of(r, "smaller-batch");
  REQUIRE(batch != nullptr);
  CHECK(batch->settings.at(0).from == "32");
  CHECK(batch->settings.at(0).text == "batch_size_per_gpu=16, gradient_accumulation_steps=4");
  CHECK(16 * 4 * 3 == 32 * 2 * 3);
}

TEST_CASE("a successful run with very little headroom is at risk and has no diagnosis", "[golden]") {
  std::string log = "GPU 0: NVIDIA card, total memory 24.00 GiB\n";
  for (int i = 0; i < 20; ++i) log += "step " + std::to_string(i) + " | loss 2.1 | allocated 23.40 GiB\n";
  const Report r = read(log);
  CHECK(r.verdict.outcome == Outcome::at_risk);
  CHECK(r.verdict.cause.empty());
  CHECK(r.causes.empty());
  CHECK(r.verdict.headline == "tensors came within 614 MiB of the GPU's capacity");
  CHECK(r.verdict.retry.decision == "unknown");
  std::string roomy = log;
  for (std::size_t at = 0; (at = roomy.find("23.40", at)) != std::string::npos;) roomy.replace(at, 5, "20.40");
  CHECK(read(roomy).verdict.outcome == Outcome::no_oom);
}

TEST_CASE("a notebook log that just ends: host memory is a suspicion, not a claim", "[golden]") {
  const std::string log =
      "Mounted at /content/drive\n"
      "Epoch 1/5:  34%|###4      | 412/1210 [03:11<06:02,  2.20it/s, loss=1.32]\n"
      "Epoch 1/5:  35%|###4      | 421/1210 [03:15<06:00,  2.20it/s, loss=1.30]\n";
  const Report r = read(log);
  CHECK(r.verdict.outcome == Outcome::no_oom);
  CHECK(mentions(r, "Colab session that ran out of host RAM"));
  CHECK_FALSE(mentions(read(log + "done\nresults\nare\nsaved\n"), "host memory"));
}

TEST_CASE("a video model in 32 bit: precision, batch, frames and resolution, each with its figure", "[golden]") {
  const Report r = read(
      "trainer:\n  precision: 32\n  batch_size: 4\n  num_frames: 16\n  image_size: 224\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 588.00 MiB. GPU 0 has a total capacity of "
      "23.69 GiB of which 312.88 MiB is free. Including non-PyTorch memory, this process has 23.37 GiB memory in use. "
      "Of the allocated memory 22.61 GiB is allocated by PyTorch, and 401.25 MiB is reserved by PyTorch but "
      "unallocated.");
  for (const std::string_view id : {"bf16-autocast", "smaller-batch", "fewer-frames", "lower-resolution"}) {
    CAPTURE(id);
    const ReportFix* fix = fix_of(r, id);
    REQUIRE(fix != nullptr);
    REQUIRE(fix->saves_high_bytes);
    CHECK(*fix->saves_high_bytes > std::int64_t{9} << 30);
    CHECK(*fix->saves_high_bytes < std::int64_t{12} << 30);
  }
}

TEST_CASE("no report for a Mac mentions nvidia-smi", "[golden]") {
  const Report r = read(
      "RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: "
      "18.13 GB). Tried to allocate 192.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable "
      "upper limit for memory allocations (may cause system failure).");
  for (const ReportFix& fix : r.fixes)
    for (const auto& setting : fix.settings)
      for (const std::string_view word : {"CUDA", "nvidia", "NCCL", "CUBLAS", "torch.cuda"}) {
        CAPTURE(fix.id, setting.text);
        CHECK(setting.text.find(word) == std::string::npos);
      }
}

}  // namespace oomdoctor
