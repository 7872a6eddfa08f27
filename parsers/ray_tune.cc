// Ray Tune's status, printed every few seconds: the memory in use on the whole node. GiB is 2^30 bytes.
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "ray_tune/node",
                       .anchor = "Memory usage on this node: ",
                       .form = "Memory usage on this node: {host_used}/{skip} GiB",
                       .unit = static_cast<double>(GiB),
                       .unit_name = "GiB",
                       .current = SeriesKind::sampled_gauge,
                       .example = "Memory usage on this node: 12.4/62.8 GiB",
                       .label = "node"}),
};

}  // namespace

extern const Parser ray_tune;
const Parser ray_tune{.name = "ray_tune",
                      .title = "Ray Tune",
                      .source = "Ray: python/ray/tune/progress_reporter.py",
                      .patterns = {},
                      .gauges = gauges};

}  // namespace oomdoctor::parsers
