#include "read/recorded_rows.h"

namespace oomdoctor {

bool RecordedRows::read(std::string_view line, RowsRead wanted) {
  const std::size_t begin = said_.size();
  const bool taken = row_(line, layout_, *this) && (wanted == RowsRead::all || said_.size() > begin);
  if (taken)
    ends_.push_back(said_.size());
  else
    said_.erase(said_.begin() + static_cast<std::ptrdiff_t>(begin), said_.end());
  return taken;
}

void RecordedRows::emit(std::size_t i, std::any&, EventSink& sink) {
  for (std::size_t k = i == 0 ? 0 : ends_[i - 1]; k < ends_[i]; ++k) {
    if (const auto* where = std::get_if<Origin>(&said_[k])) sink.at(*where);
    if (const auto* value = std::get_if<RecordedReading>(&said_[k]))
      sink.reading(value->reading, value->step, value->time);
    if (const auto* step = std::get_if<Step>(&said_[k])) sink.step(*step);
    if (const auto* lost = std::get_if<LostEvidence>(&said_[k])) sink.lost(*lost);
    if (const auto* setting = std::get_if<Setting>(&said_[k])) sink.setting(setting->name, setting->value);
  }
}

}  // namespace oomdoctor
