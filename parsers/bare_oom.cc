// Short messages of a GPU failure: the class of an exception, a truncated message, the line of a macro. They contain no
// numbers.
//
// The full message may be nearby. Then that message is the report, and these words only repeat a part of it.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers::bare_oom {
namespace {

/// True if a fuller message of the same failure is nearby. The window is wide because a traceback can separate the head
/// of an exception from its message.
bool is_already_reported(const Cursor& cursor) {
  return is_near(cursor, 14, 200,
                 {"Tried to allocate", "Allocation on device", " error: out of memory", "CUDA_ERROR_OUT_OF_MEMORY"});
}

Oom torch_oom(std::string_view format, Agent agent = Agent::cuda_allocator) {
  Oom oom = device_oom("pytorch", agent);
  oom.message_format = std::string(format);
  return oom;
}

}  // namespace

/// accepts: true if the line has no message beside the class.
bool is_alone(std::string_view line) {
  return line.find("Tried to allocate") == line.npos && line.find("would exceed") == line.npos;
}

void class_name(const Match& m, EventSink& sink) {
  if (!is_already_reported(m.cursor)) sink.oom(torch_oom("torch-class"));
}

/// "Allocation on device 0 would exceed …": PyTorch 2.2 and later print the device index as a character. Index 0 is a
/// NUL, which ends the text.
void malloc_async(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 0, 2, {"would exceed"}))
    sink.oom(torch_oom("torch-cudaMallocAsync", Agent::cuda_malloc_async));
}

/// ComfyUI prints this below the message of every exception class that means "out of memory".
void comfyui(const Match& m, EventSink& sink) {
  if (!is_near(m.cursor, 40, 0, {"memory", "Memory", "Allocation on device"})) sink.oom(torch_oom("comfyui"));
}

/// Many CUDA programs have this macro. It prints cudaGetErrorString and the place in the source.
void error_at_line(const Match& m, EventSink& sink) {
  const bool bitsandbytes = m[1].find("bitsandbytes") != std::string_view::npos;
  Oom oom = device_oom(bitsandbytes ? "pytorch" : "");
  oom.message_format = "error-at-line";
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::bare_oom
