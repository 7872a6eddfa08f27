// The heap of Go programs after each garbage collection. With GODEBUG=gctrace=1, the runtime prints what is alive then,
// in whole MB of 2^20 bytes.
#include "base/bytes.h"
#include "base/parse_whole.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::gc_logs {
namespace {

Reading live_heap(std::string_view megabytes) {
  constexpr double unit = static_cast<double>(MiB);
  return sampled_reading(Metric::memory, static_cast<double>(leading_integer(megabytes)) * unit, unit, "MB", "Go heap");
}

}  // namespace

/// The seconds count from the start of the program.
void go(const Match& m, EventSink& sink) { sink.reading(live_heap(m[2]), {}, leading_number(m[1])); }

/// Go 1.4 and older print no time.
void old_go(const Match& m, EventSink& sink) { sink.reading(live_heap(m[1]), {}); }

}  // namespace oomdoctor::parsers::gc_logs
