// OpenCL, OpenVINO and Level Zero: drivers that report a failure as an error code.
//
// An error code for memory is a failure report. "Out of resources" is masked: a full GPU causes it, but other problems
// do so too. The maximum size of one allocation is not a capacity, so it is not read.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::opencl {
namespace {

/// True for program text, and if a framework nearby already reports the failure with more detail than the code.
bool is_already_reported(const Match& m) {
  return is_program_text(m.cursor.line().body()) || is_near(m.cursor, 6, 3, {"Tried to allocate", "buffer of size"});
}

}  // namespace

void out_of_resources(const Match& m, EventSink& sink) {
  if (is_already_reported(m)) return;
  Oom oom;
  oom.kind = OomKind::masked;
  oom.agent = Agent::library;
  oom.message_format = m[1];
  if (m.text.find("[GPU] ") != m.text.npos) oom.framework = "openvino";
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::opencl
