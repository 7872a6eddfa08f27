#include <algorithm>

#include "evidence/snapshot.h"

namespace oomdoctor {
namespace {

constexpr u64 multiplier = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio: spreads neighbouring numbers

u64 mixed(u64 hash, u64 more) {
  hash = (hash ^ more) * multiplier;
  return hash ^ hash >> 29;
}

}  // namespace

template <class IsSame>
u32 StackTable::IdIndex::find_or_add(u64 hash, u32 next, const IsSame& is_same) {
  if (used_ * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = static_cast<std::size_t>(hash) & mask;; at = (at + 1) & mask) {
    IndexSlot& slot = slots_[at];
    if (slot.id == IndexSlot{}.id) {
      slot = {hash, next};
      ++used_;
      return next;
    }
    if (slot.hash == hash && is_same(slot.id)) return slot.id;
  }
}

void StackTable::IdIndex::grow() {
  std::vector<IndexSlot> old(std::max<std::size_t>(64, slots_.size() * 2));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const IndexSlot& slot : old) {
    if (slot.id == IndexSlot{}.id) continue;
    std::size_t at = static_cast<std::size_t>(slot.hash) & mask;
    while (slots_[at].id != IndexSlot{}.id) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

StackTable::StackTable() { add_stack({}); }

TextId StackTable::add_text(std::string_view text) {
  const u64 hash = mixed(std::hash<std::string_view>{}(text), text.size());
  const auto next = static_cast<TextId>(texts_.size());
  const TextId id = text_index_.find_or_add(hash, next, [&](TextId known) { return texts_[known] == text; });
  if (id == next) texts_.emplace_back(text);
  return id;
}

u32 StackTable::add_frame(const StackFrame& frame) {
  const u64 hash = mixed(mixed(frame.file, frame.function), static_cast<u64>(frame.line));
  const auto next = static_cast<u32>(frames_.size());
  const u32 id = frame_index_.find_or_add(hash, next, [&](u32 known) { return frames_[known] == frame; });
  if (id == next) frames_.push_back(frame);
  return id;
}

StackId StackTable::add_stack(std::span<const u32> frames) {
  u64 hash = frames.size();
  for (const u32 frame : frames) hash = mixed(hash, frame);
  const auto next = static_cast<StackId>(ends_.size());
  const StackId id =
      stack_index_.find_or_add(hash, next, [&](StackId known) { return std::ranges::equal(stack(known), frames); });
  if (id == next) {
    members_.insert(members_.end(), frames.begin(), frames.end());
    ends_.push_back(members_.size());
  }
  return id;
}

std::span<const u32> StackTable::stack(StackId id) const {
  if (id == no_stack) return {};
  const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
  return std::span(members_).subspan(begin, ends_[id] - begin);
}

}  // namespace oomdoctor
