// torchtitan prints the GPU's capacity at the start.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void capacity(const Match& m, EventSink& sink) {
  sink.setting("gpu", m[1]);
  sink.setting("capacity", m[2]);
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "torchtitan/capacity",
         .anchor = " capacity: ",
         .regex = R"((?:CUDA|GPU|XPU|HIP) capacity: ([^\r\n]{3,80}?) with (\d{1,5}\.\d{1,3}GiB) memory)",
         .captures = 2,
         .example = "2025-01-05 11:22:03,001 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory",
         .emit = capacity}),
};

}  // namespace

extern const Parser torchtitan;
const Parser torchtitan{.name = "torchtitan",
                        .title = "torchtitan step line",
                        .source = "torchtitan: torchtitan/components/metrics.py",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
