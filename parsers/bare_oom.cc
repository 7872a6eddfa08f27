// Short messages of a GPU failure: the class of an exception, a truncated message, the line of a macro. They contain no
// numbers.
//
// The full message may be nearby. Then that message is the report, and these words only repeat a part of it.
#include "read/parser.h"

namespace oomdoctor::parsers::bare_oom {
/// accepts: true if the line has no message next to the class.
bool is_alone(std::string_view line) {
  return line.find("Tried to allocate") == line.npos && line.find("would exceed") == line.npos;
}

/// Many CUDA programs have this macro. It prints cudaGetErrorString and the place in the source.
void error_at_line(const Match& m, EventSink& sink) {
  const bool bitsandbytes = m[1].find("bitsandbytes") != std::string_view::npos;
  Oom oom = device_oom(bitsandbytes ? "pytorch" : "");
  oom.message_format = "error-at-line";
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::bare_oom
