// The file of `mprof run`: the resident memory of a command in MiB of 2^20 bytes, with --multiprocess also that of each
// of its child processes, and the time.
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::mprof {
namespace {

Reading resident(std::string_view mebibytes, std::string_view label) {
  return sampled_reading(Metric::host_rss, leading_number(mebibytes) * static_cast<double>(MiB), 1, "MiB", label);
}

}  // namespace

void parent(const Match& m, EventSink& sink) { sink.reading(resident(m[1], "mprof"), {}, leading_number(m[2])); }

void child(const Match& m, EventSink& sink) {
  Origin where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  sink.reading(resident(m[2], "process " + std::string(m[1])), {}, leading_number(m[3]));
}

}  // namespace oomdoctor::parsers::mprof
