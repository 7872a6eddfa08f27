// OLMo and OLMo-core: the heading of a block of values, "[step=1/739328]".
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

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
    .patterns = patterns};

}  // namespace oomdoctor::parsers
