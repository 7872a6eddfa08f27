// TorchServe: system metrics of the host and its GPUs, once a minute.
//
// Host numbers come from psutil and are divided by 2^20; GPU numbers come from nvidia-smi. "Megabytes" is 2^20 bytes in
// both. Each line contains its own timestamp.
#include "parse/context.h"
#include "parse/line_format.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

void metric(const Match& m, EventSink& sink) {
  std::size_t at = 0;
  const auto value = read_number(m[2], at);
  if (!value) return;
  Reading r;
  r.metric = m[1] == "MemoryUsed"        ? Metric::host_used
             : m[1] == "MemoryAvailable" ? Metric::host_available
                                         : Metric::used;
  r.kind = SeriesKind::sampled_gauge;
  r.value = value->value * static_cast<double>(MiB);
  r.quantum = r.metric == Metric::used ? static_cast<double>(MiB) : 4096;  // psutil counts pages of 4 KiB
  r.unit = "Megabytes";
  if (m.has(3)) {
    Origin where;
    where.device = static_cast<int>(leading_integer(m[3]));
    sink.at(where);
  }
  std::optional<double> time;
  if (m.has(4)) time = static_cast<double>(leading_integer(m[4]));
  sink.reading(r, {}, time);
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "torchserve/metric",
         .anchor = "TS_METRICS",
         .regex =
             R"(TS_METRICS - ((?:GPU)?MemoryUsed|MemoryAvailable)\.Megabytes:(\d{1,9}(?:\.\d{1,18})?)\|#Level:Host(?:,(?:DeviceId|device_id):(\d{1,4}))?(?:\|#hostname:[^\r\n|]{1,253}?,timestamp:(\d{9,11}))?)",
         .captures = 4,
         .example = "2023-02-11T10:11:12,100 [INFO ] pool-3-thread-1 TS_METRICS - "
                    "GPUMemoryUsed.Megabytes:4071.0|#Level:Host,DeviceId:0|#hostname:host1,timestamp:1676110272",
         .emit = metric}),
};

}  // namespace

extern const Parser torchserve;
const Parser torchserve{.name = "torchserve",
                        .title = "TorchServe's system metrics",
                        .source = "TorchServe: ts/metrics/system_metrics.py",
                        .patterns = patterns};

}  // namespace oomdoctor::parsers
