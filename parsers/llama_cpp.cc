// llama.cpp, ollama and MLX: GPU buffers that the backends of ggml and Metal could not allocate.
//
// ggml first logs the backend's call ("cudaMalloc failed", with size and device) and then the buffer in whole bytes.
// oomdoctor joins the two later. "MiB" and "MB" are both 2^20 bytes. Metal's number is the host memory that the GPU may
// wire down. A refusal is final only if the program does not retry with a smaller buffer.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers::llama_cpp {
namespace {

std::string with_mebibytes(std::string_view number) { return std::string(number) + "MiB"; }

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

}  // namespace

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

void emit_metal(const Match& m, EventSink& sink) { emit_bare(m, sink, "metal"); }
void emit_vulkan(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 3, 0, {"memory allocation of size"})) emit_bare(m, sink, "llama.cpp");
}
void emit_ggml_error(const Match& m, EventSink& sink) { emit_bare(m, sink, "cuda"); }

}  // namespace oomdoctor::parsers::llama_cpp
