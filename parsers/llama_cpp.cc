// llama.cpp, ollama and MLX: GPU buffers that the backends of ggml and Metal could not allocate.
//
// ggml first logs the backend's call ("cudaMalloc failed", with size and device) and then the buffer in whole bytes.
// oomdoctor joins the two later. "MiB" and "MB" are both 2^20 bytes. Metal's number is the host memory that the GPU may
// wire down. A refusal is final only if the program does not retry with a smaller buffer.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::llama_cpp {

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

/// ollama places the layers on the GPUs in another way after a refusal, and starts the runner as soon as one fits.
void runner_started(const Match& m, EventSink& sink) {
  static constexpr int max_lines_of_attempt = 80;
  const auto again = find_before(m.cursor, max_lines_of_attempt, "msg=load request=");
  const auto refused = find_before(m.cursor, max_lines_of_attempt, "out of memory");
  if (again && refused && refused->number < again->number) sink.remark("run/went_on");
}

/// cuBLAS found no memory for its handle. Its status is printed in words.
void handle(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom;
  oom.kind = OomKind::masked;
  oom.agent = Agent::library;
  oom.framework = "llama.cpp";
  oom.message_format = "CUBLAS_STATUS_ALLOC_FAILED";
  Origin where;
  static constexpr std::string_view label = "current device: ";
  if (const auto line = find_after(m.cursor, 3, label))
    where.device = static_cast<int>(leading_integer(line->text.substr(line->text.find(label) + label.size())));
  sink.at(where);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::llama_cpp
