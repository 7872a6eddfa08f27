#include "read/freeform.h"

#include "catch.h"

using namespace oomdoctor;

namespace {

constexpr double gib = static_cast<double>(GiB), mib = static_cast<double>(MiB);

struct Wanted {
  Metric metric;
  double bytes;
};

void check(std::string_view line, const std::vector<Wanted>& wanted, std::optional<double> step = {}) {
  CAPTURE(std::string(line));
  const FreeformLine printed = read_freeform(line);
  REQUIRE(printed.values.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(printed.values[i].reading.metric == wanted[i].metric);
    CHECK(printed.values[i].reading.value == Approx(wanted[i].bytes));
  }
  CHECK(printed.step == step);
}

}  // namespace

TEST_CASE("labels identify the printed memory") {
  check("Step 100: Loss=2.34, Memory=18.2GB", {{Metric::memory, 18.2 * gib}}, 100);
  check("step 5 | loss 2.1 | allocated 3.214 GiB | reserved 4.000 GiB",
        {{Metric::allocated, 3.214 * gib}, {Metric::reserved, 4 * gib}}, 5);
  check("iter: 7 max allocated: 3.5 GiB, peak reserved: 4.5 GiB",
        {{Metric::max_allocated, 3.5 * gib}, {Metric::max_reserved, 4.5 * gib}}, 7);
  check("epoch 2 step 40 VRAM=812MB, RAM=7.8%", {{Metric::memory, 812 * mib}}, 40);
  check("step 9 cached 2.5 GiB free 1.5 GiB rss 900 MiB",
        {{Metric::reserved, 2.5 * gib}, {Metric::free, 1.5 * gib}, {Metric::host_rss, 900 * mib}}, 9);
}

TEST_CASE("a unit may be in the label or after a total") {
  check("{'loss': 2.1, 'gpu_mem_gb': 11.204, 'step': 60}", {{Metric::memory, 11.204 * gib}}, 60);
  check("step 3 memory (MB): 812", {{Metric::memory, 812 * mib}}, 3);
  check("step 3 GPU mem: 3.1/24.0 GB", {{Metric::memory, 3.1 * gib}}, 3);
  check("step 3 mem 18,2 GB", {{Metric::memory, 18.2 * gib}}, 3);
}

TEST_CASE("unit letters without an i leave the unit open") {
  CHECK(read_freeform("step 1 mem=2.5GB").values.at(0).reading.ambiguous_unit);
  CHECK_FALSE(read_freeform("step 1 mem=2.5GiB").values.at(0).reading.ambiguous_unit);
}

TEST_CASE("the quantum is one unit of the last printed digit") {
  CHECK(read_freeform("step 1 mem 2.50 GiB").values.at(0).reading.quantum == Approx(gib / 100));
  CHECK(read_freeform("step 1 mem 812 MiB").values.at(0).reading.quantum == Approx(mib));
}

TEST_CASE("the digits give the unit of the allocator's counters if none is printed") {
  check("step 1 alloc: 57.00341796875, reserved: 92.0",
        {{Metric::allocated, 57.00341796875 * mib}, {Metric::reserved, 92 * mib}}, 1);
  check("allocated 3324.904448", {{Metric::allocated, 3324904448.0}});
  check("memory_allocated: 10240000000", {{Metric::allocated, 10240000000.0}});
  check("step 1 alloc: 57.0, reserved: 92.0", {}, 1);
  check("step 1 alloc: 4.000, reserved: 6.000", {}, 1);  // of MiB or of GiB
}

TEST_CASE("the granularity of memory identifies bytes without a unit") {
  check("CUDA memory after optim step:  10240000000", {{Metric::memory, 10240000000.0}});
  check("step 4 rss: 1820123136", {{Metric::host_rss, 1820123136.0}}, 4);
  check("step 4 rss: 1820123137", {}, 4);
  check("rss: 142", {});
  check("step 4 rss: 8192", {}, 4);               // too small for a process
  check("step 4 rss: 1820123136.5", {}, 4);       // bytes have no fraction
  check("step 4 rss: 1820123136 pages", {}, 4);   // the next word is another unit
  check("step 4 gpu memory: 1073741825", {}, 4);  // no multiple of 512
  check("GPU memory used: 12345", {});
}

TEST_CASE("a share of a printed total is a size; a share of nothing is none") {
  check("16.81%: : 584/3475 xpu memory at 45.2% of 11.93GB", {{Metric::memory, 0.452 * 11.93 * gib}});
  check("step 10 GPU memory: 45%", {}, 10);
}

TEST_CASE("activity before the measurement is no step") {
  CHECK_FALSE(read_freeform("CUDA memory after optim step: 10240000000").step);
  CHECK(read_freeform("step 600 / micro_step=1200 mem 5.50 GiB").step == 600);
}

TEST_CASE("the programmer's own words name the moment of a print") {
  const auto phase = [](std::string_view line) {
    const FreeformLine printed = read_freeform(line);
    return printed.values.empty() ? "unread" : printed.values[0].reading.phase;
  };
  CHECK(phase("CUDA memory after traced optim step: 3072000000") == "after traced optim step");
  CHECK(phase("[before trace ] alloc: 41.005859375, reserved: 64.0") == "before trace");
  CHECK(phase("[trainer] step 3 memory 1.5 GiB") == "");
  CHECK(phase("[after epoch 3] memory used 1.5 GiB") == "");
  CHECK(phase("memory saved after tracing: 1.5 GB") == "unread");
  CHECK(phase("memory after the crash, as I think, 1.5 GB") == "unread");
  CHECK(read_freeform("GPU memory after epoch 2: 5.50 GB").epoch == 2);
  CHECK_FALSE(read_freeform("Memory after step: 5.50 GB").step);
}

TEST_CASE("two sizes separated by a slash after the GPU are its memory") {
  check("Epoch 3/40 (lr=0.0001), train loss 0.08, GPU: 2798.0/11011.5 MiB", {{Metric::memory, 2798 * mib}});
  check("step 3 GPU=3.1/24.0 GB", {{Metric::memory, 3.1 * gib}}, 3);
  check("GPU: 1/8", {});
  check("GPU: 12.5/50.0 MB/s", {});
}

TEST_CASE("a counter's argument is the device") {
  const FreeformLine printed = read_freeform("torch.cuda.memory_allocated(1) 12582912");
  REQUIRE(printed.values.size() == 1);
  CHECK(printed.values[0].device == 1);
  CHECK(printed.values[0].reading.value == 12582912);
}

TEST_CASE("the kernel's memory statistics are not an allocator's") {
  check("Cached:         14201396 kB", {});
  check("step 3 cached: 512 MiB", {{Metric::reserved, 512 * mib}}, 3);
}

TEST_CASE("evaluation batches are no training steps") {
  const FreeformLine printed = read_freeform("Evaluating: batch 3/40 | allocated 9.1 GiB");
  CHECK(printed.evaluation);
  REQUIRE(printed.values.size() == 1);
  CHECK(printed.values[0].reading.phase == "evaluation");
}

TEST_CASE("the device is printed before its memory") {
  const FreeformLine printed = read_freeform("step 140 | GPU 0 mem: 9.41 GiB | GPU 1 mem: 3.02 GiB");
  REQUIRE(printed.values.size() == 2);
  CHECK(printed.values[0].device == 0);
  CHECK(printed.values[1].device == 1);
}

TEST_CASE("words of other languages are read") {
  check("ステップ 3 損失 1.2 GPUメモリ使用量: 8.30 GB", {{Metric::memory, 8.3 * gib}}, 3);
  check("[3 스텝] GPU 메모리 할당: 8.30 GB", {{Metric::allocated, 8.3 * gib}}, 3);
  check("Шаг 3: потери 1.2, память GPU: 8.30 ГБ", {{Metric::memory, 8.3 * gib}}, 3);
  check("Schritt 3: GPU-Speicher belegt 8,30 GB", {{Metric::memory, 8.3 * gib}}, 3);
  check("Étape 3 mémoire GPU allouée : 8.30 Go", {{Metric::allocated, 8.3 * gib}}, 3);
  check("Paso 3 memoria GPU usada: 8.30 GB", {{Metric::memory, 8.3 * gib}}, 3);
  check("第 3 步 显存占用：8.30 GB", {{Metric::memory, 8.3 * gib}}, 3);
  check("当前分配: 14.67 GB", {{Metric::allocated, 14.67 * gib}});
  // A total, a limit, a need and a file are not measurements.
  for (const char* line : {"总显存: 24.00 GB", "メモリの上限: 8 GB", "필요 메모리: 8 GB", "Modell gespeichert: 8.3 GB",
                           "mémoire totale requise : 8 Go"})
    check(line, {});
}

TEST_CASE("a unit in brackets, or after the last figure, belongs to all figures of the line") {
  check("step=20 alloc=8.125 reserved=9.250 (GiB)", {{Metric::allocated, 8.125 * gib}, {Metric::reserved, 9.25 * gib}},
        20);
  check("it 5 | mem [MB] alloc 8100 reserved 9000", {{Metric::allocated, 8100 * mib}, {Metric::reserved, 9000 * mib}},
        5);
  check("step 5 alloc 8.1, reserved 9.0 GB", {{Metric::allocated, 8.1 * gib}, {Metric::reserved, 9 * gib}}, 5);
  check("step 3 memory (MB): 12 | loss 3", {{Metric::memory, 12 * mib}}, 3);
  check("step 3 loss 2.1 GPU 8.30 GB", {{Metric::memory, 8.3 * gib}}, 3);
  check("GPU 0: 24 GB", {});
}

TEST_CASE("a position inside an epoch continues over epochs") {
  CHECK(read_freeform("Epoch [3/10], Step [100/600], Loss: 0.31").step == 1300);
  CHECK(read_freeform("Epoch 1:   5%|5  | 100/2000 [01:02<19:30,  1.62it/s]").step == 2100);
  CHECK(read_freeform("| epoch 001:   5%|5  | 100/2000 [01:02<19:30,  1.62it/s]").step == 100);
  CHECK(read_freeform("| epoch 012:   5%|5  | 100/2000 [01:02<19:30,  1.62it/s]").step == 22100);
}

TEST_CASE("the samples of an epoch, with their percentage, are no steps") {
  const FreeformLine line = read_freeform("Train Epoch: 2 [640/60000 (1%)]\tLoss: 1.1");
  CHECK(!line.step);
  CHECK(line.epoch == 2);
}

TEST_CASE("a number before its word counts the work done, in steps or iterations") {
  for (const char* word : {"steps", "iterations"})
    CHECK(read_freeform("Memory after 50 " + std::string(word) + ": 5.50 GB").step == 50);
  for (const char* line : {"Memory after 50 seconds: 5.50 GB", "Memory before 50 steps: 5.50 GB"})
    CHECK_FALSE(read_freeform(line).step);
}

TEST_CASE("a stage of a script is no step of a training") {
  for (const char* stage : {"=== Step 3: Running the evaluation ===", "[Step 2/5] Preparing data", "Step 1/5: Loading",
                            "Step 5/12 : RUN pip install torch==2.1", "Step 2. Downloading the weights"})
    CHECK_FALSE(read_freeform(stage).step);
  CHECK(read_freeform("Step 400: Saving the checkpoint").step == 400);
  CHECK(read_freeform("Step 3: Training loss 2.41").step == 3);
  CHECK(read_freeform("step 3: running").step == 3);
  CHECK(read_freeform("=== Step 3 ===").step == 3);
}

TEST_CASE("only the name of a step with its number may name one") {
  const auto may = [](std::string_view line, std::string_view word) { return may_name_step(line, line.find(word)); };
  CHECK(may("loss 2.1 global_step: 40", "step"));
  CHECK(may("the epoch is 3", "epoch"));
  CHECK_FALSE(may("footsteps: 40", "step"));
  CHECK_FALSE(may("a step taken by the user: 3", "step"));
}

TEST_CASE("progress bars of other work are no training progress") {
  CHECK(read_freeform("Map: 100%|#####| 1200/1200 [00:01<00:00, 900.12 examples/s]").other_work);
  CHECK(read_freeform(" 25%|##5   | 500/2000 [05:10<15:30,  1.61it/s]").leads);
}

TEST_CASE("a bar without a description that is too fast for steps counts items") {
  const FreeformLine words = read_freeform("100%|##########| 1999996/1999996 [02:14<00:00, 14914.08it/s]");
  CHECK(words.items == 1999996);
  CHECK_FALSE(words.step);
  // A resumed bar counts its first steps at once.
  const FreeformLine resumed = read_freeform(" 14%|#4        | 400/2850 [00:00<00:00, 40000.00it/s]");
  CHECK(resumed.step == 400);
  CHECK_FALSE(resumed.items);
  CHECK(read_freeform("  2%|2         | 4000/200000 [33:20<27:13:20,  2.00it/s]").step == 4000);
}

TEST_CASE("one request of many is not what is in use") {
  CHECK(read_freeform("Allocated 541065216 bytes for weights with address 21810380800").values.empty());
}

TEST_CASE("without a step, a bare label is a measurement only next to others") {
  for (const char* line : {"GPU memory: 24 GB", "memory=8.1GB"}) {
    const FreeformLine printed = read_freeform(line);
    REQUIRE(printed.values.size() == 1);
    CHECK(printed.values[0].alone);
  }
  CHECK_FALSE(read_freeform("GPU memory used: 8.1 GB").values.at(0).alone);
}

TEST_CASE("settings, code, prose and failures are no measurements") {
  for (const char* line : {"cache_length: 32768",
                           "limit GPU memory to 2 GB",
                           "Downloading model.safetensors: 5.2GB at 1.2GB/s",
                           "model size: 13.5 GB",
                           "max_memory={0: \"20GB\"}",
                           "total memory 23.69 GiB",
                           "Requested memory 12.0 GB",
                           "memory saved: 3.2 GB",
                           "print(f\"step {step} memory {mem:.2f} GB\")",
                           "def report(memory=18.2): pass",
                           "my card has memory 24 GB, why does it fail",
                           "srun --mem=64G python train.py",
                           "mem: 128G",
                           "vram: 24GB",
                           "log(\"step 5 memory 3.00 GiB\")",
                           "step: 64 | `max_memory_allocated` increased (per step): 0.0000 MB | Used GPU increased "
                           "(since this iter.): 54.000 MB",
                           "aten::linear         1.20%       1.101ms           0 b           0 b      -275.08 Gb     "
                           "-12.50 Mb           240",
                           "    14   1214.8 MiB   1000.5 MiB           1       x = np.ones(131072000)",
                           "cycle 3: pg_map=70",
                           "CUDA out of memory. Tried to allocate 2.00 GiB",
                           "14.22 GiB is allocated by PyTorch, and 1.26 GiB is reserved",
                           "memory bandwidth 1.2 TB/s",
                           "step 3 memory increased 54.0 MB",
                           "Currently allocated     : 9.43 GiB"})
    check(line, {}, read_freeform(line).step);
}

TEST_CASE("one label twice on a line, without a device, measures two unknown things") {
  check("Fra:1 Mem:9120.50M (Peak 11240.25M) | Mem:2310.75M, Peak:2310.75M | Building BVH", {});
  check("step 4 gpu 0 mem 2.5 GiB gpu 1 mem 3.5 GiB", {{Metric::memory, 2.5 * gib}, {Metric::memory, 3.5 * gib}}, 4);
}

TEST_CASE("a setting of the run is not its position") {
  CHECK_FALSE(read_freeform("# epoch: 50").epoch);
  CHECK(read_freeform("epoch: 50").epoch == 50.0);
  CHECK(read_freeform("# epoch 3/50").epoch == 3.0);
}
