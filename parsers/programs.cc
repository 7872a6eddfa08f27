// Identifies the program by words that occur in no other program's log: launchers, loggers, modules of a command line.
//
// Programs with their own parser of step lines need no entry: that parser identifies them, and no further word is
// searched on every line.
//
// These words are weak evidence. A traceback or a message of the program counts more, and a training log may name an
// engine that it only uses.
#include "parse/literal.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

template <Literal setting, Literal value>
void emit(const Match&, EventSink& sink) {
  sink.setting(setting.view(), value.view());
}

/// The script that a launcher runs.
void script(const Match& m, EventSink& sink) { sink.setting("script", m[1]); }

template <Literal setting, Literal value>
consteval Pattern word(std::string_view name, std::string_view anchor, std::string_view example) {
  return checked(
      Pattern{.name = name, .anchor = anchor, .example = example, .emit = emit<setting, value>, .non_exclusive = true});
}

constexpr Pattern patterns[] = {
    word<"engine", "TGI">("programs/tgi_launcher", "text_generation_launcher",
                          "2025-02-11T09:14:02Z  INFO text_generation_launcher: Args {"),
    word<"engine", "TGI">("programs/tgi_router", "text_generation_router",
                          "2025-02-11T09:15:40Z  WARN text_generation_router: router/src/server.rs:311:"),
    word<"engine", "TGI">(
        "programs/tgi_client", "text_generation_client",
        "2025-02-11T09:15:41Z ERROR warmup{max_input_length=4096}: text_generation_client: Server error"),
    word<"engine", "SGLang">("programs/sglang_server", "sglang.launch_server",
                             "+ python -m sglang.launch_server --model-path m --tp 2"),
    word<"engine", "vLLM">("programs/vllm_api", "vllm.entrypoints",
                           "+ python -m vllm.entrypoints.openai.api_server --model m"),
    word<"engine", "vLLM">("programs/vllm_serve", "vllm serve ", "+ vllm serve m --max-model-len 8192"),
    word<"engine", "LMDeploy">("programs/lmdeploy", "lmdeploy serve", "+ lmdeploy serve api_server m"),
    word<"engine", "ExLlamaV2">("programs/exllamav2", "ExLlamaV2Cache",
                                "    cache = ExLlamaV2Cache(model, lazy = True)"),
    word<"engine", "CTranslate2">("programs/faster_whisper", "faster_whisper",
                                  "  File \"/opt/venv/lib/faster_whisper/transcribe.py\", line 602, in __init__"),
    word<"engine", "AlphaFold">("programs/alphafold", "run_alphafold",
                                "I0214 10:02:11 run_alphafold.py:466] Running model"),
    word<"engine", "AlphaFold">("programs/colabfold", "colabfold", "2025-02-14 10:02:11 Running colabfold 1.5.5"),
    word<"engine", "ComfyUI">("programs/comfyui_prompt", "!!! Exception during processing",
                              "!!! Exception during processing !!! Allocation on device"),
    word<"engine", "ComfyUI">("programs/comfyui_load", "Requested to load ", "Requested to load AutoencoderKL"),
    word<"engine", "Stable Diffusion web UI">("programs/forge", "modules_forge/",
                                              "  File \"/opt/forge/modules_forge/main_thread.py\", line 30, in work"),
    word<"engine", "CatBoost">("programs/catboost", "NCudaLib", "NCudaLib::TOutOfMemoryError"),
    word<"engine", "LightGBM">("programs/lightgbm", "[LightGBM] [", "[LightGBM] [Info] Number of data points: 120"),
    word<"engine", "AlphaFold">("programs/colabfold_result", "Could not predict ",
                                "Could not predict test_1. Not Enough GPU memory?"),
    word<"engine", "ComfyUI">("programs/comfyui_lora", "ERROR lora diffusion_model.",
                              "ERROR lora diffusion_model.output_blocks.1.weight Allocation on device"),
    word<"program", "Isaac">("programs/gymtorch", "gymtorch", "Building extension module gymtorch..."),
    word<"program", "Isaac">("programs/gpu_physx", "GPU PhysX", "+++ Using GPU PhysX"),
    word<"program", "Isaac">("programs/isaacgym", "isaacgym",
                             "Importing module 'gym_38' (/opt/isaacgym/python/gym_38.so)"),
    word<"program", "Isaac">("programs/isaaclab", "isaaclab",
                             "[INFO]: Loading experience file: apps/isaaclab.python.kit"),
    word<"program", "Isaac">("programs/physx", "[carb.gym", "[Error] [carb.gym.plugin] Gym cuda error: out of memory"),
    word<"program", "ManiSkill">("programs/mani_skill", "mani_skill", "+ python -m mani_skill.examples.demo"),
    word<"program", "Genesis">("programs/genesis", "[Genesis]", "[Genesis] [10:02:11] [INFO] Building scene"),
    word<"web_server", "gunicorn">("programs/gunicorn", "Starting gunicorn",
                                   "[2025-03-01 10:02:11 +0000] [31] [INFO] Starting gunicorn 23.0.0"),
    word<"web_server", "uvicorn">("programs/uvicorn", "Uvicorn running on",
                                  "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)"),
    word<"web_server", "gradio">("programs/gradio",
                                 "Running on local URL:", "Running on local URL:  http://127.0.0.1:7860"),
    word<"web_server", "flask">("programs/flask", "* Serving Flask app", " * Serving Flask app 'server'"),
    word<"program", "nnU-Net">("programs/nnunet", "nnUNet", "+ nnUNetv2_train 7 3d_fullres 0"),
    word<"program", "ultralytics">("programs/ultralytics", "Ultralytics ",
                                   "Ultralytics 8.3.40 Python-3.11 torch-2.5.1 CUDA:0"),
    word<"program", "ultralytics">("programs/yolov5", "YOLOv5 ", "YOLOv5 v7.0-389 Python-3.10 torch-2.4.1 CUDA:0"),
    word<"program", "verl">("programs/verl", "actor_rollout_ref.",
                            "+ python -m verl.trainer.main_ppo actor_rollout_ref.model.path=m"),
    word<"program", "LLaMA-Factory">("programs/llamafactory", "llamafactory",
                                     "[INFO|2025-03-01] llamafactory.hparams.parser:406"),
    word<"program", "fairseq">("programs/fairseq", "fairseq_cli",
                               "2025-03-01 10:02:11 | INFO | fairseq_cli.train | task"),
    word<"program", "torchtune">("programs/torchtune", "torchtune", "INFO:torchtune.utils._logging:Running recipe"),
    word<"runtime", "jax">(
        "programs/jax_runtime", "external/org_tensorflow",
        "2025-03-01 10:02:11 W external/org_tensorflow/tensorflow/core/common_runtime/bfc_allocator.cc:479]"),
    word<"runtime", "jax">("programs/jax_xla", "external/xla/", "E external/xla/xla/service/rendezvous.cc:31]"),
    word<"runtime", "jax">("programs/jaxlib", "jaxlib.", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED"),
    word<"runtime", "tensorflow">("programs/tensorflow_errors", "errors_impl.",
                                  "tensorflow.python.framework.errors_impl.ResourceExhaustedError"),
    word<"runtime", "tensorflow">("programs/tensorflow_kernel", "op_kernel.cc",
                                  "W tensorflow/core/framework/op_kernel.cc:1780] OP_REQUIRES failed"),
    checked({.name = "programs/script",
             .anchor = "torchrun ",
             .regex = R"(\btorchrun [^\r\n]{0,300}?([\w./-]{1,120}\.py)(?= |$))",
             .captures = 1,
             .example = "+ torchrun --nproc_per_node 1 scripts/inference.py --batch-size 2",
             .emit = script,
             .non_exclusive = true}),
    checked({.name = "programs/launched_script",
             .anchor = "accelerate launch ",
             .regex = R"(\baccelerate launch [^\r\n]{0,300}?([\w./-]{1,120}\.py)(?= |$))",
             .captures = 1,
             .example = "+ accelerate launch --num_processes 2 train_lora.py --config c.yaml",
             .emit = script,
             .non_exclusive = true}),
    word<"vendor", "amd">("programs/rocm", "ROCm", "ggml_backend_cuda_buffer_type_alloc_buffer: allocating on ROCm0"),
    word<"vendor", "apple">("programs/metal_io", "kIOGPU",
                            "error: Insufficient Memory (kIOGPUCommandBufferCallbackErrorOutOfMemory)"),
    word<"vendor", "apple">("programs/metal_malloc", "[metal::malloc]",
                            "[metal::malloc] Attempting to allocate 12884901888 bytes"),
    word<"vendor", "huawei">("programs/ascend", "rtMalloc", "EL0004: Failed to allocate memory. rtMalloc failed"),
    word<"vendor", "google">("programs/tpu", "TPU backend", "XLA:TPU compile permanent error on the TPU backend"),
    word<"vendor", "intel">("programs/level_zero", "UR_RESULT_ERROR",
                            "RuntimeError: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"),
};

}  // namespace

extern const Parser programs;
const Parser programs{.name = "programs",
                      .title = "names of programs",
                      .source = "launchers, loggers and command lines: real logs",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
