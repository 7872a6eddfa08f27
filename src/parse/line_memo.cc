#include "parse/line_memo.h"

namespace oomdoctor {
namespace {

/// Some shapes for each way of printing a line, because the numbers at its front have several lengths. At about half a
/// kilobyte each, a thread's memo stays under 3 MiB.
constexpr std::size_t max_shapes = 2048, remembered = 1 << 16;
/// A form is found sooner where a line of just these lengths was met before. Half of the slots stay free, so that the
/// first one asked is mostly it.
constexpr std::size_t slots = 1 << 14, max_used = slots / 2;

}  // namespace

LineMemo::Slot& LineMemo::slot(const LineHash& hash) {
  for (std::size_t i = hash.first % slots;; i = (i + 1) % slots)
    if (slots_[i].shape == nullptr || slots_[i].hash == hash) return slots_[i];
}

void LineMemo::fill(const LineHash& hash, const LineShape* shape, bool by_form) {
  if (used_ == max_used) return;
  slot(hash) = {hash, shape, by_form};
  ++used_;
}

bool LineMemo::has_room() const { return shapes_.size() < max_shapes && used_ < max_used; }

bool LineMemo::met_before(const LineHash& hash) {
  std::uint64_t& met = met_[hash.first % remembered];
  return met == hash.second || (met = hash.second, false);
}

/// Nothing where no line of another length has the same, or none was met.
std::optional<LineHash> LineMemo::form_of(std::string_view line) {
  if (line.size() <= line_front) return std::nullopt;
  const LineHash front = digit_free_hash(line.substr(0, line_front));
  front_ = front.first % remembered;
  if (!fronts_[front_] && !(has_room() && met_before(front))) return std::nullopt;
  if (!runs_.find(line) || runs_.first_free() == line.size()) return std::nullopt;
  LineHash form = runs_.form_hash();
  form.first = ~form.first;  // no line has it, whose own hash its form's may be
  return form;
}

KnownShape LineMemo::find(std::string_view line) {
  wanted_ = false;
  if (line.size() > DigitRuns::longest_line) return {};
  if (slots_.empty()) slots_.resize(slots), met_.resize(remembered), fronts_.resize(remembered);
  hash_ = digit_free_hash(line);
  const Slot& known = slot(hash_);
  if (known.shape != nullptr && known.by_form) runs_.find(line);
  if (known.shape != nullptr) return {known.shape, known.by_form ? &runs_ : nullptr};
  form_ = form_of(line);
  if (form_) {
    if (const LineShape* shape = slot(*form_).shape) {
      fill(hash_, shape, true);
      return {shape, &runs_};
    }
  }
  wanted_ = has_room() && met_before(form_ ? *form_ : hash_);
  return {};
}

void LineMemo::keep(LineShape shape, Lengths lengths) {
  if (!wanted_) return;
  wanted_ = false;
  const bool by_form = form_ && lengths == Lengths::alike;
  if (by_form) fronts_[front_] = true;
  fill(by_form ? *form_ : hash_, &shapes_.emplace_back(std::move(shape)), by_form);
}

}  // namespace oomdoctor
