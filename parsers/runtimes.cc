// Further runtimes that request GPU memory: ONNX Runtime's arena, TensorRT-LLM, Paddle's driver calls, MXNet, darknet,
// the Ascend driver, vLLM's warm-up.
//
// These forms are not in other_gpu. All numbers are bytes.
#include "base/ascii.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::runtimes {

/// Only an arena with a limit (gpu_mem_limit) prints this. "Available" is the rest of that limit, not of the GPU.
void arena(const Match& m, EventSink& sink) {
  Oom oom = device_oom("onnxruntime", Agent::library);
  oom.message_format = "onnxruntime-arena";
  oom.traits = {OomTrait::capped};
  read_request(number_on_line(m.cursor.line().text, "requested bytes of ", m[1]), oom);
  sink.oom(std::move(oom));
}

/// With the most requests that the engine may run at once. PyTorch's own report may be above it.
void vllm_warm_up(const Match& m, EventSink& sink) {
  constexpr int lines_to_report = 200;
  sink.setting("concurrent", m[1]);
  if (is_program_text(m.cursor.line().body()) || is_near(m.cursor, lines_to_report, 0, {"Tried to allocate"})) return;
  Oom oom = device_oom("vllm", Agent::cuda_allocator);
  oom.traits = {OomTrait::warms_up};
  sink.oom(std::move(oom));
}

void ascend(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  read_request(m[1], oom);
  if (m.has(3)) {
    oom.capacity = read_size(m[3]);
    oom.free = read_size(number_on_line(m.cursor.line().text, "free size:", m[4]));
  }
  sink.at({.device = static_cast<int>(leading_integer(m[2]))});
  sink.oom(std::move(oom));
}

void ascend_start(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  oom.allocated = oom.reserved = Bytes{0, 0};  // it looks before it takes any
  oom.capacity = read_size(m[2]);
  oom.free = read_size(number_on_line(m.cursor.line().text, "free size:", m[3]));
  sink.at({.device = static_cast<int>(leading_integer(m[1]))});
  sink.oom(std::move(oom));
}

/// The trace below names the device if the runtime could not open it.
void ascend_code(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body()) ||
      is_near(m.cursor, 30, 6,
              {"Tried to allocate", "Malloc device memory failed", "aclrtMalloc failed", "Call rtMalloc fail"}))
    return;
  static constexpr std::string_view label = "open device ";
  if (const auto line = find_after(m.cursor, 16, label); line && line->text.find(label) != line->text.npos) {
    const std::string_view device = line->text.substr(line->text.find(label) + label.size());
    if (!device.empty() && is_digit(device.front())) sink.at({.device = static_cast<int>(leading_integer(device))});
  }
  sink.oom(device_oom("ascend"));
}

/// The runtime requests pages of one size after another. Only the first request is reported; the others retry the same
/// allocation.
void ascend_malloc(const Match& m, EventSink& sink) {
  static constexpr std::string_view call = "Call rtMalloc fail";
  if (is_near(m.cursor, 30, 6, {"Tried to allocate", "Malloc device memory failed", "aclrtMalloc failed"})) return;
  if (const auto before = find_before(m.cursor, 2, call); before && before->number < m.cursor.line().number) return;
  Oom oom = device_oom("ascend");
  read_request(m[1], oom);
  sink.at({.device = static_cast<int>(leading_integer(m[2]))});
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::runtimes
