// Output on its way from the relay to the recorder, in memory that both have. It is read into a slot, written to its
// reader from there, and kept from there: nothing is copied between the two processes. The relay never waits for the
// recorder: if there is no slot left, the oldest output goes, because the end of the output says most about a failure.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace oomdoctor {

class OutputRing {
 public:
  static constexpr std::size_t slot_bytes = 1 << 16;
  /// What the relay reads into a slot is at least as large, if there is as much.
  static constexpr std::size_t least_room = 1 << 14;
  using Slot = std::uint16_t;

  /// For this process and those that it starts. With little address space it has fewer slots, or none; std::bad_alloc
  /// if there is not even a page. Slots that were never used take no memory.
  OutputRing();
  ~OutputRing();
  OutputRing(const OutputRing&) = delete;

  // For the relay.

  /// A part of a slot that the caller uses, until it releases the slot.
  struct Room {
    Slot slot;
    std::span<char> bytes;
  };
  /// Room for the next output; nullopt if there is no slot at all. The first slots are used over and over.
  std::optional<Room> take() noexcept;
  /// Offers the first `size` bytes of the room that was taken last to the recorder. True if the recorder sleeps.
  bool push(const Room& room, std::size_t stream, std::size_t size) noexcept;
  /// The caller needs the room no more.
  void release(Slot slot) noexcept;
  /// These bytes of output have never been in a slot.
  void miss(std::size_t bytes) noexcept { control_->missing.fetch_add(static_cast<std::int64_t>(bytes)); }

  // For the recorder.

  struct QueuedOutput {
    Slot slot;  ///< to be released
    std::size_t stream;
    std::string_view text;
  };
  /// The oldest output.
  std::optional<QueuedOutput> pop() noexcept;
  /// Bytes that went before pop() since the last call of take_missing().
  std::int64_t missing() const noexcept { return control_->missing.load(); }
  std::int64_t take_missing() noexcept { return control_->missing.exchange(0); }
  /// From now on push() says that the recorder sleeps, once. False if there is output already.
  bool fall_asleep() noexcept;

 private:
  /// Slots may be three quarters full: they hold 16 MiB, the end of a flood that is always kept.
  static constexpr Slot most_slots = 352;
  static constexpr Slot usual_slots = 16;  ///< what output that is not a flood needs
  static constexpr std::size_t most_outputs = 1 << 16;

  struct Control {
    std::atomic<std::uint64_t> begin, end;                       ///< of the queue, in `queue` modulo its size
    std::array<std::atomic<std::uint64_t>, most_outputs> queue;  ///< of Entry
    std::array<std::atomic<std::uint32_t>, most_slots> users;    ///< of each slot
    std::atomic<std::int64_t> missing;                           ///< bytes
    std::atomic<bool> asleep;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "two processes use them");

  bool find_slot() noexcept;
  void drop_oldest() noexcept;
  void free_memory_of_flood() noexcept;

  Control* control_ = nullptr;
  char* bytes_ = nullptr;
  Slot slots_ = 0;
  // Of the relay.
  Slot current_ = 0;               ///< the slot that is being filled
  std::size_t used_ = slot_bytes;  ///< bytes of it
  Slot highest_ = 0;               ///< slot since the last flood
};

}  // namespace oomdoctor
