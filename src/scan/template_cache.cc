#include "scan/template_cache.h"

#include <algorithm>
#include <cstring>
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

/// After so many look-ups in vain, a front is looked up once in `pause` − `vain` lines.
constexpr std::uint8_t vain = 16, pause = 128;

}  // namespace

/// Two words of the front tell most kinds of lines apart. Only the upper halves of their bytes count, so all digits are
/// alike.
bool LookUpChances::are_good(std::string_view line) {
  if (line.size() < front_bytes) return false;
  constexpr std::uint64_t upper_halves = 0xF0F0F0F0F0F0F0F0u, odd = 0x9E3779B97F4A7C15u, other = 0xC2B2AE3D27D4EB4Fu;
  std::uint64_t first = 0, last = 0;
  std::memcpy(&first, line.data(), sizeof first);
  std::memcpy(&last, line.data() + front_bytes - sizeof last, sizeof last);
  here_ = static_cast<std::size_t>(((first & upper_halves) * odd ^ (last & upper_halves) * other) >> 54);
  std::uint8_t& in_vain = in_vain_[here_];
  if (in_vain < vain) return true;
  in_vain = in_vain + 1 < pause ? static_cast<std::uint8_t>(in_vain + 1) : vain;
  return in_vain == vain;
}

void LookUpChances::count(bool found) {
  std::uint8_t& in_vain = in_vain_[here_];
  in_vain = found ? 0 : static_cast<std::uint8_t>(std::min<int>(in_vain + 1, vain));
}

/// Linear probing; always ends, because half of the slots stay free.
TemplateCache::CacheSlot& TemplateCache::slot(const Key& key) {
  const std::size_t last = slots_.size() - 1;
  for (std::size_t i = static_cast<std::size_t>(key.hash.first) & last;; i = (i + 1) & last) {
    const CacheSlot& slot = slots_[i];
    if (slot.shape == nullptr || (slot.key.hash == key.hash && is_same_but_digits(slot.key.text, key.text)))
      return slots_[i];
  }
}

void TemplateCache::fill(const Key& key, const LineTemplate* shape, bool by_form) {
  if (!has_slots()) return;
  if (2 * used_ >= slots_.size()) grow();
  CacheSlot& free = slot(key);
  if (free.shape != nullptr) return;
  free = {{key.hash, texts_.emplace_back(key.text)}, shape, by_form, raw_, raw_ && shape->anchors_fixed};
  text_bytes_ += key.text.size();
  ++used_;
}

void TemplateCache::grow() {
  std::vector<CacheSlot> old =
      std::exchange(slots_, std::vector<CacheSlot>(std::min(growth * slots_.size(), max_slots)));
  for (const CacheSlot& s : old)
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
  std::uint64_t& met = met_[static_cast<std::size_t>(hash.first) & (met_.size() - 1)];
  if (met == hash.second) return true;
  met = hash.second;
  ++new_met_;
  return false;
}

/// nullopt if no line of another length shares the form, or none has come yet.
std::optional<TemplateCache::Key> TemplateCache::find_form(std::string_view line) {
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

KnownTemplate TemplateCache::known_by(const CacheSlot& slot, std::string_view line) {
  if (slot.by_form) runs_.find(line);
  return {slot.shape, slot.by_form ? &runs_ : nullptr, slot.raw};
}

/// Looks up the exact lengths only. Near tests see the lengths of numbers, so a form does not make it sure.
KnownTemplate TemplateCache::find_unsearched(std::string_view line) {
  if (used_ == 0 || line.size() > NumberSpans::max_line_length || !chances_.are_good(line)) return {};
  const CacheSlot& known = slot({template_hash(line), line});
  const bool sure = known.shape != nullptr && known.sure;
  chances_.count(sure);
  return sure ? known_by(known, line) : KnownTemplate{};
}

/// Looks up the exact lengths first, then the form. What is known with other formats is not replaced.
KnownTemplate TemplateCache::find(const SearchedLine& line) {
  const std::string_view text = line.text;
  wanted_ = false;
  if (text.size() > NumberSpans::max_line_length) return {};
  if (slots_.empty()) slots_.resize(first_slots), met_.resize(first_met), fronts_.resize(fronts);
  const auto has_same_formats = [&](const LineTemplate& shape) {
    return std::equal(shape.tried.begin(), shape.tried.end(), line.wanted.begin(), line.wanted.end());
  };
  line_ = {template_hash(text), text};
  raw_ = line.raw;
  if (const CacheSlot& known = slot(line_); known.shape != nullptr)
    return has_same_formats(*known.shape) ? known_by(known, text) : KnownTemplate{};
  form_ = find_form(text);
  if (form_) {
    if (const LineTemplate* shape = slot(*form_).shape) {
      if (!has_same_formats(*shape)) return {};
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
