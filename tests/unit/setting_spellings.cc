// One setting in the spellings of programs, launchers and people.
#include <array>
#include <string>
#include <string_view>

#include "catch.h"
#include "scans.h"

using namespace oomdoctor;

namespace {

struct Spelling {
  std::string_view line, setting, value;  ///< "" for a setting that the line doesn't show
};

constexpr auto spellings = std::to_array<Spelling>({
    {"Namespace(batch_size=12, seq_len=1536, workers=6, lr=0.0001)", "sequence_length", "1536"},
    {"Namespace(batch_size=12, seq_len=1536, workers=6, lr=0.0001)", "num_workers", "6"},
    {"MICRO_BATCH_SIZE = 6", "batch_size", "6"},
    {"export BATCH_SIZE=20 MAX_LEN=640", "sequence_length", "640"},
    {"config: {'batchSize': 20, 'seqLen': 640}", "batch_size", "20"},
    {"Batch size: 20", "batch_size", "20"},
    {"model: small, batch size: 20, sequence length: 640", "batch_size", "20"},
    {"Gradient checkpointing: enabled", "checkpointing", "true"},
    {"gradient_checkpointing: off", "checkpointing", "false"},
    {"| batch_size | 20 |", "batch_size", "20"},
    {"Eval batch size: 20", "eval_batch_size", "20"},
    {"Eval batch size: 20", "batch_size", ""},
    {"Total batch size: 160", "batch_size", ""},
    {"  Batch size = 20", "batch_size", ""},  // transformers prints it for the evaluation
    {"step 40 loss 2.31 seq_len=913", "sequence_length", ""},
    {"def train(batch_size=20, lr=0.1):", "batch_size", ""},
    {"crop_size: [512, 1024]", "image_size", "1024"},
    {"image_size=(384, 288)", "image_size", "384"},
    {"Image size: 512×384", "image_size", "512"},
    {"img-size 640x480 --img-size 640x480", "image_size", "640"},
    {"python fit.py --amp --workers 6", "precision", "amp"},
    {"python fit.py --no-amp", "precision", ""},
    {"{\"bf16\": {\"enabled\": true}, \"steps_per_print\": 10}", "precision", "bf16"},
    {"\"fp16\": {\n  \"loss_scale\": 0,\n  \"enabled\": true\n},", "precision", "fp16"},
    {"\"fp16\": {\n  \"enabled\": false\n},", "precision", ""},
    {"bf16: {enabled: true}", "precision", "bf16"},
    {"Device: Tesla T4", "gpu", "Tesla T4"},
    {"Running on NVIDIA L40S", "gpu", "NVIDIA L40S"},
    {"NVIDIA A10G", "gpu", "NVIDIA A10G"},
    {"'NVIDIA GeForce RTX 3080 Ti'", "gpu", "NVIDIA GeForce RTX 3080 Ti"},
    {"A100-SXM4-40GB", "gpu", "A100-SXM4-40GB"},
    {"NVIDIA A100-SXM4-80GB MIG 2g.20gb", "gpu", "NVIDIA A100-SXM4-80GB MIG 2g.20gb"},
    {"GPU: 4x A100 80GB", "gpu", "A100 80GB"},
    {"gpu_name='L4'", "gpu", "L4"},
    {"GPU: RTX 4090 (24 GB)", "capacity", "24 GiB"},
    {"NVIDIA Driver Version 535", "gpu", ""},
    {"NVIDIA A100 cards are not needed", "gpu", ""},
    {"Device: 3", "gpu", ""},
    {"Hint: on 8 GPUs set world_size=8 and batch_size=32", "world_size", ""},
    {"Hint: on 8 GPUs set world_size=8 and batch_size=32", "batch_size", ""},
    {"WARNING: you can pass --num_workers 12 to read faster", "num_workers", ""},
    {"  --world-size 4   processes of the job [default: 4]", "world_size", ""},
    {"Usage: torchrun --nproc_per_node=8 fit.py", "world_size", ""},
    {"NOTE: reads with num_workers=12", "num_workers", "12"},
    {"PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,expandable_segments:False", "allocator", "cudaMallocAsync"},
});

}  // namespace

TEST_CASE("a setting is read in its spellings, and only there", "[settings]") {
  for (const Spelling& spelling : spellings) {
    CAPTURE(std::string(spelling.line), std::string(spelling.setting));
    const ScanResult scan = testing::scan_text("start\n" + std::string(spelling.line) + "\nloaded\n");
    const auto found = scan.settings.find(spelling.setting);
    CHECK((found == scan.settings.end() ? "" : found->second.value) == spelling.value);
  }
}
