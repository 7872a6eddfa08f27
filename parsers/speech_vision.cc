// RETURNN. It resets its maximum each epoch, counts the steps inside an epoch, and does not print the number of steps
// per epoch.
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::speech_vision {

void returnn(const Match& m, EventSink& sink) {
  const auto peak = read_size(m[4]);
  if (!peak) return;
  Origin where;
  if (m.has(3)) where.device = static_cast<int>(leading_integer(m[3]));
  sink.at(where);
  sink.step({leading_integer(m[2]), {}, static_cast<double>(leading_integer(m[1]))});
  Reading r;
  r.metric = Metric::max_allocated;
  r.kind = SeriesKind::running_maximum;
  r.value = static_cast<double>(peak->count);
  r.quantum = 2 * static_cast<double>(peak->slack);
  r.unit = std::string(m[4].substr(m[4].size() - 2));
  r.label = "mem_usage";
  sink.reading(r);
}

/// ESPnet prints one line for some hundred steps of the epoch, at the last of them.
void espnet_batches(const Match& m, EventSink& sink) {
  sink.step({leading_integer(m[3]), {}, static_cast<double>(leading_integer(m[1]))});
}

}  // namespace oomdoctor::parsers::speech_vision
