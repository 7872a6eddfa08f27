#include "run/output_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace oomdoctor {
namespace {

void* map_shared(std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

std::uint64_t packed(OutputRing::Slot slot, std::size_t stream, std::size_t size) {
  return std::uint64_t{slot} << 48 | std::uint64_t{stream & 0xFFFF} << 32 | size;
}

}  // namespace

/// The system gives zeroes: the queue is empty, and nobody uses a slot.
OutputRing::OutputRing() : control_(static_cast<Control*>(map_shared(sizeof(Control)))) {
  for (Slot slots = most_slots; slots > 0 && bytes_ == nullptr; slots = static_cast<Slot>(slots / 4)) try {
      bytes_ = static_cast<char*>(map_shared(slots * slot_bytes));
      slots_ = slots;
    } catch (const std::bad_alloc&) {
    }
}

OutputRing::~OutputRing() {
  if (bytes_ != nullptr) munmap(bytes_, slots_ * slot_bytes);
  munmap(control_, sizeof(Control));
}

std::optional<OutputRing::Slot> OutputRing::take() noexcept {
  for (;;) {
    for (Slot slot = 0; slot < slots_; ++slot) {
      std::uint8_t nobody = 0;
      if (!control_->users[slot].compare_exchange_strong(nobody, 1)) continue;
      highest_ = std::max(highest_, slot);
      if (slot == 0 && highest_ >= usual_slots) free_memory_of_flood();
      return slot;
    }
    const auto oldest = pop();
    if (!oldest) return std::nullopt;
    miss(oldest->text.size());
    release(oldest->slot);
  }
}

/// Only the relay takes slots, so those that nobody uses stay unused.
void OutputRing::free_memory_of_flood() noexcept {
  for (std::size_t slot = usual_slots; slot <= highest_; ++slot)
    if (control_->users[slot].load() != 0) return;
  madvise(bytes_ + usual_slots * slot_bytes, (slots_ - usual_slots) * slot_bytes, MADV_REMOVE);
  highest_ = 0;
}

bool OutputRing::push(Slot slot, std::size_t stream, std::size_t size) noexcept {
  control_->users[slot].fetch_add(1);
  const std::uint64_t end = control_->end.load();
  control_->queue[end % most_slots].store(packed(slot, stream, size));
  control_->end.store(end + 1);
  return control_->asleep.exchange(false);
}

void OutputRing::release(Slot slot) noexcept { control_->users[slot].fetch_sub(1); }

/// Both processes may take the oldest output; the one that moves the begin has it.
std::optional<OutputRing::Output> OutputRing::pop() noexcept {
  for (std::uint64_t begin = control_->begin.load(); begin != control_->end.load();) {
    const std::uint64_t entry = control_->queue[begin % most_slots].load();
    if (!control_->begin.compare_exchange_weak(begin, begin + 1)) continue;
    const auto slot = static_cast<Slot>(entry >> 48);
    return Output{slot, entry >> 32 & 0xFFFF, {bytes_ + slot * slot_bytes, entry & 0xFFFFFFFF}};
  }
  return std::nullopt;
}

bool OutputRing::fall_asleep() noexcept {
  control_->asleep.store(true);
  if (control_->begin.load() == control_->end.load()) return true;
  control_->asleep.store(false);
  return false;
}

}  // namespace oomdoctor
