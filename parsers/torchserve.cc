// TorchServe: system metrics of the host and its GPUs, once a minute.
//
// Host numbers come from psutil and are divided by 2^20; GPU numbers come from nvidia-smi. "Megabytes" is 2^20 bytes in
// both. Each line contains its own timestamp.
#include "read/context.h"
#include "read/line_format.h"
#include "read/parser.h"

namespace oomdoctor::parsers::torchserve {

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

}  // namespace oomdoctor::parsers::torchserve
