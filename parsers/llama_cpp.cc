// llama.cpp, ollama and MLX: GPU buffers that the backends of ggml and Metal could not allocate.
//
// ggml first logs the backend's call ("cudaMalloc failed", with size and device) and then the buffer in whole bytes.
// oomdoctor joins the two later. "MiB" and "MB" are both 2^20 bytes. Metal's number is the host memory that the GPU may
// wire down. A refusal is final only if the program does not retry with a smaller buffer.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers {
namespace {

std::string with_mebibytes(std::string_view number) { return std::string(number) + "MiB"; }

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

void requested(const Match& m, EventSink& sink) {
  Oom oom = device_oom("llama.cpp");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// mxnet, ggml and others print the same words. Only ggml adds size and device.
void cuda_malloc(const Match& m, EventSink& sink) {
  Oom oom = device_oom(m.has(1) ? "llama.cpp" : "cuda");
  if (m.has(1)) {
    read_request(with_mebibytes(m[1]), oom);
    Origin where;
    where.device = static_cast<int>(leading_integer(m[2]));
    sink.at(where);
  }
  if (!is_program_text(m.cursor.line().body())) sink.oom(std::move(oom));
}

/// "allocating 4096.00 MiB on device 0: aclrtMalloc failed: …": Huawei's NPUs. Huawei's own words for the reason
/// follow.
void cann(const Match& m, EventSink& sink) {
  Oom oom = device_oom("llama.cpp");
  read_request(with_mebibytes(m[1]), oom);
  Origin where;
  where.device = static_cast<int>(leading_integer(m[2]));
  sink.at(where);
  sink.oom(std::move(oom));
}

void metal_size(const Match& m, EventSink& sink) {
  Oom oom = device_oom("metal");
  read_request(with_mebibytes(m[1]), oom);
  sink.oom(std::move(oom));
}

void mlx_request(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mlx");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The loader's last message. It is the report only if the backend's line with the size is missing.
void no_buffer(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 8, 0,
               {"cudaMalloc failed", "buffer of size", "memory allocation of size", "aclrtMalloc failed",
                "Bytes of memory on device", "failed to allocate buffer, size"}))
    emit_bare(m, sink, "llama.cpp");
}

/// llama.cpp creates a context that did not fit a second time, without copies for pipeline parallelism. A failure
/// message after this line is about the second attempt.
void retried(const Match& m, EventSink& sink) {
  static constexpr int max_lines_of_retry = 60;  // lines of a second attempt: one or two per device
  for (const std::string_view word : {"failed to allocate compute", "failed to initialize the context"})
    if (find_after(m.cursor, max_lines_of_retry, word)) return;
  sink.remark("handled/retried");
}

/// ollama tries one layout after another until one fits. It prints this message if none did.
void backoff(const Match& m, EventSink& sink) {
  static constexpr int max_lines_of_attempts = 100;
  if (!find_after(m.cursor, max_lines_of_attempts, "memory layout cannot be allocated")) sink.remark("handled/retried");
}

/// Without pinned memory llama.cpp uses ordinary memory for the buffer, so the run continues.
void pinned(const Match& m, EventSink& sink) {
  Oom oom = host_oom(Agent::cpu_allocator, "pinned-host", "llama.cpp");
  read_request(with_mebibytes(m[1]), oom);
  oom.caught = true;
  sink.oom(std::move(oom));
}

void metal_buffer(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mlx");
  read_request(m[1], oom);
  oom.limit = read_size(m[2]);
  sink.oom(std::move(oom));
}

// Named functions: clang 14 miscompiles lambdas in the arguments of an immediate function.
void emit_metal(const Match& m, EventSink& sink) { emit_bare(m, sink, "metal"); }
void emit_vulkan(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 3, 0, {"memory allocation of size"})) emit_bare(m, sink, "llama.cpp");
}
void emit_ggml_error(const Match& m, EventSink& sink) { emit_bare(m, sink, "cuda"); }

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
             .emit = backoff,
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
