#include "parse/line_memo.h"

namespace oomdoctor {
namespace {

/// Many shapes for each way of printing a line, because each of its numbers has several lengths. At about half a
/// kilobyte each, a thread's memo stays under 2 MiB.
constexpr std::size_t max_shapes = 2048, slots = 1 << 12, remembered = 1 << 16;
/// A longer line is dear to keep and likely to be the only one of its shape.
constexpr std::size_t longest_line = 1024;

}  // namespace

LineMemo::Slot& LineMemo::slot(const LineHash& hash) {
  for (std::size_t i = hash.first % slots;; i = (i + 1) % slots)
    if (slots_[i].shape == nullptr || slots_[i].hash == hash) return slots_[i];
}

const LineShape* LineMemo::find(std::string_view line) {
  wanted_ = false;
  if (line.size() > longest_line) return nullptr;
  if (slots_.empty()) slots_.resize(slots), met_.resize(remembered);
  hash_ = digit_free_hash(line);
  const LineShape* known = slot(hash_).shape;
  if (known == nullptr && shapes_.size() < max_shapes) {
    std::uint64_t& met = met_[hash_.first % remembered];
    wanted_ = met == hash_.second;
    met = hash_.second;
  }
  return known;
}

void LineMemo::keep(LineShape shape) {
  if (wanted_) slot(hash_) = {hash_, &shapes_.emplace_back(std::move(shape))};
}

}  // namespace oomdoctor
