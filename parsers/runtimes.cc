// Further runtimes that request GPU memory: ONNX Runtime's arena, TensorRT-LLM, Paddle's driver calls, MXNet, darknet,
// the Ascend driver, vLLM's warm-up.
//
// These forms are not in other_gpu. All numbers are bytes.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers::runtimes {
namespace {

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework));
}

}  // namespace

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

void emit_tensorrt_llm(const Match& m, EventSink& sink) { emit_bare(m, sink, "tensorrt-llm"); }
void emit_paddle(const Match& m, EventSink& sink) { emit_bare(m, sink, "paddle"); }
void emit_mxnet(const Match& m, EventSink& sink) { emit_bare(m, sink, "mxnet"); }
void emit_darknet(const Match& m, EventSink& sink) { emit_bare(m, sink, "darknet"); }

}  // namespace oomdoctor::parsers::runtimes
