// torchtitan: one line per logging interval, and the GPU's capacity at the start.
//
// torchtitan/components/metrics.py prints both. "memory" is the maximum that the allocator reserved since the previous
// line, because torchtitan resets the counter with each line. The scanner removes colours before the parser sees the
// line.
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "torchtitan/step",
                       .anchor = "GiB(",
                       .form = "step: {step} loss:~memory: {max_reserved}GiB({percent}%)",
                       .unit = static_cast<double>(GiB),
                       .unit_name = "GiB",
                       .maxima = SeriesKind::reset_maximum,
                       .example =
                           "[titan] 2025-01-05 11:22:33,444 - root - INFO - step: 30  loss:  6.1022  grad_norm:  "
                           "1.4410  memory: 41.27GiB(52.16%)  tps: 7,102"}),
};

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
                        .patterns = patterns,
                        .gauges = gauges};

}  // namespace oomdoctor::parsers
