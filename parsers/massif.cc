// The snapshots of Valgrind's heap profiler. Their time is a number of instructions, of bytes or of milliseconds: the
// snapshots are in its order.
#include "base/parse_whole.h"
#include "read/parser.h"

namespace oomdoctor::parsers::massif {

/// What the program asked of malloc() and has not freed.
void snapshot(const Match& m, EventSink& sink) {
  sink.reading(sampled_reading(Metric::host_rss, static_cast<double>(leading_integer(m[1])), 1, "bytes", "heap"), {});
}

}  // namespace oomdoctor::parsers::massif
