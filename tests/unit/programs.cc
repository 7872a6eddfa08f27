// The log identifies the program and its work, and both determine the advice.
#include <algorithm>
#include <set>

#include "catch.h"
#include "facts/programs.h"
#include "oomdoctor/diagnose.h"
#include "scans.h"

namespace oomdoctor {
namespace {

const std::string failure =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB "
    "of "
    "which 612.06 MiB is free. Including non-PyTorch memory, this process has 23.08 GiB memory in use. Of the "
    "allocated "
    "memory 22.40 GiB is allocated by PyTorch, and 210.33 MiB is reserved by PyTorch but unallocated.\n";

/// The settings of all fixes, one per line.
std::string settings_of(const std::string& log) {
  std::string text;
  for (const ReportFix& fix : diagnose({{"job.log", log}}).fixes)
    for (const FixSetting& setting : fix.settings) text += fix.id + ": " + setting.scope + ": " + setting.text + "\n";
  return text;
}

bool mentions(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

}  // namespace

TEST_CASE("every program name that a parser emits is in the table", "[programs]") {
  std::set<std::string_view> names;
  for (const Program& program : all_programs()) names.insert(program.name);
  for (const Parser* parser : all_parsers())
    for (const Pattern& pattern : parser->patterns) {
      const ScanResult scan = testing::scan_text(std::string(pattern.example) + "\n");
      for (const char* setting : {"engine", "program"})
        if (const auto found = scan.settings.find(setting); found != scan.settings.end()) {
          CAPTURE(pattern.name);
          CHECK(names.contains(found->second.value));
        }
    }
}

TEST_CASE("an engine gets the next value in the direction that helps", "[programs]") {
  const std::string settings = settings_of(
      "+ python -m sglang.launch_server --mem-fraction-static 0.92 --chunked-prefill-size 8192\n" + failure);
  CHECK(mentions(settings, "--mem-fraction-static 0.82"));
  CHECK(mentions(settings, "--chunked-prefill-size 4096"));
  CHECK_FALSE(mentions(settings, "gradient_accumulation"));
  const std::string length = settings_of(
      "(EngineCore_DP0 pid=21) ERROR ValueError: To serve at least one request with the model's max seq len (40960), "
      "(7.50 GiB KV cache is needed, which is larger than the available KV cache memory (3.80 GiB). Based on the "
      "available "
      "memory, the estimated maximum model length is 20480.\n");
  CHECK(mentions(length, "--max-model-len 20480"));
}

TEST_CASE("a program gets its own settings, and a simulator fewer worlds", "[programs]") {
  CHECK(mentions(
      settings_of("[03/01 10:02:11 d2.utils.events]:  eta: 3:41:02  iter: 19  total_loss: 1.82  max_mem: 9021M\n" +
                  failure),
      "SOLVER.IMS_PER_BATCH"));
  const std::string worlds = settings_of("+ python ppo.py --num_envs=512\n[mani_skill] building\n" + failure);
  CHECK(mentions(worlds, "num_envs=256"));
}

TEST_CASE("the script of a launcher distinguishes training from inference", "[programs]") {
  const auto has = [](const std::string& log, std::string_view id) {
    const Report report = diagnose({{"job.log", log}});
    return std::any_of(report.fixes.begin(), report.fixes.end(), [&](const ReportFix& fix) { return fix.id == id; });
  };
  CHECK(has("+ torchrun --nproc_per_node 1 scripts/inference.py --steps 30\n" + failure, "less-at-once"));
  CHECK_FALSE(
      has("+ torchrun --nproc_per_node 1 scripts/inference.py --steps 30\n" + failure, "activation-checkpointing"));
  CHECK(has("+ accelerate launch train_lora.py --config c.yaml\n" + failure, "activation-checkpointing"));
}

TEST_CASE("the tools are those of the GPU's vendor", "[programs]") {
  const std::string amd = settings_of(
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 40960.00 MiB on device 0: cudaMalloc failed: out of "
      "memory\n"
      "llm_load_tensors: ROCm0 buffer size = 40960.00 MiB\n");
  CHECK_FALSE(mentions(amd, "nvidia-smi"));
}

TEST_CASE("among several processes, the one with PyTorch's size is this one", "[programs]") {
  const Report report =
      diagnose({{"job.log",
                 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.39 GiB. GPU 1 has a total capacity "
                 "of 79.32 GiB of "
                 "which 2.40 GiB is free. Process 62200 has 70.92 GiB memory in use. Process 62201 has 6.00 GiB memory "
                 "in use. Of "
                 "the allocated memory 69.40 GiB is allocated by PyTorch, and 812.02 MiB is reserved by PyTorch but "
                 "unallocated.\n"}});
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].pid == 62200);
  REQUIRE(report.incidents[0].other_processes.size() == 1);
  CHECK(report.incidents[0].other_processes[0].first == 62201);
}

TEST_CASE("a warning that later becomes an uncaught error is a failure", "[programs]") {
  const auto outcome = [](const std::string& log) { return diagnose({{"job.log", log}}).verdict.outcome; };
  const std::string warning =
      "/opt/venv/lib/python3.11/site-packages/torch/cuda/x.py:22: UserWarning: CUDA error: out of memory\n";
  CHECK(outcome(warning) == Outcome::handled_oom);
  CHECK(outcome(warning + "RuntimeError: CUDA error: out of memory\n") == Outcome::oom);
}

TEST_CASE("a survived failure of unknown cause has no fix and no question", "[programs]") {
  const Report report = diagnose(
      {{"job.log",
        "/opt/venv/lib/python3.11/site-packages/torch/cuda/x.py:22: UserWarning: CUDA error: out of memory\n"}});
  CHECK(report.verdict.cause == "undetermined");
  CHECK(report.fixes.empty());
  CHECK(report.questions.empty());
  CHECK(report.verdict.retry.decision == "retry_unchanged");
}

TEST_CASE("the shell's word for a killed child is recognized in other languages", "[programs]") {
  for (const std::string word : {"已杀死", "Getötet", "Убито", "強制終了"}) {
    CAPTURE(word);
    CHECK(diagnose({{"job.log", "step 1\n" + word + "\n"}}).verdict.outcome == Outcome::possible_oom);
    CHECK(diagnose({{"job.log", "step 1\nsaid " + word + " again\n"}}).verdict.outcome == Outcome::no_oom);
  }
}

TEST_CASE("two printed steps far apart do not mean the first step", "[programs]") {
  const auto phase = [](const std::string& steps) {
    return diagnose({{"job.log",
                      steps +
                          "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 88, in <module>\n"
                          "    loss.backward()\n" +
                          failure}})
        .incidents.at(0)
        .phase;
  };
  CHECK(phase("step 1 | loss 2.5\n") == "first_step");
  CHECK(phase("step 100 | loss 2.5\nstep 200 | loss 2.4\n") == "backward");
}

}  // namespace oomdoctor
