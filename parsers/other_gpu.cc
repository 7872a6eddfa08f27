// GPU memory refused to programs other than PyTorch, TensorFlow and XLA, and to libraries in the same process.
//
// The wording differs, the content is the same: a request, sometimes also the free memory. Some tools first print the
// driver's bare "out of memory" and then their own line with the size. Then the line with the size is the report. Sizes
// are binary.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers::other_gpu {
namespace {

void set_device(EventSink& sink, std::string_view digits) {
  Origin where;
  if (!digits.empty()) where.device = static_cast<int>(leading_integer(digits));
  sink.at(where);
}

/// A failure without numbers, unless the line is program text.
void emit_bare(const Match& m, EventSink& sink, std::string_view framework, Agent agent = Agent::driver) {
  if (!is_program_text(m.cursor.line().body())) sink.oom(device_oom(framework, agent));
}

/// A failure whose first group is the request.
void emit_request(const Match& m, EventSink& sink, std::string_view framework, Agent agent = Agent::driver) {
  Oom oom = device_oom(framework, agent);
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

}  // namespace

void paddle(const Match& m, EventSink& sink) {
  Oom oom = device_oom("paddle");
  read_request(m[2], oom);
  if (m.has(3)) oom.allocated = read_size(m[3]);
  oom.free = read_size(m[4]);
  set_device(sink, m[1]);
  sink.oom(std::move(oom));
}

/// Up to 0.15 a check before the call prints the message.
void paddle_enforce(const Match& m, EventSink& sink) {
  Oom oom = device_oom("paddle");
  read_request(m[1], oom);
  oom.free = read_size(m[2]);
  sink.oom(std::move(oom));
}

/// Reads "Memory info: free:15M, used:11160M, total:11175M" after the message, and the pool's usage in bytes from a log
/// line above.
void kaldi(const Match& m, EventSink& sink) {
  Oom oom = device_oom("kaldi");
  read_request(m[1], oom);
  const std::string_view rest = m.after().substr(0, 500);
  oom.free = size_after(rest, "free:");
  oom.capacity = size_after(rest, ",total:");
  static constexpr std::string_view usage = "Memory usage: ";
  if (const auto line = find_before(m.cursor, 4, usage)) {
    const std::string_view text = std::string_view(line->text).substr(line->text.find(usage) + usage.size());
    oom.allocated = read_size(text);
    if (const std::size_t slash = text.find('/'); slash != text.npos) oom.reserved = read_size(text.substr(slash + 1));
  }
  sink.oom(std::move(oom));
}

void cupy(const Match& m, EventSink& sink) {
  Oom oom = device_oom("cupy", Agent::library);
  read_request(m[1], oom);
  oom.allocated = read_size(m[2]);
  if (m.has(3)) oom.limit = read_size(m[3]);
  sink.oom(std::move(oom));
}

void mindspore(const Match& m, EventSink& sink) {
  Oom oom = device_oom("mindspore");
  oom.free = read_size(m[1]);
  read_request(m[2], oom);
  if (const auto line = find_after(m.cursor, 3, "Device(id:"))
    set_device(sink, std::string_view(line->text).substr(line->text.find("Device(id:") + 10));
  sink.oom(std::move(oom));
}

void mindspore_device(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 3, 0, {"Memory not enough: current free"})) return;
  Oom oom = device_oom("mindspore");
  if (m.has(2)) read_request(m[2], oom);
  set_device(sink, m[1]);
  sink.oom(std::move(oom));
}

/// PhysX prints the buffer on a line after the driver's message.
void physx_driver(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 0, 3, {"Unable to allocate memory of size"})) sink.oom(device_oom("physx"));
}

void warp(const Match& m, EventSink& sink) {
  Oom oom = device_oom("warp");
  static constexpr std::string_view label = "Failed to allocate ";
  if (const auto line = find_after(m.cursor, 20, "bytes on device 'cuda");
      line && line->text.find(label) != line->text.npos)
    read_request(std::string_view(line->text).substr(line->text.find(label) + label.size()), oom);
  sink.oom(std::move(oom));
}

void emit_bare_cuda(const Match& m, EventSink& sink) { emit_bare(m, sink, "cuda"); }
void emit_onnxruntime_call(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 6, 6, {"for requested buffer of size"})) return;
  set_device(sink, m[1]);
  emit_bare(m, sink, "onnxruntime", Agent::library);
}
void emit_faiss(const Match& m, EventSink& sink) {
  Oom oom = device_oom("faiss", Agent::library);
  read_request(m.has(1) ? m[1] : m[2], oom);
  sink.oom(std::move(oom));
}
void emit_caffe(const Match& m, EventSink& sink) { emit_bare(m, sink, "caffe"); }
void emit_ctranslate2(const Match& m, EventSink& sink) { emit_bare(m, sink, "ctranslate2"); }
/// Any provider uses this arena. Only the CPU provider has nodes in blocks of channels (nchwc), so their arena is host
/// memory.
void emit_onnxruntime(const Match& m, EventSink& sink) {
  Oom oom = device_oom("onnxruntime", Agent::library);
  read_request(number_on_line(m.cursor.line().text, "requested buffer of size ", m[1]), oom);
  if (m.before().find("_nchwc'StatusMessage:") != std::string_view::npos) {
    oom.kind = OomKind::host;
    oom.agent = Agent::cpu_allocator;
  }
  sink.oom(std::move(oom));
}
void emit_rmm(const Match& m, EventSink& sink) { emit_bare(m, sink, "rapids", Agent::library); }
void emit_rmm_thrown(const Match& m, EventSink& sink) { emit_bare(m, sink, "rapids", Agent::library); }
void emit_numba(const Match& m, EventSink& sink) { emit_bare(m, sink, "numba"); }
void emit_pycuda(const Match& m, EventSink& sink) { emit_bare(m, sink, "pycuda"); }
/// CuPy's total is the size of the pool including the request.
void emit_cupy_old(const Match& m, EventSink& sink) {
  Oom oom = device_oom("cupy", Agent::library);
  read_request(m[1], oom);
  if (const auto total = read_size(m[2]); total && oom.request && total->count >= oom.request->count)
    oom.allocated = *total - *oom.request;
  sink.oom(std::move(oom));
}
void emit_theano(const Match& m, EventSink& sink) { emit_request(m, sink, "theano"); }
void emit_physx(const Match& m, EventSink& sink) { emit_request(m, sink, "physx"); }
void emit_mindspore_static(const Match& m, EventSink& sink) { emit_request(m, sink, "mindspore"); }
void emit_darknet(const Match& m, EventSink& sink) { emit_bare(m, sink, "darknet"); }
void emit_habana(const Match& m, EventSink& sink) { emit_request(m, sink, "habana"); }
void emit_neuron(const Match& m, EventSink& sink) { emit_request(m, sink, "neuron"); }

}  // namespace oomdoctor::parsers::other_gpu
