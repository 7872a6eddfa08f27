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

/// An output as one number, which one process writes and another reads at once.
struct QueueEntry {
  std::uint64_t slot, stream, begin, size;

  static QueueEntry of(std::uint64_t packed) {
    return {packed >> 48, packed >> 40 & 0xFF, packed >> 20 & 0xFFFFF, packed & 0xFFFFF};
  }
  std::uint64_t packed() const { return slot << 48 | stream << 40 | begin << 20 | size; }
};

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

/// Only the relay begins to use a slot: one that nobody uses stays so until then.
bool OutputRing::find_slot() noexcept {
  const auto is_free = [this](Slot slot) { return control_->users[slot].load() == 0; };
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (!is_free(slot)) continue;
    current_ = slot;
    used_ = 0;
    highest_ = std::max(highest_, slot);
    if (slot == 0 && highest_ >= usual_slots) free_memory_of_flood();
    return true;
  }
  return false;
}

std::optional<OutputRing::Room> OutputRing::take() noexcept {
  if (used_ > 0 || slots_ == 0) {
    const bool full = slot_bytes - used_ < least_room;
    while ((full || control_->users[current_].load() == 0) && !find_slot()) {
      if (control_->begin.load() == control_->end.load()) return std::nullopt;
      drop_oldest();
    }
  }
  control_->users[current_].fetch_add(1);
  return Room{current_, {bytes_ + current_ * slot_bytes + used_, slot_bytes - used_}};
}

void OutputRing::drop_oldest() noexcept {
  if (const auto oldest = pop()) {
    miss(oldest->text.size());
    release(oldest->slot);
  }
}

void OutputRing::free_memory_of_flood() noexcept {
  for (std::size_t slot = usual_slots; slot <= highest_; ++slot)
    if (control_->users[slot].load() != 0) return;
  madvise(bytes_ + usual_slots * slot_bytes, (slots_ - usual_slots) * slot_bytes, MADV_REMOVE);
  highest_ = 0;
}

bool OutputRing::push(const Room& room, std::size_t stream, std::size_t size) noexcept {
  const std::uint64_t end = control_->end.load();
  while (end - control_->begin.load() >= most_outputs) drop_oldest();
  control_->users[room.slot].fetch_add(1);
  control_->queue[end % most_outputs].store(QueueEntry{room.slot, stream, used_, size}.packed());
  control_->end.store(end + 1);
  used_ += size;
  return control_->asleep.exchange(false);
}

void OutputRing::release(Slot slot) noexcept { control_->users[slot].fetch_sub(1); }

/// Both processes may take the oldest output; the one that moves the begin has it.
std::optional<OutputRing::QueuedOutput> OutputRing::pop() noexcept {
  for (std::uint64_t begin = control_->begin.load(); begin != control_->end.load();) {
    const QueueEntry entry = QueueEntry::of(control_->queue[begin % most_outputs].load());
    if (!control_->begin.compare_exchange_weak(begin, begin + 1)) continue;
    return QueuedOutput{
        static_cast<Slot>(entry.slot), entry.stream, {bytes_ + entry.slot * slot_bytes + entry.begin, entry.size}};
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
