#include "parse/template_cache.h"

#include <algorithm>
#include <utility>

namespace oomdoctor {
namespace {

/// Each format needs several templates, because the numbers at its front have several lengths. At about half a
/// kilobyte each, a cache stays under 3 MiB.
constexpr std::size_t max_shapes = 2048;
/// A line with the same lengths as before is found directly, without computing its form. Half of the slots stay free,
/// so the first probe usually hits. The tables begin small and grow: to clear large ones takes longer than to read a
/// short log.
constexpr std::size_t first_slots = 1 << 8, max_slots = 1 << 14;
constexpr std::size_t first_met = 1 << 10, max_met = 1 << 16;
constexpr std::size_t growth = 8;    ///< of a table at a time
constexpr std::size_t sparsely = 8;  ///< a table that forgets what collides grows when an eighth of it is used
constexpr std::size_t fronts = 1 << 16;
constexpr std::size_t max_text = 2 << 20;  ///< bytes of stored lines per thread

}  // namespace

/// Linear probing; always ends, because half of the slots stay free.
TemplateCache::Slot& TemplateCache::slot(const Key& key) {
  const std::size_t last = slots_.size() - 1;
  for (std::size_t i = key.hash.first & last;; i = (i + 1) & last) {
    const Slot& slot = slots_[i];
    if (slot.shape == nullptr || (slot.key.hash == key.hash && is_same_but_digits(slot.key.text, key.text)))
      return slots_[i];
  }
}

void TemplateCache::fill(const Key& key, const LineTemplate* shape, bool by_form) {
  if (!has_slots()) return;
  if (2 * used_ >= slots_.size()) grow();
  Slot& free = slot(key);
  if (free.shape != nullptr) return;
  free = {{key.hash, texts_.emplace_back(key.text)}, shape, by_form};
  text_bytes_ += key.text.size();
  ++used_;
}

void TemplateCache::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::min(growth * slots_.size(), max_slots)));
  for (const Slot& s : old)
    if (s.shape != nullptr) slot(s.key) = s;
}

bool TemplateCache::has_slots() const { return used_ < max_slots / 2 && text_bytes_ < max_text; }

bool TemplateCache::has_room() const { return shapes_.size() < max_shapes && has_slots(); }

/// Remembers the hash. A collision replaces the older one, and a larger table begins empty. Both only delay templates.
bool TemplateCache::met_before(const LineHash& hash) {
  if (new_met_ >= met_.size() / sparsely && met_.size() < max_met) {
    met_.assign(std::min(growth * met_.size(), max_met), 0);
    new_met_ = 0;
  }
  std::uint64_t& met = met_[hash.first & (met_.size() - 1)];
  if (met == hash.second) return true;
  met = hash.second;
  ++new_met_;
  return false;
}

/// nullopt if no line of another length shares the form, or none has come yet.
std::optional<TemplateCache::Key> TemplateCache::form_of(std::string_view line) {
  if (line.size() <= line_front) return std::nullopt;
  const LineHash front = template_hash(line.substr(0, line_front));
  front_ = front.first % fronts;
  if (!fronts_[front_] && !(has_room() && met_before(front))) return std::nullopt;
  if (!runs_.find(line) || runs_.first_free() == line.size()) return std::nullopt;
  const std::string_view form = runs_.form();
  Key key{template_hash(form), form};
  key.hash.first = ~key.hash.first;  // keeps forms apart from lines with the same text
  return key;
}

/// Looks up the exact lengths first, then the form.
KnownTemplate TemplateCache::find(std::string_view line) {
  wanted_ = false;
  if (line.size() > NumberSpans::max_line_length) return {};
  if (slots_.empty()) slots_.resize(first_slots), met_.resize(first_met), fronts_.resize(fronts);
  line_ = {template_hash(line), line};
  const Slot& known = slot(line_);
  if (known.shape != nullptr && known.by_form) runs_.find(line);
  if (known.shape != nullptr) return {known.shape, known.by_form ? &runs_ : nullptr};
  form_ = form_of(line);
  if (form_) {
    if (const LineTemplate* shape = slot(*form_).shape) {
      fill(line_, shape, true);
      return {shape, &runs_};
    }
  }
  wanted_ = has_room() && met_before(form_ ? form_->hash : line_.hash);
  return {};
}

void TemplateCache::keep(LineTemplate shape, Lengths lengths) {
  if (!wanted_) return;
  wanted_ = false;
  const bool by_form = form_ && lengths == Lengths::alike;
  if (by_form) fronts_[front_] = true;
  fill(by_form ? *form_ : line_, &shapes_.emplace_back(std::move(shape)), by_form);
}

}  // namespace oomdoctor
