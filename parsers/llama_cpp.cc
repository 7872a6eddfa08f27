// llama.cpp, ollama and MLX: buffers of a device that the backends of ggml and Metal could not allocate.
//
// ggml logs the backend's call first ("cudaMalloc failed", with size and device) and the buffer in whole bytes after
// it; the case builder joins the two. "MiB" and "MB" there are 2^20. Metal counts the host's memory that the GPU may
// wire down. A refusal is the end only where nothing smaller was asked for after it.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

std::string mebibytes(std::string_view number) { return std::string(number) + "MiB"; }

void bare(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(refusal(framework));
}

void requested(const Match& m, EventSink& sink) {
  Oom oom = refusal("llama.cpp");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The same words come from mxnet, ggml and others; ggml says how much and where.
void cuda_malloc(const Match& m, EventSink& sink) {
  Oom oom = refusal(m.has(1) ? "llama.cpp" : "cuda");
  if (m.has(1)) {
    read_request(mebibytes(m[1]), oom);
    Origin where;
    where.device = static_cast<int>(leading_integer(m[2]));
    sink.at(where);
  }
  if (!is_program_text(m.cursor.line().body())) sink.oom(std::move(oom));
}

/// "allocating 4096.00 MiB on device 0: aclrtMalloc failed: …": Huawei's devices; the reason follows in their words.
void cann(const Match& m, EventSink& sink) {
  Oom oom = refusal("llama.cpp");
  read_request(mebibytes(m[1]), oom);
  Origin where;
  where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

void metal_size(const Match& m, EventSink& sink) {
  Oom oom = refusal("metal");
  read_request(mebibytes(m[1]), oom);
  sink.oom(std::move(oom));
}

void mlx_request(const Match& m, EventSink& sink) {
  Oom oom = refusal("mlx");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The loader's last word: it counts where the backend's own line, with the size, is not there.
void no_buffer(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 8, 0,
               {"cudaMalloc failed", "buffer of size", "memory allocation of size", "aclrtMalloc failed",
                "Bytes of memory on device", "failed to allocate buffer, size"}))
    bare(m, sink, "llama.cpp");
}

/// A context that did not fit is made a second time, without copies for pipeline parallelism; the words of a failure
/// that come after this are the second one's.
void retried(const Match& m, EventSink& sink) {
  static constexpr int reserve_lines = 60;  // what a second attempt prints: a line or two for each device
  for (const std::string_view word : {"failed to allocate compute", "failed to initialize the context"})
    if (find_ahead(m.cursor, reserve_lines, word)) return;
  sink.remark("handled/retried");
}

/// ollama asks for one layout after the other until one fits; it says so when none did.
void backs_off(const Match& m, EventSink& sink) {
  static constexpr int attempts = 100;
  if (!find_ahead(m.cursor, attempts, "memory layout cannot be allocated")) sink.remark("handled/retried");
}

/// Without pinned memory the buffer is made of ordinary memory.
void pinned(const Match& m, EventSink& sink) {
  Oom oom = host_failure(Agent::cpu_allocator, "pinned-host", "llama.cpp");
  read_request(mebibytes(m[1]), oom);
  oom.caught = true;
  sink.oom(std::move(oom));
}

void metal_buffer(const Match& m, EventSink& sink) {
  Oom oom = refusal("mlx");
  read_request(m[1], oom);
  oom.limit = read_size(m[2]);
  sink.oom(std::move(oom));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_metal(const Match& m, EventSink& sink) { bare(m, sink, "metal"); }
void emit_vulkan(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 3, 0, {"memory allocation of size"})) bare(m, sink, "llama.cpp");
}
void emit_ggml_error(const Match& m, EventSink& sink) { bare(m, sink, "cuda"); }

void for_cache(const Match&, EventSink& sink) { sink.remark("for/kv_cache"); }

constexpr Pattern patterns[] = {
    checked({.name = "llama_cpp/kv_cache",
             .anchor = "failed to allocate buffer for kv cache",
             .example = "llama_kv_cache_init: failed to allocate buffer for kv cache",
             .emit = for_cache,
             .non_exclusive = true}),
    checked({.name = "llama_cpp/metal",
             .anchor = "Insufficient Memory",
             .second_anchor = "kIOGPUCommandBuffer",
             .regex = R"(InsufficientMemory\(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory\))",
             .reach = Reach::message,
             .example = "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
             .emit = emit_metal}),
    checked(
        {.name = "llama_cpp/metal_buffer",
         .anchor = "[metal::malloc]",
         .regex =
             R"(\[metal::malloc\] Attempting to allocate (\d{1,20}) bytes which is greater than the maximum allowed buffer size of (\d{1,20}) bytes)",
         .captures = 2,
         .example = "RuntimeError: [metal::malloc] Attempting to allocate 95000000000 bytes which is greater than the "
                    "maximum allowed buffer "
                    "size of 77309411328 bytes.",
         .emit = metal_buffer}),
    checked({.name = "llama_cpp/cuda_malloc",
             .anchor = "cudaMalloc",
             .second_anchor = ": out of memory",
             .regex = R"((?:allocating([\d.]{1,20})MiBondevice(\d{1,3}):)?cudaMalloc(?:retry)?failed:outofmemory)",
             .captures = 2,
             .reach = Reach::message,
             .example = "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc "
                        "failed: out of memory",
             .emit = cuda_malloc}),
    checked(
        {.name = "llama_cpp/ggml_buffer",
         .anchor = "failed to allocate",
         .regex =
             R"((?:ggml\w{1,60}|llama\w{1,60}|alloc_tensor_range): failed to allocate (?:CUDA|ROCm|Metal|MTL|Vulkan|SYCL|CANN|MUSA|OpenCL)\d{0,3} buffer of size (\d{1,20}))",
         .captures = 1,
         .example = "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 9876543210",
         .emit = requested}),
    checked({.name = "llama_cpp/ggml_error",
             .anchor = "CUDA error 2",
             .regex = R"(CUDA error 2 (?:at [\w./\\:\-]{1,120}:\d{1,6}: out of memory|'out of memory' - ))",
             .example = "CUDA error 2 at ggml-cuda.cu:7036: out of memory",
             .emit = emit_ggml_error}),
    checked({.name = "llama_cpp/vulkan",
             .anchor = "ggml_vulkan",
             .regex = R"(ggml_vulkan: Device memory allocation of size (\d{1,20}) failed)",
             .captures = 1,
             .example = "ggml_vulkan: Device memory allocation of size 1073741824 failed.",
             .emit = requested}),
    checked({.name = "llama_cpp/vulkan_driver",
             .anchor = "ErrorOutOfDeviceMemory",
             .regex = R"((?:ggml_vulkan|what\(\)): {1,3}vk::Device::allocateMemory: ErrorOutOfDeviceMemory)",
             .example = "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
             .emit = emit_vulkan}),
    checked(
        {.name = "llama_cpp/sycl",
         .anchor = "Bytes of memory on device",
         .regex = R"(: can't allocate (\d{1,20}) Bytes of memory on device)",
         .captures = 1,
         .example = "ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 4294967296 Bytes of memory on device",
         .emit = requested}),
    checked({.name = "llama_cpp/cann",
             .anchor = "aclrtMalloc failed",
             .regex = R"(: allocating ([\d.]{1,20}) MiB on device (\d{1,3}): aclrtMalloc failed)",
             .captures = 2,
             .example = "ggml_backend_cann_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: aclrtMalloc "
                        "failed: EL0004",
             .emit = cann}),
    checked({.name = "llama_cpp/metal_size",
             .anchor = "failed to allocate buffer, size",
             .regex = R"(ggml_metal\w{0,40}: error: failed to allocate buffer, size = {1,9}([\d.]{1,20}) MiB)",
             .captures = 1,
             .example = "ggml_metal_buffer_init: error: failed to allocate buffer, size =  4096.00 MiB",
             .emit = metal_size}),
    checked({.name = "llama_cpp/mlx",
             .anchor = "] Unable to allocate",
             .regex = R"(\[(?:malloc|malloc_or_wait|metal::malloc)\] Unable to allocate (\d{1,20}) bytes)",
             .captures = 1,
             .example = "RuntimeError: [malloc] Unable to allocate 1073741824 bytes.",
             .emit = mlx_request,
             .source = "mlx: mlx/backend/metal/allocator.cpp"}),
    checked({.name = "llama_cpp/no_buffer",
             .anchor = "error loading model",
             .regex = R"(error loading model: unable to allocate [A-Za-z]{2,8}\d{0,3} buffer)",
             .example = "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
             .emit = no_buffer}),
    checked({.name = "llama_cpp/retry",
             .anchor = "retrying without pipeline",
             .regex = R"(: compute buffer allocation failed, retrying without pipeline parallelism)",
             .example = "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism",
             .emit = retried,
             .source = "llama.cpp: src/llama-context.cpp"}),
    checked({.name = "llama_cpp/ollama_layout",
             .anchor = "applying backoff",
             .regex = R"(model layout did not fit, applying backoff)",
             .example = "time=2025-10-02T11:20:31.402+02:00 level=INFO source=server.go:819 msg=\"model layout did not "
                        "fit, applying backoff\" backoff=0.10",
             .emit = backs_off,
             .source = "ollama: llm/server.go"}),
    checked({.name = "llama_cpp/pinned",
             .anchor = "MiB of pinned memory",
             .regex = R"(ggml_\w{1,24}_host_malloc: failed to allocate ([\d.]{1,20}) MiB of pinned memory: )",
             .captures = 1,
             .example = "ggml_cuda_host_malloc: failed to allocate 20480.00 MiB of pinned memory: out of memory",
             .emit = pinned}),
};

}  // namespace

extern const Parser llama_cpp;
const Parser llama_cpp{.name = "llama_cpp",
                       .title = "llama.cpp, ollama and MLX",
                       .source =
                           "llama.cpp: ggml/src/ggml-cuda/ggml-cuda.cu; llama.cpp: ggml/src/ggml-alloc.c; llama.cpp: "
                           "ggml/src/ggml-vulkan/ggml-vulkan.cpp; llama.cpp: ggml/src/ggml-sycl/ggml-sycl.cpp; "
                           "llama.cpp: ggml/src/ggml-cann/ggml-cann.cpp; llama.cpp: ggml/src/ggml-metal; "
                           "mlx: mlx/backend/metal/allocator.cpp",
                       .patterns = patterns};

}  // namespace oomdoctor::parsers
