#include "fold/declared_memory.h"

namespace oomdoctor {

void DeclaredMemory::begin_block(const BlockMatches& found, i64 lines_before) {
  lines_.clear();
  for (const LineMatch& f : found.all) {
    if (f.by == nullptr || !f.by->parser->declared) continue;
    MemoryKinds& memory = lines_[f.first_line + lines_before];
    for (const GaugeValue& value : found.values_of(f)) {
      const GaugeNumber& number = f.by->form().numbers()[value.number];
      if (number.kind == GaugeNumber::NumberKind::memory)
        (is_host_metric(number.reading.metric) ? memory.host : memory.device) = true;
    }
  }
}

EventSink& DeclaredMemory::route(i64 line, EventSink& to) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return to;
  here_ = found->second;
  to_ = &to;
  return *this;
}

void DeclaredMemory::reading(const Reading& reading, std::optional<double> step, std::optional<double> time) {
  const bool declared =
      reading.metric != Metric::input_length && (is_host_metric(reading.metric) ? here_.host : here_.device);
  if (!declared) to_->reading(reading, step, time);
}

}  // namespace oomdoctor
