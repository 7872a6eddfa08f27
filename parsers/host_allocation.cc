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

}  // namespace

/// "not enough memory" is the wording of the build for Windows.
void torch(const Match& m, EventSink& sink) {
  if (m[1] == "notenoughmemory") sink.setting("system", "Windows");
  Oom oom = allocation_failure("torch-cpu", "pytorch");
  read_request(m[2], oom);
  sink.oom(std::move(oom));
}

/// The name alone also occurs in lists and documentation. It is a failure only below a traceback. Paddle on Windows
/// raises MemoryError for a GPU too and names the GPU in its summary below.
void python(const Match& m, EventSink& sink) {
  if (is_near(m.cursor, 0, 14, {"Out of memory error on GPU"})) return;
  if (is_near(m.cursor, 4, 0, {"File \"", "Traceback (most", "--> "}))
    emit(m, sink, allocation_failure("memory-error"));
}

void emit_ggml(const Match& m, EventSink& sink) {
  Oom oom = allocation_failure("ggml", "llama.cpp");
  oom.request = read_bytes(m[1].substr(0, m[1].find_first_of(" M")), "MB");
  sink.oom(std::move(oom));
}
/// Windows: the commit limit (RAM and page file) is exhausted. Windows translates the words but not the number.
void emit_page_file(const Match& m, EventSink& sink) {
  sink.setting("system", "Windows");
  Oom oom = allocation_failure("winerror-1455");
  oom.traits = {OomTrait::windows};
  emit(m, sink, std::move(oom));
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

}  // namespace oomdoctor::parsers::host_allocation
