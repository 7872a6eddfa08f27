#include "parse/line_memo.h"

namespace oomdoctor {
namespace {

/// Some shapes for each way of printing a line, because the numbers at its front have several lengths. At about half a
/// kilobyte each, a thread's memo stays under 2 MiB.
constexpr std::size_t max_shapes = 2048, slots = 1 << 12, max_used = 3 * slots / 4, remembered = 1 << 16;

}  // namespace

LineMemo::Slot& LineMemo::slot(const LineHash& hash) {
  for (std::size_t i = hash.first % slots;; i = (i + 1) % slots)
    if ((slots_[i].shape == nullptr && !slots_[i].by_length) || slots_[i].hash == hash) return slots_[i];
}

/// No form has the same: a form's hash may be that of the line itself.
LineHash LineMemo::hash_by_length() const {
  const LineHash hash = digit_free_hash(line_);
  return {~hash.first, hash.second};
}

const LineShape* LineMemo::find(std::string_view line) {
  wanted_ = false;
  if (!runs_.find(line)) return nullptr;
  if (slots_.empty()) slots_.resize(slots), met_.resize(remembered);
  line_ = line;
  hash_ = runs_.form_hash();
  const Slot* known = &slot(hash_);
  if (known->by_length) known = &slot(hash_ = hash_by_length());
  if (known->shape == nullptr && shapes_.size() < max_shapes && used_ < max_used) {
    std::uint64_t& met = met_[hash_.first % remembered];
    wanted_ = met == hash_.second;
    met = hash_.second;
  }
  return known->shape;
}

void LineMemo::keep(LineShape shape, Lengths lengths) {
  if (!wanted_) return;
  wanted_ = false;
  const LineHash by_length = hash_by_length();
  if (lengths == Lengths::differ && hash_ != by_length) {
    slot(hash_) = {hash_, nullptr, true};
    ++used_;
    hash_ = by_length;
  }
  slot(hash_) = {hash_, &shapes_.emplace_back(std::move(shape)), false};
  ++used_;
}

}  // namespace oomdoctor
