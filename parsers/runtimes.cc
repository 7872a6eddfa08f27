// Further runtimes that request GPU memory: ONNX Runtime's arena, TensorRT-LLM, Paddle's driver calls, MXNet, darknet,
// the Ascend driver, vLLM's warm-up.
//
// These forms are not in other_gpu. All numbers are bytes.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

/// Only an arena with a limit (gpu_mem_limit) prints this. "Available" is the rest of that limit, not of the GPU.
void arena(const Match& m, EventSink& sink) {
  Oom oom = device_oom("onnxruntime", Agent::library);
  oom.message_format = "onnxruntime-arena";
  read_request(number_on_line(m.cursor.line().text, "requested bytes of ", m[1]), oom);
  sink.oom(std::move(oom));
}

void ascend(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  read_request(m[1], oom);
  oom.capacity = read_size(m[3]);
  oom.free = read_size(number_on_line(m.cursor.line().text, "free size:", m[4]));
  Origin where;
  where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

/// The driver's code. PyTorch's or MindSpore's own report above has the numbers and takes precedence.
void ascend_code(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 30, 6,
               {"Tried to allocate", "Malloc device memory failed", "aclrtMalloc failed", "Call rtMalloc fail"}))
    emit_bare(m, sink, "ascend");
}

/// The runtime requests pages of one size after another. Only the first request is reported; the others retry the same
/// allocation.
void ascend_malloc(const Match& m, EventSink& sink) {
  static constexpr std::string_view call = "Call rtMalloc fail";
  if (is_near(m.cursor, 30, 6, {"Tried to allocate", "Malloc device memory failed", "aclrtMalloc failed"})) return;
  if (const auto before = find_before(m.cursor, 2, call); before && before->number < m.cursor.line().number) return;
  Oom oom = device_oom("ascend");
  read_request(m[1], oom);
  Origin where;
  where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

/// Triton's own pool (cuda-memory-pool-byte-size) was full. Triton uses pinned memory instead, so the run continues.
void triton_pool(const Match& m, EventSink& sink) {
  Oom oom = device_oom("triton-server", Agent::library);
  read_request(m[1], oom);
  oom.caught = true;
  Origin where;
  where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

/// MindSpore's batch queue uses pinned host memory.
void pinned_arena(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom;
  oom.kind = OomKind::host;
  oom.agent = Agent::cpu_allocator;
  oom.framework = "mindspore";
  oom.message_format = "pinned-host";
  sink.oom(std::move(oom));
}

/// PyTorch's report, if it was printed, is above in the same chain of exceptions.
void warm_up(const Match& m, EventSink& sink) {
  if (!find_before(m.cursor, 200, "Tried to allocate")) emit_bare(m, sink, "vllm");
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_tensorrt_llm(const Match& m, EventSink& sink) { emit_bare(m, sink, "tensorrt-llm"); }
void emit_paddle(const Match& m, EventSink& sink) { emit_bare(m, sink, "paddle"); }
void emit_mxnet(const Match& m, EventSink& sink) { emit_bare(m, sink, "mxnet"); }
void emit_darknet(const Match& m, EventSink& sink) { emit_bare(m, sink, "darknet"); }

constexpr Pattern patterns[] = {
    checked({.name = "runtimes/onnxruntime_arena",
             .anchor = "than requested bytes of",
             .second_anchor = "Available memory of",
             .regex = R"(Availablememoryof\d{1,20}issmallerthanrequestedbytesof(\d{1,20}))",
             .captures = 1,
             .reach = Reach::message,
             .example = "bfc_arena.cc:368 onnxruntime::BFCArena::AllocateRawInternal Available memory of 10485760 is "
                        "smaller than requested bytes of 17179869184",
             .emit = arena,
             .source = "onnxruntime: core/framework/bfc_arena.cc"}),
    checked({.name = "runtimes/tensorrt_llm",
             .anchor = "CUDA runtime error in",
             .regex = R"(CUDA runtime error in [^\r\n]{1,160}?: out of memory)",
             .example = "RuntimeError: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, "
                        "mCudaStream->get()): out of memory (/src/tllmBuffers.h:112)",
             .emit = emit_tensorrt_llm,
             .source = "TensorRT-LLM: cpp/include/tensorrt_llm/common/cudaUtils.h"}),
    checked({.name = "runtimes/paddle_call",
             .anchor = "CUDA error(2)",
             .regex = R"(\(External\) CUDA error\(2\), out of memory)",
             .example = "OSError: (External) CUDA error(2), out of memory.",
             .emit = emit_paddle,
             .source = "Paddle: paddle/fluid/platform/enforce.h"}),
    checked({.name = "runtimes/mxnet",
             .anchor = "storage_manager.h",
             .regex = R"(storage_manager\.h:\d{1,5}: Memory allocation failed out of memory)",
             .example =
                 "mxnet.base.MXNetError: [10:21:03] src/storage/./pooled_storage_manager.h:93: Memory allocation "
                 "failed out of memory",
             .emit = emit_mxnet,
             .source = "mxnet: src/storage/pooled_storage_manager.h"}),
    checked({.name = "runtimes/darknet_indented",
             .anchor = "CUDA Error: out of",
             .regex = R"(^ {1,3}CUDA Error: out of memory)",
             .example = " CUDA Error: out of memory: File exists",
             .emit = emit_darknet,
             .source = "darknet: src/cuda.c"}),
    checked(
        {.name = "runtimes/ascend",
         .anchor = "device memory failed",
         .second_anchor = "Malloc device",
         .regex =
             R"(Mallocdevicememoryfailed,size\[(\d{1,20})\],ret\[\d{1,9}\],Device(\d{1,3})Available(?:HBM|MOC)size:(\d{1,20})freesize:(\d{1,20}))",
         .captures = 4,
         .reach = Reach::message,
         .example = "RuntimeError: Malloc device memory failed, size[33285996544], ret[207001], Device 0 Available HBM "
                    "size:34359738368 free size:1073741824 may be other processes occupying this card",
         .emit = ascend,
         .source = "mindspore: ccsrc/plugin/device/ascend/hal/device/ascend_memory_adapter.cc"}),
    checked({.name = "runtimes/ascend_code",
             .anchor = "EL0004",
             .regex = R"(\bEL0004(?:\))?: (?:\[PID: \d{1,10}\] [\d:.\-]{1,40} )?Failed to allocate memory)",
             .example = "EL0004: Failed to allocate memory.",
             .emit = ascend_code,
             .source = "real logs"}),
    checked({.name = "runtimes/ascend_malloc",
             .anchor = "Call rtMalloc fail",
             .regex = R"(Call rtMalloc fail, [^\r\n]{0,80}?\bsize: ?(\d{1,20}), device_id: ?(\d{1,3})\b)",
             .captures = 2,
             .example = "Call rtMalloc fail, purpose: page caching, type = 2, size:4294967296, device_id:0[FUNC:Alloc]",
             .emit = ascend_malloc,
             .source = "real logs"}),
    checked({.name = "runtimes/mindspore_pinned",
             .anchor = "cudaHostAlloc failed",
             .regex = R"(cudaHostAlloc failed, ret\[2\], out of memory)",
             .example =
                 "[ERROR] MD(2211,python) [ccsrc/minddata/dataset/util/arena.cc:250] Init] cudaHostAlloc failed, "
                 "ret[2], out of memory",
             .emit = pinned_arena,
             .source = "mindspore: ccsrc/minddata/dataset/util/arena.cc"}),
    checked(
        {.name = "runtimes/triton_pool",
         .anchor = "falling back to pinned",
         .regex =
             R"(Failed to allocate CUDA memory with byte size (\d{1,20}) on GPU (\d{1,3}): \w{1,40}, falling back to pinned)",
         .captures = 2,
         .example = "memory.cc:212] Failed to allocate CUDA memory with byte size 98304000 on GPU 0: "
                    "CNMEM_STATUS_OUT_OF_MEMORY, falling back to pinned system memory",
         .emit = triton_pool,
         .source = "triton-inference-server: backend/src/backend_memory.cc"}),
    checked({.name = "runtimes/vllm_warm_up",
             .anchor = "warming up sampler",
             .regex = R"(Error: CUDA out of memory occurred when warming up sampler with \d{1,7} dummy requests)",
             .example =
                 "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please "
                 "try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
             .emit = warm_up,
             .source = "vllm: vllm/v1/worker/gpu_model_runner.py"}),
};

}  // namespace

extern const Parser runtimes;
const Parser runtimes{.name = "runtimes",
                      .title = "Further runtimes on a device",
                      .source =
                          "onnxruntime: core/framework/bfc_arena.cc; TensorRT-LLM: "
                          "cpp/include/tensorrt_llm/common/cudaUtils.h; Paddle: paddle/fluid/platform/enforce.h; "
                          "mxnet: src/storage; darknet: src/cuda.c; mindspore: ccsrc/plugin/device/ascend; vllm: "
                          "vllm/v1/worker/gpu_model_runner.py",
                      .patterns = patterns};

}  // namespace oomdoctor::parsers
