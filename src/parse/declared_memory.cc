#include "parse/declared_memory.h"

namespace oomdoctor {
namespace {

bool of_host(Metric m) { return m == Metric::host_rss || m == Metric::host_used || m == Metric::host_available; }

}  // namespace

void DeclaredMemory::begin_block(const std::vector<Found>& found) {
  lines_.clear();
  for (const Found& f : found) {
    if (f.reader == nullptr || !f.reader->parser->declared) continue;
    Memory& memory = lines_[f.first_line];
    for (const auto& values : f.gauges)
      for (const GaugeValue& value : values)
        if (const auto metric = metric_of(value.name)) (of_host(*metric) ? memory.host : memory.device) = true;
  }
}

Sink& DeclaredMemory::beside(i64 line, Sink& to) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return to;
  here_ = found->second;
  to_ = &to;
  return *this;
}

void DeclaredMemory::reading(const Reading& reading, std::optional<double> step, std::optional<double> time) {
  const bool declared = reading.metric != Metric::input_length && (of_host(reading.metric) ? here_.host : here_.device);
  if (!declared) to_->reading(reading, step, time);
}

}  // namespace oomdoctor
