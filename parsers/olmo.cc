// OLMo and OLMo-core: values in a block under "[step=1/739328]".
//
// OLMo prints the maximum over all ranks, divided by 1,000,000, with thousands commas. OLMo-core prints GiB.
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

constexpr LineFormat gauges[] = {
    checked(LineFormat{.name = "olmo/peak",
                       .anchor = "System/Peak GPU Memory (MB)=",
                       .form = "System/Peak GPU Memory (MB)={max_allocated}",
                       .unit = 1e6,
                       .unit_name = "MB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "    System/Peak GPU Memory (MB)=31,507"}),
    checked(LineFormat{.name = "olmo/core_active",
                       .anchor = "system/GPU active mem (GiB)=",
                       .form = "system/GPU active mem (GiB)={active}",
                       .unit = static_cast<double>(GiB),
                       .unit_name = "GiB",
                       .current = SeriesKind::reset_maximum,
                       .example = "    system/GPU active mem (GiB)=41.22"}),
    checked(LineFormat{.name = "olmo/core_reserved",
                       .anchor = "system/GPU reserved mem (GiB)=",
                       .form = "system/GPU reserved mem (GiB)={max_reserved}",
                       .unit = static_cast<double>(GiB),
                       .unit_name = "GiB",
                       .maxima = SeriesKind::reset_maximum,
                       .example = "    system/GPU reserved mem (GiB)=52.70"}),
};

void heading(const Match& m, EventSink& sink) {
  std::size_t step_at = 0, total_at = 0;
  const auto step = read_number(m[1], step_at), total = read_number(m[2], total_at);
  if (step && total) sink.step({static_cast<i64>(step->value), static_cast<i64>(total->value), {}});
}

constexpr Pattern patterns[] = {
    checked({.name = "olmo/step",
             .anchor = "[step=",
             .regex = R"(\[step=(\d{1,10})/(\d{1,10})(?:,[^\]\r\n]{1,60})?\]$)",
             .captures = 2,
             .example = "2024-02-01 10:11:12.100 node01:0 olmo.train:816 INFO [step=40/50000]",
             .emit = heading}),
};

}  // namespace

extern const Parser olmo;
const Parser olmo{
    .name = "olmo",
    .title = "OLMo",
    .source = "OLMo: olmo/train.py, olmo/torch_util.py; OLMo-core: olmo_core/train/callbacks/gpu_memory_monitor.py",
    .patterns = patterns,
    .gauges = gauges};

}  // namespace oomdoctor::parsers
