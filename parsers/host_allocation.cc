// Refused allocations of host memory: PyTorch's CPU allocator, numpy, Python, C++ and others.
//
// Unlike a kill, a refusal answers one request and usually contains its size. RAPIDS throws "std::bad_alloc" for device
// memory too; other_gpu reads those forms. "cannot allocate memory in static TLS block" is a problem of the dynamic
// loader, not of memory.
#include "parse/context.h"
#include "parse/parser.h"
#include "parse/sizes.h"

namespace oomdoctor::parsers::host_allocation {
namespace {

Oom allocation_failure(std::string_view format, std::string_view framework = "") {
  return host_oom(Agent::cpu_allocator, format, framework);
}

void emit(const Match& m, EventSink& sink, Oom oom) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.oom(std::move(oom));
}

void sized(const Match& m, EventSink& sink, std::string_view format) {
  Oom oom = allocation_failure(format);
  read_request(m[1], oom);
  emit(m, sink, std::move(oom));
}

}  // namespace

/// "not enough memory" is the wording of the build for Windows.
void torch(const Match& m, EventSink& sink) {
  if (m[1] == "notenoughmemory") sink.setting("system", "Windows");
  Oom oom = allocation_failure("torch-cpu", "pytorch");
  read_request(m[2], oom);
  sink.oom(std::move(oom));
}

void numpy(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("numpy");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}

/// The name alone also occurs in lists and documentation. It is a failure only below a traceback. Paddle on Windows
/// raises MemoryError for a GPU too and names the GPU in its summary below.
void python(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 0, 14, {"Out of memory error on GPU"})) return;
  if (is_near(m.cursor, 4, 0, {"File \"", "Traceback (most", "--> "}))
    emit(m, sink, allocation_failure("memory-error"));
}

void errno_12(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.remark("host/overcommit");
  sink.oom(allocation_failure("errno-12"));
}

/// The whole file is to be mapped at once. A mapping needs address space and committed memory, not pages in use.
void mapping(const Match& m, EventSink& sink) {
  sink.remark("host/overcommit");
  Oom oom = allocation_failure("mapping", "pytorch");
  oom.request = read_size(m[1]);
  sink.oom(std::move(oom));
}

/// Before 1.4 the message contains only the error number: 12 is ENOMEM.
void emit_memalign(const Match&, EventSink& sink) { sink.oom(allocation_failure("torch-cpu", "pytorch")); }
void emit_ggml(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  oom.request = read_bytes(m[1].substr(0, m[1].find_first_of(" M")), "MB");
  sink.oom(std::move(oom));
}
void emit_ggml_buffer(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}
void emit_paddle(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("paddle", "paddle");
  read_request(m[1], oom);
  sink.oom(std::move(oom));
}
void emit_mxnet(const Match&, EventSink& sink) { sink.oom(allocation_failure("mxnet", "mxnet")); }
/// Windows: the commit limit (RAM and page file) is exhausted. Windows translates the words but not the number.
void emit_page_file(const Match& m, EventSink& sink) {
  sink.setting("system", "Windows");
  emit(m, sink, allocation_failure("winerror-1455"));
}
/// R for Windows (before 4.2) prints its own limit, memory.limit(), in the warnings below the error. Its "Mb" is 2^20
/// bytes.
void r_vector(const Match& m, EventSink& sink) {
  constexpr int max_warning_lines = 8;
  constexpr std::string_view label = "Reached total allocation of ";
  Oom oom = allocation_failure("r", "r");
  oom.request = read_bytes(m[1], std::string(m[2]) + "iB");
  m.cursor.forward(max_warning_lines, [&](const Line& line) {
    const std::size_t at = line.text.find(label);
    if (at == line.text.npos) return true;
    oom.limit = Bytes{leading_integer(std::string_view(line.text).substr(at + label.size())) * MiB, 0};
    sink.setting("system", "Windows");
    return false;
  });
  emit(m, sink, std::move(oom));
}
void emit_numpy_shape(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("numpy")); }
void emit_bad_alloc(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("bad-alloc")); }
void emit_lightgbm(const Match&, EventSink& sink) { sink.oom(allocation_failure("bad-alloc", "lightgbm")); }
void emit_arrow(const Match& m, EventSink& sink) { sized(m, sink, "arrow"); }
void emit_rust(const Match& m, EventSink& sink) { sized(m, sink, "rust"); }
void emit_opencv(const Match& m, EventSink& sink) { sized(m, sink, "opencv"); }
void emit_pandas(const Match& m, EventSink& sink) { emit(m, sink, allocation_failure("pandas")); }

}  // namespace oomdoctor::parsers::host_allocation
