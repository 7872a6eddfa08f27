// The advice fits the place, the platform and the program that the log shows.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "catch.h"
#include "oomdoctor/diagnose.h"
#include "report/advice_words.h"
#include "report/series_words.h"
#include "samples.h"

namespace oomdoctor {
namespace {

Report report_of(const std::string& sample) {
  return diagnose({{"job.log", testing::read_file(testing::source_folder() / "samples" / (sample + ".log"))}});
}

/// The first line to copy of a fix; "" if the report does not offer it.
std::string first_setting(const Report& report, const std::string& fix) {
  const auto found = std::find_if(report.fixes.begin(), report.fixes.end(), [&](const auto& f) { return f.id == fix; });
  return found == report.fixes.end() ? "" : found->settings.at(0).scope + ": " + found->settings.at(0).text;
}

/// All advice of the report in one text, without the log's own lines.
std::string advice_in(const Report& report) {
  std::string text;
  for (const auto& fix : report.fixes) {
    text += fix.title + '\n' + fix.why + '\n' + fix.verify + '\n';
    for (const auto& setting : fix.settings) text += setting.text + '\n';
  }
  for (const auto& held : report.held_back) text += held.title + '\n' + held.because + '\n';
  for (const auto& question : report.questions) text += question.text + '\n' + question.command + '\n';
  return text;
}

}  // namespace

TEST_CASE("more host RAM is in the words of the place", "[judge][advice]") {
  const struct {
    const char *sample, *words;
  } places[] = {{"host_allocation/page_file_worker", "page file"},
                {"host_allocation/r_windows", "page file"},
                {"host_allocation/ggml_windows", "1.40 GiB"},
                {"host_allocation/numpy", "NumPy: shape "},
                {"kernel/victim_in_table", "Kubernetes: "},
                {"circumstances/small_machine", "no swap"},
                {"daemons/candidates", "oomctl"},
                {"tensorflow/host_pool", "TF_GPU_HOST_MEM_LIMIT_IN_MB"}};
  for (const auto& [sample, words] : places) {
    CAPTURE(sample);
    const std::string setting = first_setting(report_of(sample), "raise-host-memory");
    CHECK(setting.find(words) != std::string::npos);
    CHECK(setting.find("container") == std::string::npos);
  }
}

TEST_CASE("a heap of Spark is set by Spark", "[judge][advice]") {
  CHECK(first_setting(report_of("heaps/spark_heap"), "raise-heap").starts_with("Spark: "));
  CHECK(first_setting(report_of("heaps/java"), "raise-heap").starts_with("Java: "));
}

TEST_CASE("a platform without CUDA gets no advice on CUDA", "[judge][advice]") {
  for (const char* sample :
       {"stories/mps", "torch_oom/mps_buffer", "torch_oom/mps_outside", "torch_oom/xpu", "torch_oom/npu",
        "torch_oom/npu_without_head", "llama_cpp/metal", "llama_cpp/mlx", "xla/tpu", "circumstances/block_limit"}) {
    CAPTURE(sample);
    const std::string advice = advice_in(report_of(sample));
    for (const char* words : {"CUDA_", "torch.cuda", "einstalling CUDA", "nvidia-smi"})
      CHECK(advice.find(words) == std::string::npos);
  }
}

TEST_CASE("no question whether the model was loaded, once a step is seen", "[judge][advice]") {
  const std::string refused =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 0 has a total "
      "capacity of 23.69 GiB of which 310.00 MiB is free. Of the allocated memory 22.10 GiB is "
      "allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.\n";
  const std::string open = advice_in(diagnose({{"job.log", refused}}));
  CHECK(open.find("built, loaded or moved") != std::string::npos);
  for (const std::string& before :
       {std::string("\r  0%|          | 0/828 [00:00<?, ?it/s]\n"), std::string("step 4 | loss 2.1\n"),
        std::string(
            "Traceback (most recent call last):\n  File \"/env/lib/python3.11/site-packages/transformers/trainer.py\", "
            "line 2245, in _inner_training_loop\n    tr_loss_step = step(model, inputs)\n")}) {
    CAPTURE(before);
    const std::string advice = advice_in(diagnose({{"job.log", before + refused}}));
    CHECK(advice.find("built, loaded or moved") == std::string::npos);
    CHECK(advice.find("loading or moving weights") == std::string::npos);
  }
}

TEST_CASE("the options of a library appear only where the log shows it", "[judge][advice]") {
  for (const char* sample : {"stories/model_states_optimizer", "stories/oversized_step", "stories/other_process",
                             "handled/ultralytics", "bare_oom/comfyui", "circumstances/shards"}) {
    CAPTURE(sample);
    const std::string log = testing::read_file(testing::source_folder() / "samples" / (std::string(sample) + ".log"));
    const bool huggingface = log.find("transformers") != std::string::npos;
    for (const auto& fix : report_of(sample).fixes)
      for (const auto& setting : fix.settings) {
        CAPTURE(fix.id, setting.scope);
        for (const char* library : {"Megatron", "DeepSpeed", "Lightning", "vLLM", "verl", "FSDP"})
          CHECK(setting.scope != library);
        if (!huggingface) CHECK_FALSE((setting.scope.starts_with("HF") || setting.scope == "tokenizer"));
      }
  }
}

TEST_CASE("a run that trains adapters is not told to", "[judge][advice]") {
  const Report report = report_of("prescriptions/adapters_first_update");
  CHECK(first_setting(report, "lora").empty());
  CHECK(first_setting(report, "eight-bit-adam").empty());
  for (const auto& held : report.held_back) CHECK(held.id != "amp-halves-the-model");
}

TEST_CASE("one process on a CPU loads no model for each rank", "[judge][advice]") {
  CHECK(first_setting(report_of("host_allocation/torch"), "staggered-load").empty());
  CHECK(first_setting(report_of("host_allocation/memalign"), "staggered-load").empty());
}

TEST_CASE("a program without Python gets no Python to print its memory", "[judge][advice]") {
  const std::string windows = advice_in(report_of("host_allocation/r_windows"));
  CHECK(windows.find("psutil") == std::string::npos);
  CHECK(windows.find("Task Manager") != std::string::npos);
  CHECK(advice_in(report_of("host_allocation/cpp")).find("psutil") == std::string::npos);
  CHECK(advice_in(report_of("host_allocation/torch")).find("psutil") != std::string::npos);
}

TEST_CASE("a library without a model has no weights and no steps", "[judge][advice]") {
  for (const char* sample : {"other_gpu/cupy", "other_gpu/cupy_notebook"}) {
    CAPTURE(sample);
    for (const auto& cause : report_of(sample).causes) {
      CHECK(cause.title.find("weights") == std::string::npos);
      CHECK(cause.title.find("Step") == std::string::npos);
    }
  }
}

TEST_CASE("a server's preempted requests are no failure", "[judge][advice]") {
  const Report report = report_of("handled/preemption");
  CHECK(report.verdict.outcome == Outcome::no_oom);
  CHECK_FALSE(report.incidents.empty());
  CHECK(report.fixes.empty());
}

TEST_CASE("a diagnostic does not say when the failure is fixed", "[judge][advice]") {
  ReportFix fix;
  CHECK(success_label(fix) == "Fixed when");
  fix.diagnostic = true;
  CHECK(success_label(fix) == "Done when");
}

TEST_CASE("the title of a cause names the rank or the platform", "[judge][advice]") {
  CHECK(report_of("circumstances/two_ranks_one_gpu").causes.at(0).title.starts_with("Another rank of this job"));
  const ReportCause outside = report_of("torch_oom/mps_outside").causes.at(0);
  CHECK(outside.cause == "library_memory");
  CHECK(outside.title.find("CUDA") == std::string::npos);
}

TEST_CASE("an engine's share leaves room beside the weights that the log shows", "[judge][advice]") {
  const auto share_with = [](const std::string& loaded) {
    return first_setting(
        diagnose({{"job.log", "server_args=ServerArgs(model_path='m', mem_fraction_static=0.7)\n" + loaded +
                                  "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"}}),
        "cache-share");
  };
  CHECK(share_with("") == "SGLang: --mem-fraction-static 0.75");
  CHECK(share_with("Load weight end. type=M, dtype=torch.bfloat16, avail mem=16.00 GB, mem usage=64.00 GB.\n") ==
        "SGLang: --mem-fraction-static 0.85");
}

TEST_CASE("a log with a traceback is not asked for its traceback", "[judge]") {
  const std::string refused = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
  const auto asks_for_phase = [](const std::string& log) {
    const Report report = diagnose({{"job.log", log}});
    return std::any_of(report.questions.begin(), report.questions.end(),
                       [](const auto& question) { return question.missing == "phase.known"; });
  };
  CHECK(asks_for_phase(refused));
  CHECK_FALSE(
      asks_for_phase("Traceback (most recent call last):\n  File \"/home/u/sort.py\", line 9, in rank\n    order = "
                     "scores.argsort()\n" +
                     refused));
}

TEST_CASE("tiles of the VAE are advised where the VAE may have asked", "[judge][advice]") {
  const auto advice = [](const std::string& frame) {
    const std::string trace = frame.empty() ? "" : "Traceback (most recent call last):\n" + frame;
    return first_setting(
        diagnose({{"job.log", "got prompt\n!!! Exception during processing !!! Allocation on device\n" + trace +
                                  "torch.OutOfMemoryError: Allocation on device\n"}}),
        "less-at-once");
  };
  const auto tiles = [&](const std::string& frame) { return advice(frame).find("Tiled") != std::string::npos; };
  CHECK(tiles(""));
  CHECK(
      tiles("  File \"/opt/ComfyUI/nodes.py\", line 290, in decode\n    images = vae.decode(samples[\"samples\"])\n"));
  CHECK_FALSE(
      tiles("  File \"/home/mvaeth/ComfyUI/comfy/ldm/flux/model.py\", line 9, in forward\n    x = self.mlp(x)\n"));
  CHECK_FALSE(tiles("  File \"/opt/ComfyUI/comfy/ldm/flux/layers.py\", line 77, in forward\n    x = self.mlp(x)\n"));
}

TEST_CASE("memory that was freed fills nothing more") {
  std::string growth = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  for (int i = 0; i < 60; ++i)
    growth += fmt::format("2026/03/04 05:{:02}:00.000, 0, {} MiB, 24576 MiB\n", i, 4000 + 300 * i);
  CHECK(diagnose({{"job.log", growth}}).verdict.outcome == Outcome::at_risk);
  for (int i = 0; i < 8; ++i) growth += fmt::format("2026/03/04 06:{:02}:00.000, 0, 12 MiB, 24576 MiB\n", i);
  const Report report = diagnose({{"job.log", growth}});
  CHECK(report.verdict.outcome == Outcome::at_risk);  // the next run will grow again
  REQUIRE(report.series.size() == 1);
  CHECK(report.series[0].trend.release.starts_with("released"));
  CHECK_FALSE(report.series[0].trend.forecast);
  CHECK(report.causes.at(0).title == "Memory leak: memory in use grew until it was freed");
}

TEST_CASE("five values of a monitor may be a load, and fill nothing") {
  std::string rows = "timestamp, index, memory.used [MiB], memory.total [MiB]\n";
  const auto add = [&](int i) {
    rows += fmt::format("2026/03/04 05:{:02}:00.000, 0, {} MiB, 24576 MiB\n", i, 4000 + 310 * i);
  };
  for (int i = 0; i < 5; ++i) add(i);
  const Report few = diagnose({{"job.log", rows}});
  REQUIRE(few.series.size() == 1);
  CHECK(few.verdict.outcome == Outcome::no_oom);
  CHECK_FALSE(few.series[0].trend.forecast);
  CHECK(trend_words(few.series[0]) == "rose; 5 values are too few to distinguish growth from loading");
  std::string left;
  for (int i = 0; i < 5; ++i)
    left += fmt::format(
        "run {}\n              total        used        free      shared  buff/cache   available\n"
        "Mem:            135          {}          {}           0          34          {}\n",
        i, 40 + 6 * i, 60 - 6 * i, 93 - 6 * i);
  const Report host = diagnose({{"job.log", left}});
  REQUIRE(host.series.size() == 2);
  CHECK(trend_words(host.series[0]) == "rose; 5 values are too few to distinguish growth from loading");
  CHECK(trend_words(host.series[1]) == "fell; 5 values are too few to distinguish growth from loading");
  for (int i = 5; i < 60; ++i) add(i);
  const Report many = diagnose({{"job.log", rows}});
  CHECK(many.verdict.outcome == Outcome::at_risk);
  CHECK(many.series.at(0).trend.forecast);
}

TEST_CASE("a level is that of the last stretch where others before it were elsewhere") {
  std::string loops;
  const auto add = [&](int steps, double level) {
    for (int i = 1; i <= steps; ++i) loops += fmt::format("[Iteration {}] Memory: {:.2f} MB | CPU: 9.9%\n", i, level);
  };
  add(14, 448.18);
  add(25, 733.7);
  add(18, 587.2);
  const Report report = diagnose({{"job.log", loops}});
  REQUIRE(report.series.size() == 1);
  CHECK(trend_words(report.series[0]) == "in the last long stretch: flat at 587.20 MiB");
}

/// The texts of all notes, a line each.
std::string notes_in(const Report& report) {
  std::string text;
  for (const auto& note : report.notes) text += note.text + '\n';
  return text;
}

TEST_CASE("another exception that ends the run is named, a traceback of the failure itself is not", "[advice]") {
  const std::string message =
      "CUDA out of memory. Tried to allocate 24.00 MiB (GPU 0; 3.95 GiB total capacity; 3.31 GiB already allocated; "
      "18.44 MiB free; 3.40 GiB reserved in total by PyTorch)\n";
  const std::string trace =
      "Traceback (most recent call last):\n  File \"fit.py\", line 88, in run\n    mean = total / done\n";
  const auto notes = [](const std::string& log) { return notes_in(diagnose({{"job.log", log}})); };
  CHECK(notes("batch failed: " + message + trace + "ZeroDivisionError: division by zero\n")
            .find("after this failure, the run ended with `ZeroDivisionError: division by zero`") != std::string::npos);
  CHECK(notes(trace + "RuntimeError: " + message).find("after this failure") == std::string::npos);
}

TEST_CASE("no note advises what the log sets", "[advice]") {
  const std::string corrected = notes_in(report_of("circumstances/dask_threshold_set"));
  CHECK(corrected.find("sets it to False") != corrected.npos);
  CHECK(corrected.find("Set it to") == corrected.npos);
}

TEST_CASE("a replaced row of memory comes with what NVIDIA advises", "[advice]") {
  CHECK(notes_in(report_of("masked/xid_remapped")).starts_with("programs can go on"));
  const std::string failed = notes_in(report_of("circumstances/row_not_replaced"));
  CHECK(failed.find("nvidia-smi --gpu-reset -i 0000:9b:00.0") != failed.npos);
  CHECK(failed.find("needs service") != failed.npos);
}

TEST_CASE("torchmetrics is named only if the log shows it", "[advice]") {
  CHECK(first_setting(report_of("circumstances/torchmetrics"), "reset-metrics").starts_with("torchmetrics: "));
  CHECK(first_setting(report_of("stories/leak"), "reset-metrics").empty());
}

TEST_CASE("an amount that is rounded far up says so", "[advice]") {
  CHECK(first_setting(report_of("kubernetes/small_limit"), "raise-host-memory").find("the limit, rounded up") !=
        std::string::npos);
  CHECK(advice_in(report_of("stories/host_kubernetes")).find("rounded up") == std::string::npos);
}

TEST_CASE("lines that only print the memory of a device get no advice for a training loop", "[advice]") {
  const std::string advice = advice_in(report_of("prints/vram_of_device"));
  CHECK(!advice.empty());
  CHECK(advice.find("loss") == advice.npos);
  CHECK(advice.find("checkpoint") == advice.npos);
}

TEST_CASE("a line that another message reads is no setting", "[advice]") {
  constexpr int line_of_kill = 7;  // the list of candidates is above it
  for (const auto& setting : report_of("daemons/candidates").settings) CHECK(setting.location.line == line_of_kill);
}

TEST_CASE("a wrapper that calls a function by its name is no place", "[advice]") {
  const Report report = report_of("ray/called_by_name");
  REQUIRE(!report.incidents.empty());
  CHECK(!report.incidents.front().frame);
}

TEST_CASE("ranks that are all at one step give the step of a failure without a rank", "[advice]") {
  const Report report = report_of("collateral/steps_of_ranks");
  REQUIRE(!report.incidents.empty());
  CHECK(report.incidents.front().step == 221);
}

}  // namespace oomdoctor
